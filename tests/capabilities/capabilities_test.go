package capabilities

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

//go:generate go test . -run ^TestTables$ -update

var update = flag.Bool("update", false, "rewrite the tables")

const (
	root = "../../"
	// A table is between these lines.
	begin = "<!-- Generated: go generate ./tests/capabilities -->\n"
	end   = "<!-- End of what is generated -->\n"
)

// columns are the other tools, and what the table calls them.
var columns = []struct{ name, title string }{
	{"stakater", "Stakater Reloader"},
	{"sap", "SAP pod-reloader"},
	{"wave", "Wave"},
	{"collaborne", "Collaborne"},
	{"fabric8", "fabric8"},
	{"trigger", "k8s-trigger-controller"},
}

// tables are the documents with a table: README.md has what decides most often.
var tables = []struct {
	file  string
	tools int
	rows  func(row) bool
}{
	{"README.md", 3, func(r row) bool { return r.Short }},
}

// row is one capability: what it is, how far each has it, and where it is proved of Reroll.
type row struct {
	What   string `json:"what"`
	Reroll string `json:"reroll"`
	Proof  string `json:"proof"`
	// Short puts the row into the short table as well.
	Short  bool              `json:"short"`
	Others map[string]string `json:"others"`
}

func readRows(t *testing.T) []row {
	t.Helper()
	text, err := os.ReadFile("capabilities.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Rows []row `json:"rows"`
	}
	if err := yaml.UnmarshalStrict(text, &file); err != nil {
		t.Fatal(err)
	}
	return file.Rows
}

// check returns what is wrong with a row.
func (r row) check() error {
	if r.What == "" || r.Reroll == "" || strings.ContainsAny(r.What+r.Reroll, "|\n") {
		return errors.New("it does not say what it is, or how far Reroll has it")
	}
	for _, c := range columns {
		if said := r.Others[c.name]; said == "" || strings.ContainsAny(said, "|\n") {
			return fmt.Errorf("it does not say how far %s has it", c.name)
		}
	}
	if len(r.Others) != len(columns) {
		return errors.New("it tells of a tool that has no column")
	}
	if (r.Reroll == "no") != (r.Proof == "") {
		return errors.New("what Reroll has needs a proof, and what it has not can have none")
	}
	return r.proved()
}

// proved returns nil if the proof exists: a scenario, or a test in a file.
func (r row) proved() error {
	if r.Proof == "" {
		return nil
	}
	file, test, isTest := strings.Cut(r.Proof, ":")
	text, err := os.ReadFile(root + file)
	switch {
	case err != nil:
		return err
	case !isTest && !regexp.MustCompile(`^tests/(scenarios|conformance/stakater/scenarios|conformance/(sap|wave|collaborne|fabric8|trigger))/[a-z0-9-]+\.yaml$`).MatchString(file):
		return fmt.Errorf("%s is neither a scenario nor a test", r.Proof)
	case isTest && !strings.Contains(string(text), "\nfunc "+test+"(t *testing.T)"):
		return fmt.Errorf("%s has no test %q", file, test)
	}
	return nil
}

// TestProofsExist: every row says something of every tool, and what it says of Reroll is proved by something that is there.
func TestProofsExist(t *testing.T) {
	var seen []string
	for _, r := range readRows(t) {
		if err := r.check(); err != nil {
			t.Errorf("%s: %v", r.What, err)
		}
		if slices.Contains(seen, r.What) {
			t.Errorf("%s is there twice", r.What)
		}
		seen = append(seen, r.What)
	}
	if len(seen) == 0 {
		t.Error("there are no rows")
	}
}

// TestMissingProofIsFound: the check sees what is not there.
func TestMissingProofIsFound(t *testing.T) {
	others := map[string]string{}
	for _, c := range columns {
		others[c.name] = "no"
	}
	for name, r := range map[string]row{
		"no proof":      {What: "a", Reroll: "yes", Others: others},
		"no file":       {What: "a", Reroll: "yes", Proof: "tests/scenarios/there-is-none.yaml", Others: others},
		"no test":       {What: "a", Reroll: "yes", Proof: "tests/capabilities/capabilities_test.go:TestThereIsNone", Others: others},
		"no scenario":   {What: "a", Reroll: "yes", Proof: "README.md", Others: others},
		"a proof of no": {What: "a", Reroll: "no", Proof: "tests/scenarios/auto.yaml", Others: others},
		"a tool left":   {What: "a", Reroll: "no"},
	} {
		if r.check() == nil {
			t.Errorf("%s passes", name)
		}
	}
}

// table returns rows with the first tools, as a document shows them.
func table(rows []row, tools int, from string) string {
	var b strings.Builder
	b.WriteString("| | Reroll |")
	for _, c := range columns[:tools] {
		b.WriteString(" " + c.title + " |")
	}
	b.WriteString("\n|---|---|" + strings.Repeat("---|", tools) + "\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s |", r.What, r.link(from))
		for _, c := range columns[:tools] {
			b.WriteString(" " + r.Others[c.name] + " |")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// link returns how far Reroll has it, with the way to the proof from a document.
func (r row) link(from string) string {
	file, test, isTest := strings.Cut(r.Proof, ":")
	way := strings.Repeat("../", strings.Count(from, "/")) + file
	switch {
	case file == "":
		return r.Reroll
	case isTest:
		return fmt.Sprintf("[%s](%s %q)", r.Reroll, way, test)
	}
	return fmt.Sprintf("[%s](%s)", r.Reroll, way)
}

// TestTables: the documents have the tables of the rows.
func TestTables(t *testing.T) {
	for _, doc := range tables {
		rows := slices.DeleteFunc(readRows(t), func(r row) bool { return !doc.rows(r) })
		text, err := os.ReadFile(root + doc.file)
		if err != nil {
			t.Fatal(err)
		}
		before, rest, found := strings.Cut(string(text), begin)
		_, after, ended := strings.Cut(rest, end)
		if !found || !ended || len(rows) == 0 {
			t.Fatalf("%s has no place for the table, between %q and %q, or there are no rows", doc.file, begin, end)
		}
		want := before + begin + "\n" + table(rows, doc.tools, doc.file) + "\n" + end + after
		if *update {
			if err := os.WriteFile(root+doc.file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if diff := cmp.Diff(want, string(text)); diff != "" {
			t.Errorf("the table of %s is out of date: go generate ./tests/capabilities (-want +got):\n%s", doc.file, diff)
		}
	}
}
