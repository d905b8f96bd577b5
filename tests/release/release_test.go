package release_test

import (
	"bytes"
	"debug/buildinfo"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const root = "../.."

// flags are those of Makefile and Dockerfile, for a version.
func flags(version string) []string {
	return []string{"-trimpath", "-buildvcs=false", "-ldflags", "-s -w -buildid= -X main.version=" + version}
}

// build builds reroll from the sources in a folder.
func build(t *testing.T, dir, target string, environment ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append(append([]string{"build"}, flags("1.2.3")...), "-o", target, "./cmd/reroll")...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "CGO_ENABLED=0"), environment...)
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	content, err := os.ReadFile(target)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// imageSources are the files and folders that .dockerignore lets into the build of the image.
func imageSources(t *testing.T) (names []string) {
	t.Helper()
	content, err := os.ReadFile(root + "/.dockerignore")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "!"); ok {
			names = append(names, name)
		}
	}
	return names
}

// TestImageHasItsSources: every package of ours that the binary is built from is let into the build of the image.
func TestImageHasItsSources(t *testing.T) {
	const module = "github.com/reroll-dev/reroll/"
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "./cmd/reroll")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	sources, seen := imageSources(t), 0
	for line := range strings.Lines(string(out)) {
		folder, ours := strings.CutPrefix(strings.TrimSpace(line), module)
		if !ours {
			continue
		}
		seen++
		if top, _, _ := strings.Cut(folder, "/"); !slices.Contains(sources, top) {
			t.Errorf("%s is kept out by .dockerignore", folder)
		}
	}
	if seen == 0 {
		t.Error("the binary is built from nothing of ours")
	}
}

// copySources copies the repository to another folder, as far as the image is built from it.
func copySources(t *testing.T) string {
	t.Helper()
	list := exec.CommandContext(t.Context(), "git", append([]string{"ls-files", "-co", "--exclude-standard", "-z"}, imageSources(t)...)...)
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range strings.Split(strings.TrimRight(string(out), "\x00"), "\x00") {
		if strings.HasSuffix(name, "_test.go") || strings.Contains(name, "/testdata/") {
			continue
		}
		content, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // it was deleted, and that is not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		target := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(target, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestTwoBuildsAreEqual builds in two folders, the second time with an empty cache, so that every package is compiled again. No release is
// made without it.
func TestTwoBuildsAreEqual(t *testing.T) {
	if os.Getenv("RELEASE_FULL") == "" {
		t.Skip("it compiles everything twice: RELEASE_FULL=1")
	}
	here, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	sources := copySources(t)
	for _, platform := range platforms(t) {
		t.Run(platform, func(t *testing.T) {
			system, arch, _ := strings.Cut(platform, "/")
			binary := filepath.Join(t.TempDir(), "reroll")
			first := build(t, root, binary, "GOOS="+system, "GOARCH="+arch)
			second := build(t, sources, filepath.Join(t.TempDir(), "reroll"), "GOOS="+system, "GOARCH="+arch, "GOCACHE="+t.TempDir())
			if !bytes.Equal(first, second) {
				t.Errorf("two builds differ: %d and %d bytes", len(first), len(second))
			}
			if bytes.Contains(first, []byte(here)) {
				t.Error("the binary knows where it was built")
			}
			if system == "linux" {
				expectStatic(t, binary)
			}
			expectParts(t, binary)
			if system == runtime.GOOS && arch == runtime.GOARCH {
				expectVersion(t, binary)
			}
		})
	}
}

// platforms are those that the Makefile makes a release for.
func platforms(t *testing.T) []string {
	t.Helper()
	line := regexp.MustCompile(`(?m)^PLATFORMS \?= (.+)$`).FindStringSubmatch(text(t, "Makefile"))
	if line == nil {
		t.Fatal("the Makefile names no platforms")
	}
	return strings.Fields(line[1])
}

// TestOtherSystems: the command line is built for people's machines, and the list of its parts can be made of that binary, too. Linux is what every
// other test builds.
func TestOtherSystems(t *testing.T) {
	for platform, open := range map[string]func(string) (io.Closer, error){
		"darwin/arm64":  func(name string) (io.Closer, error) { return macho.Open(name) },
		"windows/amd64": func(name string) (io.Closer, error) { return pe.Open(name) },
	} {
		t.Run(platform, func(t *testing.T) {
			if !slices.Contains(platforms(t), platform) {
				t.Error("a release has nothing for it")
			}
			system, arch, _ := strings.Cut(platform, "/")
			binary := filepath.Join(t.TempDir(), "reroll")
			plainBuild(t, binary, "GOOS="+system, "GOARCH="+arch)
			file, err := open(binary)
			if err != nil {
				t.Fatalf("it is no program of that system: %v", err)
			}
			_ = file.Close()
			expectParts(t, binary)
		})
	}
}

func expectVersion(t *testing.T, binary string) {
	t.Helper()
	version, err := exec.CommandContext(t.Context(), binary, "version").CombinedOutput()
	if err != nil || !strings.Contains(string(version), "1.2.3") {
		t.Errorf("the version is %q, %v", version, err)
	}
}

// TestListOfParts looks at a binary as every test builds it: what it is made of is what a release is made of.
func TestListOfParts(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "reroll")
	plainBuild(t, binary)
	expectStatic(t, binary)
	expectParts(t, binary)
	expectLicences(t, binary)
}

// expectLicences: each module of a binary has a text, and so have Go and the dashboard.
func expectLicences(t *testing.T, binary string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "run", "./tests/licenses", binary)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(binary)
	if err != nil || len(info.Deps) == 0 {
		t.Fatalf("the binary names no modules: %v", err)
	}
	wants := []string{info.GoVersion}
	for _, m := range info.Deps {
		wants = append(wants, m.Path+" "+m.Version)
	}
	for _, want := range wants {
		if !strings.Contains(string(out), "\n"+want+", ") {
			t.Errorf("no licence of %s", want)
		}
	}
	if notice := strings.TrimSpace(text(t, "api/ui/dist/NOTICE.txt")); !strings.Contains(string(out), notice) {
		t.Error("the licences of the dashboard's packages are missing")
	}
}

// plainBuild builds reroll without the flags of a release, which would compile everything again.
func plainBuild(t *testing.T, binary string, environment ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./cmd/reroll")
	cmd.Dir, cmd.Env = root, append(append(os.Environ(), "CGO_ENABLED=0"), environment...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// expectStatic: an image from scratch has no loader and no libraries.
func expectStatic(t *testing.T, binary string) {
	t.Helper()
	file, err := elf.Open(binary)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	for _, p := range file.Progs {
		if p.Type == elf.PT_INTERP {
			t.Error("the binary wants a loader")
		}
	}
}

// expectParts checks the list of parts of a binary.
func expectParts(t *testing.T, binary string) {
	t.Helper()
	run := func() []byte {
		cmd := exec.CommandContext(t.Context(), "go", "run", "./tests/sbom", binary)
		cmd.Dir = root
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	text := run()
	var list struct {
		BOMFormat  string
		Components []struct{ PURL string }
	}
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	var urls strings.Builder
	for _, c := range list.Components {
		urls.WriteString(c.PURL + "\n")
	}
	for _, want := range []string{"pkg:golang/github.com/nats-io/nats-server/v2@v", "pkg:golang/k8s.io/client-go@v", "pkg:golang/std@1.", "pkg:npm/preact@", "pkg:npm/%40preact/signals@"} {
		if !strings.Contains(urls.String(), want) {
			t.Errorf("%s is not among the parts:\n%s", want, urls.String())
		}
	}
	for _, other := range []string{"pkg:npm/esbuild", "go-cmp"} {
		if strings.Contains(urls.String(), other) {
			t.Errorf("%s is no part of the binary", other)
		}
	}
	if list.BOMFormat != "CycloneDX" || !bytes.Equal(text, run()) {
		t.Error("the list is of another form, or another one each time")
	}
}

// TestOneWayToBuild: Makefile and Dockerfile give the compiler the same flags.
func TestOneWayToBuild(t *testing.T) {
	want := regexp.MustCompile(`-trimpath -buildvcs=false -ldflags "-s -w -buildid= -X main\.version=\$\(?VERSION\)?"`)
	for _, name := range []string{"Makefile", "Dockerfile"} {
		content, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if n := len(want.FindAll(content, -1)); n != 1 {
			t.Errorf("%s has these flags %d times", name, n)
		}
	}
}

// TestImage: nothing in it but what is needed, and a user who is nobody.
func TestImage(t *testing.T) {
	content, err := os.ReadFile(root + "/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	_, image, found := strings.Cut(string(content), "\nFROM scratch\n")
	if !found || strings.Contains(image, "\nRUN ") {
		t.Error("the image is not made from scratch")
	}
	for _, want := range []string{
		"\nUSER 65532:65532\n", "\nENTRYPOINT [\"/reroll\"]\n", "org.opencontainers.image.licenses=\"Apache-2.0\"",
		"image.source=\"https://github.com/reroll-dev/reroll\"", "image.version=\"$VERSION\"", "image.revision=\"$REVISION\"", "\nCOPY --from=build /out/licenses /licenses\n",
	} {
		if !strings.Contains(image, want) {
			t.Errorf("the image has no %q", want)
		}
	}
	compiler := regexp.MustCompile(`(?m)^FROM --platform=\$BUILDPLATFORM docker\.io/library/golang:([0-9]+\.[0-9]+\.[0-9]+)-`).FindSubmatch(content)
	if compiler == nil {
		t.Fatal("the compiler has no exact version, or runs on the platform that it builds for")
	}
	if want := "\ntoolchain go" + string(compiler[1]) + "\n"; !strings.Contains(text(t, "go.mod"), want) {
		t.Errorf("the compiler is %s, and go.mod names another", compiler[1])
	}
}

// workflow is what is looked at of a workflow.
type workflow struct {
	Permissions map[string]string
	Jobs        map[string]struct {
		Permissions map[string]string
		// Needs is a name or a list of them.
		Needs any
		// If is when it runs; empty is if all that it needs has ended well.
		If    string
		Uses  string
		Steps []step
	}
}

type step struct {
	Name, Uses, Run, Shell string
	With                   map[string]any
}

// pinned is an action by its commit; the line says which version that is.
var pinned = regexp.MustCompile(`^[a-z0-9-]+(/[a-z0-9-]+)+@[0-9a-f]{40}$`)

// TestWorkflows: every action is one commit, nobody may more than they need, and what is called of make is there.
func TestWorkflows(t *testing.T) {
	files, err := filepath.Glob(root + "/.github/workflows/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no workflows: %v", err)
	}
	makefile, err := os.ReadFile(root + "/Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var w workflow
		if err := yaml.Unmarshal(content, &w); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if len(w.Permissions) != 1 || w.Permissions["contents"] != "read" {
			t.Errorf("%s: whoever is not said to may do more than read: %v", file, w.Permissions)
		}
		for name, job := range w.Jobs {
			if local, ok := strings.CutPrefix(job.Uses, "./.github/workflows/"); job.Uses != "" && (!ok || !strings.Contains(text(t, ".github/workflows/"+local), "\n  workflow_call:")) {
				t.Errorf("%s: job %s is %s, which is none of ours that can be called", file, name, job.Uses)
			}
			for _, step := range job.Steps {
				if step.Uses != "" && !pinned.MatchString(step.Uses) {
					t.Errorf("%s: job %s uses %s, which is no commit", file, name, step.Uses)
				}
				if step.Uses != "" && !regexp.MustCompile(regexp.QuoteMeta(step.Uses)+` # v[0-9]+\.[0-9]+\.[0-9]+\n`).Match(content) {
					t.Errorf("%s: %s does not say which version that is", file, step.Uses)
				}
				if strings.HasPrefix(step.Uses, "actions/setup-go@") && step.With["go-version-file"] != "go.mod" {
					t.Errorf("%s: job %s takes a version of Go that go.mod does not name", file, name)
				}
				if strings.HasPrefix(step.Uses, "actions/checkout@") && step.With["persist-credentials"] != false {
					t.Errorf("%s: job %s leaves its credentials lying about", file, name)
				}
				if strings.Contains(step.Run, " | ") && step.Shell != "bash" {
					t.Errorf("%s: job %s does not see what fails in front of a pipe: %s", file, name, step.Run)
				}
			}
		}
		// Also what a matrix gives to steps.
		for _, target := range regexp.MustCompile(`\brun: .*\bmake ([a-z-]+)`).FindAllSubmatch(content, -1) {
			if !bytes.Contains(makefile, slices.Concat([]byte("\n"), target[1], []byte(":"))) {
				t.Errorf("%s: there is no make %s", file, target[1])
			}
		}
	}
}
