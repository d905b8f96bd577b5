package tests

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/reroll-dev/reroll"

// exempt are imports that break a rule, with the reason why no rule is broken in spirit.
var exempt = map[string]string{
	"cmd/reroll/cli k8s.io/client-go/util/jsonpath": "the grammar of -o jsonpath, as kubectl has it; JSON in, text out",
	"dispatcher k8s.io/client-go/util/workqueue":    "a queue with back-off and without duplicates; nothing in it talks to a cluster",
	"reloader/adoption dispatcher/applied":          "the forecast of migrate asks the rules by which the dispatcher decides; values in, values out",
	"reloader/adoption dispatcher/plan":             "the forecast of migrate asks the rules by which the dispatcher decides; values in, values out",
	"reloader/control github.com/robfig/cron/v3":    "the grammar of maintenance windows, with time zones; text in, times out",
	"reloader/control go.yaml.in/yaml/v3":           "the grammar of the document of reroll-control, where one mistake is found after another; text in, values out",
	"reloader/control sigs.k8s.io/yaml":             "the grammar of the list of pauses, strictly read; text in, values out",
}

// layers are the rules of the design. Paths are inside the module, and count with all below them.
var layers = []struct {
	name string
	// breaks tells whether an import of a package breaks the rule.
	breaks func(from, to string) bool
}{
	{"only reloader/queue knows NATS", func(from, to string) bool {
		return under(to, "github.com/nats-io", "github.com/synadia-io") && !under(from, "reloader/queue")
	}},
	{"only reloader/kube and api/auth know client-go", func(from, to string) bool {
		return under(to, "k8s.io/client-go", "sigs.k8s.io/controller-runtime") && !under(from, "reloader/kube", "api/auth")
	}},
	{"the domain imports the standard library, Kubernetes API types and itself", func(from, to string) bool {
		return domain(from) && !standard(to) && !under(to, "k8s.io/api", "k8s.io/apimachinery") && !domain(to)
	}},
	{"ingest, dispatcher, admission and api import the reloader and themselves, and admission what decides without a dispatcher", func(from, to string) bool {
		return under(from, "ingest", "dispatcher", "admission", "api") && ours(to) && !under(to, "reloader") && top(from) != top(to) &&
			!(under(from, "admission") && under(to, "dispatcher/applied", "dispatcher/plan"))
	}},
	{"packages of the core that are pure take values and return values", func(from, to string) bool {
		return under(from, "dispatcher/applied", "dispatcher/plan") &&
			(!standard(to) || under(to, "context", "sync", "net", "os")) && !domain(to) && to != "dispatcher/applied"
	}},
	{"adapters import the domain, never each other", func(from, to string) bool {
		return under(from, "reloader/queue", "reloader/kube") && ours(to) && !domain(to) &&
			(!under(to, "reloader") || under(from, "reloader/queue") != under(to, "reloader/queue"))
	}},
	{"only the binary imports the wiring", func(from, to string) bool { return under(to, "cmd") && !under(from, "cmd") }},
	{"templates call methods by name: with them the linker keeps all methods of all types, and the binary grows by 24 MB", func(_, to string) bool {
		return under(to, "text/template", "html/template")
	}},
	{"the product imports no tests", func(_, to string) bool { return under(to, "tests") }},
}

// TestImportsPointInwards: the packages of the product keep the rules, the tests may import what they like.
func TestImportsPointInwards(t *testing.T) {
	used := map[string]bool{}
	for from, imports := range packages(t) {
		for _, to := range imports {
			for _, rule := range layers {
				if pair := from + " " + to; rule.breaks(from, to) && exempt[pair] == "" {
					t.Errorf("%s imports %s: %s", from, to, rule.name)
				} else if rule.breaks(from, to) {
					used[pair] = true
				}
			}
		}
	}
	for pair := range exempt {
		if !used[pair] {
			t.Errorf("exemption %s is not needed: remove it", pair)
		}
	}
}

// TestTimeZonesAreInTheBinary: the image is made from scratch, and maintenance windows name time zones.
func TestTimeZonesAreInTheBinary(t *testing.T) {
	if !slices.Contains(packages(t)["reloader/control"], "time/tzdata") {
		t.Error("reloader/control, which reads maintenance windows, does not bring time/tzdata")
	}
}

// packages asks the go command for the packages of the product, and what each imports.
func packages(t *testing.T) map[string][]string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports", module+"/...").Output()
	must(t, err)
	found := map[string][]string{}
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			return found
		}
		must(t, err)
		if from := inside(p.ImportPath); !under(from, "tests") {
			for _, to := range p.Imports {
				found[from] = append(found[from], inside(to))
			}
		}
	}
}

// inside shortens the paths of this module to the part after its name.
func inside(importPath string) string { return strings.TrimPrefix(importPath, module+"/") }

// under tells whether a path is one of the roots or lies below one.
func under(p string, roots ...string) bool {
	return slices.ContainsFunc(roots, func(root string) bool { return p == root || strings.HasPrefix(p, root+"/") })
}

func top(p string) string {
	first, _, _ := strings.Cut(p, "/")
	return first
}

// domain tells whether a path is the reloader without its two adapters.
func domain(p string) bool {
	return under(p, "reloader") && !under(p, "reloader/queue", "reloader/kube")
}

// ours tells whether a path is one of this module.
func ours(p string) bool {
	return under(p, "admission", "api", "cmd", "dispatcher", "ingest", "reloader", "tests")
}

// standard tells whether a path belongs to the standard library: its first element has no dot.
func standard(p string) bool { return !strings.Contains(top(p), ".") && !ours(p) }
