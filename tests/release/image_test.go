package release_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// engine stands for the command docker: it has an image with the files amd64 and arm64, each the binary of its platform. As the real one it holds
// the image of one platform by the digest of both until that is removed, which it is not while a container is made of it.
const engine = `#!/bin/sh -eu
case "$*" in
"create --platform=linux/amd64 $IMAGE@$DIGEST" | "create --platform=linux/arm64 $IMAGE@$DIGEST")
	if [ -e held ]; then echo "cannot overwrite digest $DIGEST" >&2; exit 1; fi
	platform="${2#--platform=linux/}"
	touch held "container-$platform"
	echo "$platform" ;;
"cp amd64:/reroll ${3:-}" | "cp arm64:/reroll ${3:-}") cp "${2%:/reroll}" "$3" ;;
"rm amd64" | "rm arm64") rm "container-$2" ;;
"rmi $IMAGE@$DIGEST") ! ls container-* 2> /dev/null; rm held ;;
*) exit 64 ;;
esac
`

// TestImageIsCompared runs the step of the release workflow that holds the binaries of the image against those of the release. The Dockerfile names
// the image of its compiler by a version, behind which another one may stand some day: then there is no release.
func TestImageIsCompared(t *testing.T) {
	step := namedStep(t, "release.yaml", "image", "the binaries of the image")
	for name, tc := range map[string]struct {
		amd64, arm64 string
		released     bool
	}{
		"the same":           {"a", "b", true},
		"another for amd64":  {"x", "b", false},
		"another for arm64":  {"a", "x", false},
		"one for the other":  {"b", "a", false},
		"more than there is": {"ab", "b", false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, content := range map[string]string{
				"amd64": tc.amd64, "arm64": tc.arm64, "bin/reroll-linux-amd64": "a", "bin/reroll-linux-arm64": "b", "docker/docker": engine,
			} {
				file = filepath.Join(dir, file)
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(content), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.CommandContext(t.Context(), "bash", "-e", "-c", step)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "PATH="+filepath.Join(dir, "docker")+":"+os.Getenv("PATH"), "IMAGE=example.test/reroll", "DIGEST=sha256:1")
			if out, err := cmd.CombinedOutput(); (err == nil) != tc.released {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// TestImageIsComparedBeforeItIsSigned: nobody can take back a signature, and an image that is not of the sources never gets one.
func TestImageIsComparedBeforeItIsSigned(t *testing.T) {
	var order []string
	for _, step := range steps(t, "release.yaml", "image") {
		for _, what := range []string{"docker/build-push-action@", "make release ", "cmp ", "cosign sign ", "actions/attest-build-provenance@"} {
			if strings.Contains(step.Uses+step.Run, what) {
				order = append(order, what)
			}
		}
	}
	want := []string{"docker/build-push-action@", "make release ", "cmp ", "cosign sign ", "actions/attest-build-provenance@"}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Errorf("steps of the image (-want +got):\n%s", diff)
	}
}

// namedStep returns the commands of a step that has a name.
func namedStep(t *testing.T, file, job, name string) string {
	t.Helper()
	for _, step := range steps(t, file, job) {
		if step.Name == name {
			return step.Run
		}
	}
	t.Fatalf("%s: the job %s has no step %q", file, job, name)
	return ""
}

// steps returns what a job does.
func steps(t *testing.T, file, job string) []step {
	t.Helper()
	var w workflow
	if err := yaml.Unmarshal([]byte(text(t, ".github/workflows/"+file)), &w); err != nil {
		t.Fatal(err)
	}
	return w.Jobs[job].Steps
}
