package kube

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestCacheKeyNamesWhatIsBuilt(t *testing.T) {
	t.Parallel()
	root := fakeModules(t, "k8s.io/kubernetes v1.36.3 // indirect")
	v, key, err := controlPlane("v1.36").cacheKey(root)
	if err != nil {
		t.Fatal(err)
	}
	if want := (versions{kubernetes: "v1.36.3", major: "1", minor: "36"}); v != want {
		t.Errorf("versions are %+v, want %+v", v, want)
	}
	if !strings.HasPrefix(key, "v1.36.3-") {
		t.Errorf("key %q does not begin with the version", key)
	}
	if err := os.WriteFile(filepath.Join(root, "kwok", "go.sum"), []byte("another"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, other, err := controlPlane("v1.36").cacheKey(root); err != nil || other == key {
		t.Errorf("with another go.sum of kwok the key is %q too (%v)", other, err)
	}
}

func TestCacheKeyNeedsKubernetes(t *testing.T) {
	t.Parallel()
	if _, key, err := controlPlane("v1.36").cacheKey(fakeModules(t, "k8s.io/kubernetes-like v1.36.3")); err == nil {
		t.Errorf("modules without k8s.io/kubernetes have the key %q", key)
	}
}

// TestNodeIsOfTheSameVersion: a kubelet may be older than its API server, and ours is of another module.
func TestNodeIsOfTheSameVersion(t *testing.T) {
	t.Parallel()
	root, err := partsRoot()
	if err != nil {
		t.Fatal(err)
	}
	newest, err := kubernetesModule(root, "")
	if err != nil {
		t.Fatal(err)
	}
	want, _, err := controlPlane(newest).cacheKey(root)
	if err != nil {
		t.Fatal(err)
	}
	if got, _, err := node.cacheKey(root); err != nil || got != want {
		t.Errorf("the node is of %+v, the control plane of %+v: %v", got, want, err)
	}
}

// TestEveryVersion: each folder pins the minor version that it is named by, and has a key of its own.
func TestEveryVersion(t *testing.T) {
	t.Parallel()
	root, err := partsRoot()
	if err != nil {
		t.Fatal(err)
	}
	modules, err := filepath.Glob(filepath.Join(root, "v*"))
	if err != nil || len(modules) < 2 {
		t.Fatalf("modules %v, %v", modules, err)
	}
	keys := map[string]bool{}
	for _, dir := range modules {
		module := filepath.Base(dir)
		v, key, err := controlPlane(module).cacheKey(root)
		if err != nil || "v"+v.major+"."+v.minor != module || keys[key] {
			t.Errorf("%s pins %+v, with the key %s: %v", module, v, key, err)
		}
		keys[key] = true
	}
}

func TestKubernetesModule(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, dir := range []string{"v1.9", "v1.33", "v1.36", "kwok", "node", "v1.37-next"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	tests := map[string]struct{ asked, want, refused string }{
		"the newest by default":   {want: "v1.36"},
		"one that is asked for":   {asked: "1.33", want: "v1.33"},
		"with a v":                {asked: "v1.33", want: "v1.33"},
		"one that there is not":   {asked: "1.30", refused: "KUBE_VERSION=1.30 is not one of v1.9, v1.33, v1.36"},
		"a patch version":         {asked: "1.33.13", refused: "is not one of"},
		"another module":          {asked: "../kwok", refused: "is not one of"},
		"one that is not a minor": {asked: "1.37-next", refused: "is not one of"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := kubernetesModule(root, tc.asked)
			if got != tc.want || (err == nil) != (tc.refused == "") || err != nil && !strings.Contains(err.Error(), tc.refused) {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// TestNodeOfTheNewest: parts of a node are of one version, and not offered for another.
func TestNodeOfTheNewest(t *testing.T) {
	t.Setenv("KUBE_VERSION", "1.33")
	if _, err := NodeParts(t.Context(), io.Discard); err == nil || !strings.Contains(err.Error(), "cannot be built for KUBE_VERSION=v1.33") {
		t.Errorf("it gives %v", err)
	}
}

// fakeModules makes modules of which the first requires what is given.
func fakeModules(t *testing.T, required string) string {
	t.Helper()
	root := t.TempDir()
	for _, module := range controlPlane("v1.36").modules {
		content := "module example.org/" + module + "\n"
		if module == "v1.36" {
			content += "require (\n\t" + required + "\n)\n"
		}
		if err := os.Mkdir(filepath.Join(root, module), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{"go.mod", "go.sum"} {
			if err := os.WriteFile(filepath.Join(root, module, file), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return root
}

func TestAssetsComeFirst(t *testing.T) {
	assets, built := t.TempDir(), t.TempDir()
	for path, mode := range map[string]os.FileMode{
		filepath.Join(assets, "etcd"):           0o755,
		filepath.Join(built, "etcd"):            0o755,
		filepath.Join(built, "kube-apiserver"):  0o755,
		filepath.Join(built, ".lock"):           0o600,
		filepath.Join(assets, "kube-scheduler"): os.ModeDir | 0o755,
	} {
		create := func() error { return os.WriteFile(path, nil, mode) }
		if mode.IsDir() {
			create = func() error { return os.Mkdir(path, mode.Perm()) }
		}
		if err := create(); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("KUBEBUILDER_ASSETS", assets)
	b := Binaries{Dir: built, paths: map[Part]string{}}
	missing := b.find(controlPlane("v1.36").sources)
	if got, want := b.Path(Etcd), filepath.Join(assets, "etcd"); got != want {
		t.Errorf("etcd is %s, want %s", got, want)
	}
	if got, want := b.Path(APIServer), filepath.Join(built, "kube-apiserver"); got != want {
		t.Errorf("kube-apiserver is %s, want %s", got, want)
	}
	if got, want := names(missing), "kube-controller-manager, kube-scheduler, kubectl, kwok"; got != want {
		t.Errorf("missing are %s, want %s", got, want)
	}
}

func TestNothingIsSaidWhenAllIsBuilt(t *testing.T) {
	t.Parallel()
	var said strings.Builder
	b, err := Parts(t.Context(), &said)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range controlPlane("v1.36").sources {
		if _, err := os.Stat(b.Path(s.part)); err != nil {
			t.Errorf("%s: %v", s.part, err)
		}
	}
	if said.Len() > 0 {
		t.Errorf("it said %q", &said)
	}
}

func TestFailedBuildLeavesNothing(t *testing.T) {
	t.Parallel()
	root, err := partsRoot()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".build-cut-short"), 0o755); err != nil {
		t.Fatal(err)
	}
	b := build{root: root, dir: dir, progress: io.Discard}
	err = b.all(t.Context(), []source{{Kwok, "kwok", "sigs.k8s.io/kwok/cmd/kwok", func(versions) string { return "-X nonsense" }}})
	if err == nil || !strings.Contains(err.Error(), "-X flag") {
		t.Errorf("a build that cannot work gives %v", err)
	}
	left, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(left) > 0 {
		t.Errorf("it left %v", left)
	}
}

func TestLockIsForOne(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "lock")
	unlock, err := lock(t.Context(), file, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	impatient, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := lock(impatient, file, &said); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the second one gets %v, want a deadline", err)
	}
	if !strings.Contains(said.String(), "waiting") {
		t.Errorf("it said %q while it waited", &said)
	}
	unlock()
	unlock, err = lock(t.Context(), file, io.Discard)
	if err != nil {
		t.Fatalf("after the first gave it back: %v", err)
	}
	unlock()
}

func TestSumSamples(t *testing.T) {
	t.Parallel()
	const text = `# HELP errors_total counts errors
# TYPE errors_total counter
errors_total{plugin="webhook",code="1"} 2
errors_total{plugin="webhook",code="2"} 3e+00
errors_total{plugin="buffered",code="1"} 10
errors_total_of_others 100
plain 7
plain`
	tests := map[string]struct {
		reason string
		name   string
		labels []string
		want   float64
	}{
		"All":     {"samples of all labels are added up, other metrics are not", "errors_total", nil, 15},
		"One":     {"a label selects", "errors_total", []string{`plugin="webhook"`}, 5},
		"Both":    {"all labels must be there", "errors_total", []string{`plugin="webhook"`, `code="2"`}, 3},
		"None":    {"a metric that is not there counts nothing", "absent_total", nil, 0},
		"NoLabel": {"a metric needs no labels", "plain", nil, 7},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := SumSamples(text, tc.name, tc.labels)
			if err != nil || got != tc.want {
				t.Errorf("%s: got %v (%v), want %v", tc.reason, got, err, tc.want)
			}
		})
	}
}
