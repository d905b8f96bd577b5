package tests

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// supported names the module, and the folder with the module files that ask for it, of the components of docs/support.md.
var supported = map[string]struct{ module, files string }{
	"Kubernetes": {"k8s.io/kubernetes", "tests/kube/parts/v*/go.mod"},
	"kubelet":    {"k8s.io/kubernetes", "tests/kube/parts/node/go.mod"},
	"NATS":       {"github.com/nats-io/nats-server/v2", "tests/nats/servers/*/go.mod go.mod"},
	"Helm":       {`helm.sh/helm/v[34]`, "tests/tools/helm/go.mod tests/tools/helm3/go.mod"},
}

var (
	supportRow = regexp.MustCompile(`(?m)^\| ([A-Za-z]+)[^|]* \| ([0-9., ]+) \|`)
	goVersion  = regexp.MustCompile(`(?m)^go (\d+\.\d+)`)
)

// TestSupportedVersionsAreRun: docs/support.md has the versions in the module files of the tests, and no others.
func TestSupportedVersionsAreRun(t *testing.T) {
	page, err := os.ReadFile("../docs/support.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string][]string{}
	for _, row := range supportRow.FindAllStringSubmatch(string(page), -1) {
		documented[row[1]] = append(documented[row[1]], strings.Split(row[2], ", ")...)
	}
	run := map[string][]string{"Go": {goVersion.FindStringSubmatch(read(t, "../go.mod"))[1]}}
	for component, s := range supported {
		list := exec.CommandContext(t.Context(), "git", append([]string{"ls-files", "-co", "--exclude-standard"}, strings.Fields(s.files)...)...)
		list.Dir = ".."
		out, err := list.Output()
		if err != nil {
			t.Fatal(err)
		}
		version := regexp.MustCompile(`(?m)^\s*` + s.module + ` v([0-9.]+)`)
		for _, file := range strings.Fields(string(out)) {
			run[component] = append(run[component], version.FindStringSubmatch(read(t, "../"+file))[1])
		}
	}
	for component, versions := range run {
		if got, want := unique(documented[component]), unique(versions); !slices.Equal(got, want) || len(want) == 0 {
			t.Errorf("docs/support.md has %s %q, the tests run %q", component, got, want)
		}
		delete(documented, component)
	}
	for component := range documented {
		t.Errorf("docs/support.md has %s, of which no test knows the version", component)
	}
}

func unique(versions []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(versions)))
}

func read(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
