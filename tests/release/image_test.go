package release_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"
)

// engine stands for the command docker: it has an image with the files amd64 and arm64, each the binary of its platform.
const engine = `#!/bin/sh -eu
case "$1 $2 $3" in
"create --platform=linux/amd64 $IMAGE@$DIGEST") echo amd64 ;;
"create --platform=linux/arm64 $IMAGE@$DIGEST") echo arm64 ;;
"cp amd64:/reroll $3" | "cp arm64:/reroll $3") cp "${2%:/reroll}" "$3" ;;
*) exit 64 ;;
esac
`

// TestImageIsCompared runs the step of the release workflow that holds the binaries of the image against those of the release. The Dockerfile names
// the image of its compiler by a version, behind which another one may stand some day: then there is no release.
func TestImageIsCompared(t *testing.T) {
	step := namedStep(t, "release.yaml", "binaries", "the binaries of the image")
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

// namedStep returns the commands of a step that has a name.
func namedStep(t *testing.T, file, job, name string) string {
	t.Helper()
	var w workflow
	if err := yaml.Unmarshal([]byte(text(t, ".github/workflows/"+file)), &w); err != nil {
		t.Fatal(err)
	}
	for _, step := range w.Jobs[job].Steps {
		if step.Name == name {
			return step.Run
		}
	}
	t.Fatalf("%s: the job %s has no step %q", file, job, name)
	return ""
}
