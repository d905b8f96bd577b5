package kube

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"sort"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
)

// Part names a program that a cluster is made of.
type Part string

// The parts.
const (
	Etcd              Part = "etcd"
	APIServer         Part = "kube-apiserver"
	ControllerManager Part = "kube-controller-manager"
	Scheduler         Part = "kube-scheduler"
	Kubectl           Part = "kubectl"
	Kwok              Part = "kwok"
)

// The parts of a node.
const (
	Kubelet Part = "kubelet"
	Proxy   Part = "kube-proxy"
	DNS     Part = "coredns"
)

// source says where a part comes from: a package, seen from one of the modules below tests/kube/parts.
type source struct {
	part    Part
	module  string
	pkg     string
	ldflags func(versions) string
}

// kit is what is built and kept together: modules below tests/kube/parts, and the parts in the order in which they are built.
type kit struct {
	modules []string
	sources []source
}

// controlPlane is the kit of the module that pins a version of Kubernetes.
func controlPlane(module string) kit {
	return kit{[]string{module, "kwok"}, []source{
		{Etcd, module, "go.etcd.io/etcd/server/v3", plain},
		{APIServer, module, "k8s.io/kubernetes/cmd/kube-apiserver", stamped},
		{ControllerManager, module, "k8s.io/kubernetes/cmd/kube-controller-manager", stamped},
		{Scheduler, module, "k8s.io/kubernetes/cmd/kube-scheduler", stamped},
		{Kubectl, module, "k8s.io/kubernetes/cmd/kubectl", stamped},
		{Kwok, "kwok", "sigs.k8s.io/kwok/cmd/kwok", plain},
	}}
}

var node = kit{[]string{"node"}, []source{
	{Kubelet, "node", "k8s.io/kubernetes/cmd/kubelet", stamped},
	{Proxy, "node", "k8s.io/kubernetes/cmd/kube-proxy", stamped},
	{DNS, "node", "./dns", plain},
}}

// versions are what the module files require, for example v1.36.3.
type versions struct {
	kubernetes, major, minor string
}

func plain(versions) string { return "-s -w" }

// stamped tells a program of Kubernetes its version, which one that is built from a module does not know: it would show as v0.0.0 in
// answers, and in the user agents that audit events carry.
func stamped(v versions) string {
	flags := "-s -w"
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		flags += fmt.Sprintf(" -X %[1]s.gitVersion=%[2]s -X %[1]s.gitMajor=%[3]s -X %[1]s.gitMinor=%[4]s -X %[1]s.gitCommit=unknown",
			pkg, v.kubernetes, v.major, v.minor)
	}
	return flags
}

// Binaries are the programs of a cluster, ready to run.
type Binaries struct {
	// Dir holds the parts that were built here: all of them unless KUBEBUILDER_ASSETS names others.
	Dir   string
	paths map[Part]string
}

// Path returns where part is.
func (b Binaries) Path(part Part) string { return b.paths[part] }

// Parts returns the programs that clusters are made of, of the version of Kubernetes in KUBE_VERSION, for example 1.33, or of the newest
// one that a module below tests/kube/parts pins. Those that the directory in KUBEBUILDER_ASSETS holds are taken from there.
// The others are built from the modules below tests/kube/parts, which are looked for upwards from the working directory, into a
// folder of the user's cache (below REROLL_CACHE if that is set) that is named by their versions; what is there already is not
// built again. Progress is reported to progress, and nothing if nothing is to do.
//
// The first build takes about 12 minutes of CPU time. Others who ask in the meantime wait for it, also in other processes. A
// program appears in the cache only when it is complete.
func Parts(ctx context.Context, progress io.Writer) (Binaries, error) {
	b, err := getParts(ctx, progress, controlPlane)
	if err != nil {
		return Binaries{}, fmt.Errorf("get the parts of a control plane: %w", err)
	}
	return b, nil
}

// NodeParts is like Parts for the programs of a real node, which there are for the newest Kubernetes alone. A cluster of this package
// starts none of them.
func NodeParts(ctx context.Context, progress io.Writer) (Binaries, error) {
	b, err := getParts(ctx, progress, func(string) kit { return node })
	if err != nil {
		return Binaries{}, fmt.Errorf("get the parts of a node: %w", err)
	}
	return b, nil
}

// getParts gets the parts of the kit for the module of KUBE_VERSION.
func getParts(ctx context.Context, progress io.Writer, of func(module string) kit) (Binaries, error) {
	root, err := partsRoot()
	if err != nil {
		return Binaries{}, err
	}
	module, err := kubernetesModule(root, os.Getenv("KUBE_VERSION"))
	if err != nil {
		return Binaries{}, err
	}
	k := of(module)
	v, key, err := k.cacheKey(root)
	if err != nil {
		return Binaries{}, err
	}
	if built := "v" + v.major + "." + v.minor; built != module {
		return Binaries{}, fmt.Errorf("%s cannot be built for KUBE_VERSION=%s, only for %s", names(k.sources), module, built)
	}
	cache, err := cacheDir()
	if err != nil {
		return Binaries{}, err
	}
	b := Binaries{Dir: filepath.Join(cache, key), paths: map[Part]string{}}
	if len(b.find(k.sources)) == 0 {
		return b, nil
	}
	if err := os.MkdirAll(b.Dir, 0o755); err != nil {
		return Binaries{}, err
	}
	unlock, err := lock(ctx, filepath.Join(b.Dir, ".lock"), progress)
	if err != nil {
		return Binaries{}, err
	}
	defer unlock()
	// Somebody else may have built them while we waited.
	missing := b.find(k.sources)
	build := build{root: root, dir: b.Dir, versions: v, progress: progress}
	if err := build.all(ctx, missing); err != nil {
		return Binaries{}, err
	}
	if missing := b.find(k.sources); len(missing) > 0 {
		return Binaries{}, fmt.Errorf("%s is not in %s after it was built", missing[0].part, b.Dir)
	}
	return b, nil
}

// find fills b's paths with those of sources that exist and returns the others.
func (b Binaries) find(sources []source) []source {
	var missing []source
	for _, s := range sources {
		path, ok := findPart(s.part, os.Getenv("KUBEBUILDER_ASSETS"), b.Dir)
		if !ok {
			missing = append(missing, s)
			continue
		}
		b.paths[s.part] = path
	}
	return missing
}

// findPart returns the first of dirs' files with the name of part. Empty dirs are left out.
func findPart(part Part, dirs ...string) (string, bool) {
	for _, dir := range dirs {
		path := filepath.Join(dir, string(part))
		if info, err := os.Stat(path); dir != "" && err == nil && info.Mode().IsRegular() {
			return path, true
		}
	}
	return "", false
}

// partsRoot finds tests/kube/parts at or above the working directory.
func partsRoot() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		root := filepath.Join(dir, "tests", "kube", "parts")
		if _, err := os.Stat(filepath.Join(root, "kwok", "go.mod")); err == nil {
			return root, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("there is no tests/kube/parts at or above %s", start)
		}
	}
}

// kubernetesModule returns the module below root that pins the minor version of Kubernetes that is asked for, or the newest one if none is.
func kubernetesModule(root, asked string) (string, error) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return "", err
	}
	var modules []string
	for _, e := range entries {
		if minorVersion.MatchString(e.Name()) {
			modules = append(modules, e.Name())
		}
	}
	if len(modules) == 0 {
		return "", fmt.Errorf("no module below %s is named by a version of Kubernetes", root)
	}
	sort.Slice(modules, func(i, j int) bool {
		return version.MustParseGeneric(modules[i]).LessThan(version.MustParseGeneric(modules[j]))
	})
	module := "v" + strings.TrimPrefix(asked, "v")
	switch {
	case asked == "":
		return modules[len(modules)-1], nil
	case slices.Contains(modules, module):
		return module, nil
	}
	return "", fmt.Errorf("KUBE_VERSION=%s is not one of %s", asked, strings.Join(modules, ", "))
}

var minorVersion = regexp.MustCompile(`^v\d+\.\d+$`)

var kubernetesVersion = regexp.MustCompile(`(?m)^\s*k8s\.io/kubernetes (v(\d+)\.(\d+)\.\S+)`)

// cacheKey names the parts that the kit's modules below root describe: by the version of Kubernetes, for people, and by a hash of all
// that decides what is built.
func (k kit) cacheKey(root string) (versions, string, error) {
	hash := sha256.New()
	fmt.Fprintf(hash, "%s/%s\n", runtime.GOOS, runtime.GOARCH)
	var v versions
	for _, module := range k.modules {
		for _, file := range []string{"go.mod", "go.sum"} {
			content, err := os.ReadFile(filepath.Join(root, module, file))
			if err != nil {
				return versions{}, "", err
			}
			fmt.Fprintf(hash, "%s/%s %d\n%s", module, file, len(content), content)
			if m := kubernetesVersion.FindSubmatch(content); m != nil {
				v = versions{kubernetes: string(m[1]), major: string(m[2]), minor: string(m[3])}
			}
		}
	}
	if v.kubernetes == "" {
		return versions{}, "", fmt.Errorf("no go.mod below %s requires k8s.io/kubernetes", root)
	}
	for _, s := range k.sources {
		fmt.Fprintf(hash, "%s %s %s\n", s.part, s.pkg, s.ldflags(v))
	}
	return v, v.kubernetes + "-" + hex.EncodeToString(hash.Sum(nil))[:12], nil
}

func cacheDir() (string, error) {
	base := os.Getenv("REROLL_CACHE")
	if base == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("find the cache directory (REROLL_CACHE names another): %w", err)
		}
		base = filepath.Join(user, "reroll")
	}
	return filepath.Join(base, "kube"), nil
}
