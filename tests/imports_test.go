package tests

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/reroll-dev/reroll"

// imports is one package and what its product code imports; tests may import what they like.
type imports struct {
	ImportPath string
	Imports    []string
}

// exemption lets one package import one other, with the reason why no rule is broken in spirit.
type exemption struct {
	from, to, reason string
}

// exemptions shrink: one that nothing needs any more fails the test.
var exemptions = []exemption{
	{"cmd/reroll/cli", "k8s.io/client-go/util/jsonpath", "the grammar of -o jsonpath, as kubectl has it; JSON in, text out"},
	{"dispatcher", "k8s.io/client-go/util/workqueue", "a queue with back-off and without duplicates; nothing in it talks to a cluster"},
	{"reloader/adoption", "dispatcher/applied", "the forecast of migrate asks the rules by which the dispatcher decides; values in, values out"},
	{"reloader/adoption", "dispatcher/plan", "the forecast of migrate asks the rules by which the dispatcher decides; values in, values out"},
	{"reloader/control", "github.com/robfig/cron/v3", "the grammar of maintenance windows, with time zones; text in, times out"},
	{"reloader/control", "go.yaml.in/yaml/v3", "the grammar of the document of reroll-control, where one mistake is found after another; text in, values out"},
	{"reloader/control", "sigs.k8s.io/yaml", "the grammar of the list of pauses, strictly read; text in, values out"},
}

// layers are the rules of the design's rooms. A rule names the imports that it judges and the rooms that may have them; rooms
// are paths inside the module and count with all below them.
var layers = []struct {
	name string
	// judges tells whether the rule has something to say about this import of this package.
	judges func(from, to string) bool
	// allows tells whether the import is right.
	allows func(from, to string) bool
}{
	{
		name:   "only reloader/queue knows NATS",
		judges: func(_, to string) bool { return under(to, "github.com/nats-io", "github.com/synadia-io") },
		allows: func(from, _ string) bool { return under(from, "reloader/queue") },
	},
	{
		name:   "only reloader/kube and api/auth know client-go",
		judges: func(_, to string) bool { return under(to, "k8s.io/client-go", "sigs.k8s.io/controller-runtime") },
		allows: func(from, _ string) bool { return under(from, "reloader/kube", "api/auth") },
	},
	{
		name:   "the domain imports the standard library, Kubernetes API types and itself",
		judges: func(from, _ string) bool { return domain(from) },
		allows: func(_, to string) bool {
			return standard(to) || under(to, "k8s.io/api", "k8s.io/apimachinery") || domain(to)
		},
	},
	{
		name: "ingest, dispatcher, admission and api import the reloader and themselves, and admission what decides without a dispatcher",
		judges: func(from, to string) bool {
			return under(from, "ingest", "dispatcher", "admission", "api") && inModule(to)
		},
		allows: func(from, to string) bool {
			return under(to, "reloader") || top(from) == top(to) || under(from, "admission") && under(to, "dispatcher/applied", "dispatcher/plan")
		},
	},
	{
		name:   "packages of the core that are pure take values and return values",
		judges: func(from, _ string) bool { return under(from, "dispatcher/applied", "dispatcher/plan") },
		allows: func(_, to string) bool {
			return standard(to) && !under(to, "context", "sync", "net", "os") || domain(to) || to == "dispatcher/applied"
		},
	},
	{
		name:   "adapters import the domain, never each other",
		judges: func(from, to string) bool { return under(from, "reloader/queue", "reloader/kube") && inModule(to) },
		allows: func(from, to string) bool {
			return domain(to) || under(from, "reloader/queue") == under(to, "reloader/queue") && under(to, "reloader")
		},
	},
	{
		name:   "nobody but the binary imports the wiring",
		judges: func(_, to string) bool { return under(to, "cmd") },
		allows: func(from, _ string) bool { return under(from, "cmd") },
	},
	{
		name:   "templates call methods by name: with them the linker keeps all methods of all types, and the binary grows by 24 MB",
		judges: func(_, to string) bool { return under(to, "text/template", "html/template") },
		allows: func(_, _ string) bool { return false },
	},
	{
		name:   "the product imports no tests",
		judges: func(_, to string) bool { return under(to, "tests") },
		allows: func(_, _ string) bool { return false },
	},
}

func TestImportsPointInwards(t *testing.T) {
	for _, complaint := range judge(list(t), exemptions) {
		t.Error(complaint)
	}
}

// TestTimeZonesAreInTheBinary: the image is made from scratch, and maintenance windows name time zones.
func TestTimeZonesAreInTheBinary(t *testing.T) {
	for _, p := range list(t) {
		if under(inside(p.ImportPath), "reloader/control") && slices.Contains(p.Imports, "time/tzdata") {
			return
		}
	}
	t.Error("reloader/control, which reads maintenance windows, does not bring time/tzdata")
}

// TestRulesCatch gives the rules made-up packages: each forbidden import is named, each allowed one passes.
func TestRulesCatch(t *testing.T) {
	cases := map[string]struct {
		from, to string
		wrong    bool
	}{
		"queue may use NATS":                    {"reloader/queue", "github.com/nats-io/nats.go/jetstream", false},
		"dispatcher may not use NATS":           {"dispatcher", "github.com/nats-io/nats.go", true},
		"kube may use client-go":                {"reloader/kube", "k8s.io/client-go/rest", false},
		"api may not use client-go":             {"api", "k8s.io/client-go/kubernetes", true},
		"domain may use API types":              {"reloader/workload", "k8s.io/api/apps/v1", false},
		"domain may not use an adapter":         {"reloader/decide", module + "/reloader/kube", true},
		"root of the domain is the domain":      {"reloader", module + "/dispatcher", true},
		"a pure package may use values":         {"dispatcher/plan", module + "/dispatcher/applied", false},
		"a pure package may not use a context":  {"dispatcher/plan", "context", true},
		"a pure package may not use the shell":  {"dispatcher/applied", module + "/dispatcher", true},
		"ingest may use itself":                 {"ingest/webhook", module + "/ingest", false},
		"api may not use the wiring":            {"api", module + "/cmd/reroll/app", true},
		"queue may not use kube":                {"reloader/queue", module + "/reloader/kube", true},
		"product may not use the rig":           {"cmd/reroll/app", module + "/tests/kube", true},
		"product may not use templates":         {"cmd/reroll/cli", "text/template", true},
		"tests may use everything":              {"tests/demo", "k8s.io/client-go/rest", false},
		"a longer name is not the same package": {"reloader/kubernetes", "k8s.io/client-go/rest", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			packages := []imports{{ImportPath: path.Join(module, tc.from), Imports: []string{tc.to}}}
			if got := judge(packages, nil); (len(got) > 0) != tc.wrong {
				t.Errorf("%s imports %s: complaints %q, want some: %t", tc.from, tc.to, got, tc.wrong)
			}
		})
	}
}

// judge returns a complaint for each import that breaks a rule without an exemption, and for each exemption without use.
func judge(packages []imports, exempt []exemption) []string {
	var complaints []string
	used := make([]bool, len(exempt))
	for _, p := range packages {
		from := inside(p.ImportPath)
		if !inModule(from) {
			complaints = append(complaints, from+" is no room of the house: give it one, or name it in rooms")
		}
		if under(from, "tests") {
			continue
		}
		for _, raw := range p.Imports {
			to := inside(raw)
			for _, rule := range layers {
				if !rule.judges(from, to) || rule.allows(from, to) {
					continue
				}
				i := slices.IndexFunc(exempt, func(e exemption) bool { return e.from == from && e.to == to })
				if i >= 0 {
					used[i] = true
					continue
				}
				complaints = append(complaints, fmt.Sprintf("%s imports %s: %s", from, to, rule.name))
			}
		}
	}
	for i, e := range exempt {
		if !used[i] {
			complaints = append(complaints, fmt.Sprintf("exemption %s → %s is not needed: remove it", e.from, e.to))
		}
		if e.reason == "" {
			complaints = append(complaints, fmt.Sprintf("exemption %s → %s has no reason", e.from, e.to))
		}
	}
	return complaints
}

// list asks the go command for the packages of this module, also those that do not compile.
func list(t *testing.T) []imports {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=ImportPath,Imports", module+"/...")
	out, err := cmd.Output()
	must(t, err)
	var packages []imports
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p imports
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		must(t, err)
		packages = append(packages, p)
	}
	if len(packages) == 0 {
		t.Fatal("the go command lists no packages")
	}
	return packages
}

// inside shortens the paths of this module to the part after its name, "." for its root.
func inside(importPath string) string {
	if importPath == module {
		return "."
	}
	return strings.TrimPrefix(importPath, module+"/")
}

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

// rooms are the folders of this module that hold packages.
var rooms = []string{".", "admission", "api", "cmd", "dispatcher", "ingest", "reloader", "tests"}

func inModule(p string) bool { return slices.Contains(rooms, top(p)) }

// standard tells whether a path belongs to the standard library: its first element has no dot, and it is not a room of ours.
func standard(p string) bool { return !strings.Contains(top(p), ".") && !inModule(p) }
