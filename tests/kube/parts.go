package kube

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
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

// source says where a part comes from: a package, seen from a module below tests.
type source struct {
	part   Part
	module string
	pkg    string
}

// executable is the name that the go command gives the program.
func (s source) executable() string {
	name := path.Base(s.pkg)
	if strings.HasPrefix(name, "v") && len(name) == 2 {
		name = path.Base(path.Dir(s.pkg))
	}
	return name
}

// kit is what is built and kept together.
type kit []source

// pinned is the module of the newest Kubernetes, and of kwok.
const pinned = "tools/pinned"

// controlPlane is the kit of the module that pins a version of Kubernetes.
func controlPlane(module string) kit {
	return kit{
		{Etcd, module, "go.etcd.io/etcd/server/v3"},
		{APIServer, module, "k8s.io/kubernetes/cmd/kube-apiserver"},
		{ControllerManager, module, "k8s.io/kubernetes/cmd/kube-controller-manager"},
		{Scheduler, module, "k8s.io/kubernetes/cmd/kube-scheduler"},
		{Kubectl, module, "k8s.io/kubernetes/cmd/kubectl"},
		{Kwok, pinned, "sigs.k8s.io/kwok/cmd/kwok"},
	}
}

// node is the kit of a real node, which there is for the newest Kubernetes alone.
var node = kit{
	{Kubelet, "kube/parts/node", "k8s.io/kubernetes/cmd/kubelet"},
	{Proxy, "kube/parts/node", "k8s.io/kubernetes/cmd/kube-proxy"},
	{DNS, "kube/parts/node", "./dns"},
}

// versions are what the module files require, for example v1.37.2.
type versions struct {
	kubernetes, major, minor string
}

// ldflags tell a program of Kubernetes its version, which one that is built from a module does not know: it would show as v0.0.0 in answers,
// and in the user agents that audit events carry.
func (v versions) ldflags() string {
	flags := "-s -w"
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		flags += fmt.Sprintf(" -X %[1]s.gitVersion=%[2]s -X %[1]s.gitMajor=%[3]s -X %[1]s.gitMinor=%[4]s -X %[1]s.gitCommit=unknown",
			pkg, v.kubernetes, v.major, v.minor)
	}
	return flags
}

// Binaries are the programs of a cluster, ready to run.
type Binaries struct{ dir string }

// Path returns where part is.
func (b Binaries) Path(part Part) string { return filepath.Join(b.dir, string(part)) }

// Parts returns the programs that clusters are made of, of the version of Kubernetes in KUBE_VERSION, for example 1.33, or of the newest
// one, which tests/tools/pinned pins. They are built from modules below tests, which is looked for upwards from the working directory, into a
// folder of the user's cache (below REROLL_CACHE if that is set) that is named by their versions. Parts that it has already are not
// built again. Progress is reported to progress, and nothing if nothing is to do.
//
// The first build takes about 10 minutes of CPU time. Others who ask in the meantime wait for it, also in other processes. A
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
	root, err := testsDir()
	if err != nil {
		return Binaries{}, err
	}
	asked := strings.TrimPrefix(os.Getenv("KUBE_VERSION"), "v")
	module := pinned
	if asked != "" {
		if older := "kube/parts/v" + asked; exists(filepath.Join(root, older)) {
			module = older
		}
	}
	k := of(module)
	v, key, err := k.cacheKey(root)
	if err != nil {
		return Binaries{}, err
	}
	if asked != "" && asked != v.major+"."+v.minor {
		return Binaries{}, fmt.Errorf("%s cannot be built for KUBE_VERSION=%s, only for %s.%s", names(k), asked, v.major, v.minor)
	}
	cache, err := cacheDir()
	if err != nil {
		return Binaries{}, err
	}
	b := Binaries{filepath.Join(cache, key)}
	if len(b.missing(k)) == 0 {
		return b, nil
	}
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		return Binaries{}, err
	}
	unlock, err := lock(filepath.Join(b.dir, ".lock"))
	if err != nil {
		return Binaries{}, err
	}
	defer unlock()
	// Another process may have built them while this one waited.
	missing := b.missing(k)
	build := build{root: root, dir: b.dir, versions: v, progress: progress}
	if err := build.all(ctx, missing); err != nil {
		return Binaries{}, err
	}
	if missing := b.missing(k); len(missing) > 0 {
		return Binaries{}, fmt.Errorf("%s is not in %s after it was built", missing[0].part, b.dir)
	}
	return b, nil
}

// missing returns those of sources that are not there.
func (b Binaries) missing(sources kit) (missing kit) {
	for _, s := range sources {
		if !exists(b.Path(s.part)) {
			missing = append(missing, s)
		}
	}
	return missing
}

// testsDir finds tests at or above the working directory.
func testsDir() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		root := filepath.Join(dir, "tests")
		if exists(filepath.Join(root, pinned, "go.mod")) {
			return root, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("there is no tests/%s at or above %s", pinned, start)
		}
	}
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// requirement is a line of a go.mod that decides what parts are. The versions of their dependencies do not matter.
var requirement = regexp.MustCompile(`(?m)^(?:require)?\s*(k8s\.io/kubernetes|go\.etcd\.io/etcd/server/v3|sigs\.k8s\.io/kwok|github\.com/coredns/coredns) (v(\d+)\.(\d+)\.\S+)`)

// cacheKey names the parts of the kit: by the version of Kubernetes, for people, and by a hash of all that decides what is built. root is
// tests.
func (k kit) cacheKey(root string) (versions, string, error) {
	hash := sha256.New()
	fmt.Fprintf(hash, "%s/%s\n", runtime.GOOS, runtime.GOARCH)
	var v versions
	for i, s := range k {
		fmt.Fprintln(hash, s.part, s.pkg)
		if i > 0 && s.module == k[i-1].module {
			continue
		}
		content, err := os.ReadFile(filepath.Join(root, s.module, "go.mod"))
		if err != nil {
			return versions{}, "", err
		}
		for _, m := range requirement.FindAllStringSubmatch(string(content), -1) {
			fmt.Fprintln(hash, m[1], m[2])
			if m[1] == "k8s.io/kubernetes" && v.kubernetes == "" {
				v = versions{kubernetes: m[2], major: m[3], minor: m[4]}
			}
		}
	}
	if v.kubernetes == "" {
		return versions{}, "", fmt.Errorf("%s/go.mod does not require k8s.io/kubernetes", k[0].module)
	}
	fmt.Fprintln(hash, v.ldflags())
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
