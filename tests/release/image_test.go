package release_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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
				"amd64": tc.amd64, "arm64": tc.arm64, "bin/release/reroll-linux-amd64": "a", "bin/release/reroll-linux-arm64": "b", "docker/docker": engine,
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

// TestImageIsComparedBeforeItIsSigned: nobody can take back a signature, and an image that is not of the sources never gets one. Nor can a version be
// taken back from those who have pulled it: the image gets it last.
func TestImageIsComparedBeforeItIsSigned(t *testing.T) {
	want := []string{
		"docker/build-push-action@", "make release ", "cmp ", "cosign sign ", "actions/attest-build-provenance@",
		`docker buildx imagetools create -t "$IMAGE:$VERSION" "$IMAGE@$DIGEST"`,
	}
	var order []string
	for _, step := range steps(t, "release.yaml", "image") {
		for _, what := range want {
			if strings.Contains(step.Uses+step.Run, what) {
				order = append(order, what)
			}
		}
		if outputs, ok := step.With["outputs"].(string); ok && (!strings.Contains(outputs, "name=${{ env.IMAGE }},push-by-digest=true,") || step.With["tags"] != nil) {
			t.Errorf("it is pushed under a version at once: %s", outputs)
		}
	}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Errorf("steps of the image (-want +got):\n%s", diff)
	}
}

// TestReleasesAreOfCheckedCommits: nothing leaves the house unless everything that each change goes through was run on the commit of the tag.
func TestReleasesAreOfCheckedCommits(t *testing.T) {
	w := readWorkflow(t, "release.yaml")
	if w.Jobs["check"].Uses != "./.github/workflows/check.yaml" {
		t.Errorf("the job check is %q", w.Jobs["check"].Uses)
	}
	for name, job := range w.Jobs {
		if len(job.Permissions) > 0 && (!w.follows(name, "check") || !w.follows(name, "equal")) {
			t.Errorf("the job %s, which may write, comes after %v", name, job.Needs)
		}
	}
}

// TestConditionsMakeNoOrder: a job that says itself when it runs, runs also when one that it needs has failed.
func TestConditionsMakeNoOrder(t *testing.T) {
	for name, c := range map[string]struct {
		jobs    string
		follows bool
	}{
		"at once":         {"image: {needs: check}", true},
		"by another":      {"image: {needs: [a]}, a: {needs: [check]}", true},
		"not":             {"image: {needs: [a]}, a: {}", false},
		"always":          {"image: {needs: check, if: always()}", false},
		"always, between": {"image: {needs: [a]}, a: {needs: [check], if: '!cancelled()'}", false},
		"one of two ways": {"image: {needs: [a, b]}, a: {needs: [check], if: always()}, b: {needs: check}", true},
	} {
		var w workflow
		if err := yaml.Unmarshal([]byte("jobs: {check: {}, "+c.jobs+"}"), &w); err != nil {
			t.Fatal(err)
		}
		if got := w.follows("image", "check"); got != c.follows {
			t.Errorf("%s: it comes after the check: %t, want %t", name, got, c.follows)
		}
	}
}

// follows reports whether a job begins only after another one has ended well.
func (w workflow) follows(job, other string) bool {
	if w.Jobs[job].If != "" {
		return false
	}
	for _, name := range regexp.MustCompile(`[a-z]+`).FindAllString(fmt.Sprint(w.Jobs[job].Needs), -1) {
		if _, known := w.Jobs[name]; known && (name == other || w.follows(name, other)) {
			return true
		}
	}
	return false
}

// TestDockerfileIsBuiltByEveryChange: a Dockerfile that nobody builds before a release fails on its day.
func TestDockerfileIsBuiltByEveryChange(t *testing.T) {
	var run []string
	for _, step := range steps(t, "check.yaml", "image") {
		if step.Run != "" {
			run = append(run, step.Run)
		}
	}
	want := []string{
		"make docker IMAGE=reroll:check VERSION=1.2.3", "docker run --rm --read-only reroll:check version | grep -F 1.2.3", "make docker-twice VERSION=1.2.3",
	}
	if diff := cmp.Diff(want, run); diff != "" {
		t.Errorf("what is run about the image (-want +got):\n%s", diff)
	}
}

// builder stands for the command docker. What it builds has the digest that stands in the next line of the file digests.
const builder = `#!/bin/sh -eu
cd "$DIGESTS"
case " $* " in *" --no-cache "*" --provenance=false "*" --build-arg CACHE=/new "*" --output type=oci,"*",rewrite-timestamp=true "*) ;; *) exit 64 ;; esac
[ -n "$SOURCE_DATE_EPOCH" ]
while [ "$1" != --metadata-file ]; do shift; done
printf '{\n  "containerimage.digest": "%s"\n}\n' "$(head -n 1 digests)" > "$OLDPWD/$2"
sed -i 1d digests
`

// TestTwoImagesAreCompared runs make docker-twice with a builder of which is known what it builds.
func TestTwoImagesAreCompared(t *testing.T) {
	for name, tc := range map[string]struct {
		digests string
		equal   bool
	}{
		"the same":      {"sha256:1a\nsha256:1a\n", true},
		"another":       {"sha256:1a\nsha256:2b\n", false},
		"nothing twice": {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, content := range map[string]string{"digests": tc.digests, "docker": builder} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.CommandContext(t.Context(), "make", "docker-twice", "VERSION=1.2.3")
			cmd.Dir, cmd.Env = root, append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "DIGESTS="+dir)
			if out, err := cmd.CombinedOutput(); (err == nil) != tc.equal {
				t.Errorf("%v: %s", err, out)
			}
		})
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
	return readWorkflow(t, file).Jobs[job].Steps
}

func readWorkflow(t *testing.T, file string) (w workflow) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text(t, ".github/workflows/"+file)), &w); err != nil {
		t.Fatal(err)
	}
	return w
}
