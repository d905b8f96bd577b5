package release_test

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// runStep runs the commands of a step in a new folder, with programs of ours in front of the PATH, and returns what they wrote to the file calls.
func runStep(t *testing.T, commands string, programs map[string]string, environment ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, folder := range []string{"programs", "bin/release", "tests/tools/helm"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	programs["../CHANGELOG.md"] = "# Changes\n\n## 1.2.3, 2026-01-02\n\nThe newest.\n\n## 1.2.2, 2026-01-01\n\nOlder.\n"
	programs["../bin/release/file"] = ""
	for name, content := range programs {
		if err := os.WriteFile(filepath.Join(dir, "programs", name), []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-eo", "pipefail", "-c", commands)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "PATH="+filepath.Join(dir, "programs")+":"+os.Getenv("PATH"), "CALLS="+dir+"/calls"), environment...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	calls, err := os.ReadFile(dir + "/calls")
	if err != nil {
		t.Fatal(err)
	}
	return string(calls)
}

// TestPageComesLast runs the step of the release workflow that publishes, as if for the first time and after a run that failed halfway: the page is
// a draft until it has all files, and a candidate is not the newest release.
func TestPageComesLast(t *testing.T) {
	const gh = `#!/bin/sh -eu
if [ "$2" = view ]; then exit "$MISSING"; fi
if [ "$2" = create ]; then grep -q newest notes.md; ! grep -q Older notes.md; fi
echo "$*" >> "$CALLS"
`
	const create, upload = "release create %s --draft --verify-tag --notes-file notes.md\n", "release upload %s --clobber bin/release/file\n"
	for name, c := range map[string]struct{ tag, missing, want string }{
		"first":     {"v1.2.3", "1", create + upload + "release edit %s --draft=false --latest\n"},
		"again":     {"v1.2.3", "0", upload + "release edit %s --draft=false --latest\n"},
		"candidate": {"v1.2.3-rc.1", "1", create + upload + "release edit %s --draft=false --prerelease\n"},
	} {
		t.Run(name, func(t *testing.T) {
			calls := runStep(t, namedStep(t, "release.yaml", "binaries", "the page"), map[string]string{"gh": gh}, "GITHUB_REF_NAME="+c.tag, "MISSING="+c.missing)
			if diff := cmp.Diff(strings.ReplaceAll(c.want, "%s", c.tag), calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

// TestChartIsPushedOnce: a chart that has its version is not pushed again, and its digest is that of the one that is there.
func TestChartIsPushedOnce(t *testing.T) {
	const helm = `#!/bin/sh -eu
echo "$*" >> "$CALLS"
if [ "$1" = pull ] && [ "$MISSING" = 1 ]; then echo not found >&2; exit 1; fi
echo "Digest: sha256:$(printf '%064d' "$MISSING")" >&2
`
	const pull, push = "pull oci://example.test/charts/reroll --version 1.2.3\n", "push bin/reroll-1.2.3.tgz oci://example.test/charts\n"
	for missing, want := range map[string]string{"0": pull, "1": pull + push} {
		output := filepath.Join(t.TempDir(), "output")
		calls := runStep(t, namedStep(t, "release.yaml", "chart", "push, unless it is there"), map[string]string{"helm": helm, "go": "#!/bin/sh\necho helm\n"},
			"GITHUB_REF_NAME=v1.2.3", "CHARTS=example.test/charts", "GITHUB_OUTPUT="+output, "MISSING="+missing)
		if diff := cmp.Diff(want, calls); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
		digest, err := os.ReadFile(output)
		if want := "digest=sha256:" + strings.Repeat("0", 63) + missing + "\n"; err != nil || string(digest) != want {
			t.Errorf("%q, %v; want %q", digest, err, want)
		}
	}
}

// TestModulesAreWatched: Dependabot covers every module of the repository except the NATS servers, which are old on purpose.
func TestModulesAreWatched(t *testing.T) {
	var config struct {
		Updates []struct {
			Ecosystem   string `json:"package-ecosystem"`
			Directory   string
			Directories []string
		}
	}
	if err := yaml.Unmarshal([]byte(text(t, ".github/dependabot.yml")), &config); err != nil {
		t.Fatal(err)
	}
	list := exec.CommandContext(t.Context(), "git", "ls-files", "-co", "--exclude-standard", "*go.mod", "*package-lock.json")
	list.Dir = root
	files, err := list.Output()
	if err != nil || len(files) == 0 {
		t.Fatalf("no modules: %v", err)
	}
	for file := range strings.Lines(string(files)) {
		file = "/" + strings.TrimSpace(file)
		ecosystem := map[string]string{"go.mod": "gomod", "package-lock.json": "npm"}[path.Base(file)]
		watched := strings.HasPrefix(file, "/tests/nats/servers/")
		for _, u := range config.Updates {
			for _, pattern := range append(u.Directories, u.Directory) {
				matched, err := path.Match(pattern, path.Dir(file))
				watched = watched || err == nil && matched && u.Ecosystem == ecosystem
			}
		}
		if !watched {
			t.Errorf("dependabot.yml misses %s", file)
		}
	}
}
