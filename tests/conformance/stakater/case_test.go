package stakater_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/tests/conformance/stakater"
)

// TestDocument: the page is the one that the cases give.
func TestDocument(t *testing.T) {
	want, err := stakater.Table()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../../docs/compatibility.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/compatibility.md is out of date: go generate mends it")
	}
}

// TestOperations: what is said to be shown by a test is shown by one that exists, and every section says something.
func TestOperations(t *testing.T) {
	shown, err := stakater.Operations()
	if err != nil {
		t.Fatal(err)
	}
	tests := testNames(t)
	said := map[string]bool{}
	for _, s := range shown {
		if !tests[s.Test] {
			t.Errorf("there is no %s", s.Test)
		}
		said[s.Section] = true
	}
	cases, err := stakater.Cases()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		said[c.Section] = true
	}
	for _, s := range stakater.Sections {
		if !said[s.Number] {
			t.Errorf("nothing is said about section %s, %s", s.Number, s.Title)
		}
	}
}

// TestSources: a source names lines of files that were read, and every such file is named by a row.
func TestSources(t *testing.T) {
	for _, faulty := range []string{
		"pkg/common/common.go", "pkg/common/common.go:", "pkg/common/common.go:0", "pkg/common/common.go:9-", "pkg/common/common.go:9-9", "pkg/common/common.go:9-8",
		"pkg/common/common.go:1000", "pkg/common/common.go:9-1000", "pkg/common/other.go:9", ":9", "seen", "observed,observed", "observed, ", " ",
		strings.TrimSuffix(strings.Repeat("observed, ", 7), ", "),
	} {
		if places, err := stakater.Places(faulty); err == nil {
			t.Errorf("the source %q is taken for %v", faulty, places)
		}
	}
	cases, err := stakater.Cases()
	if err != nil {
		t.Fatal(err)
	}
	shown, err := stakater.Operations()
	if err != nil {
		t.Fatal(err)
	}
	var all []stakater.Head
	for _, c := range cases {
		all = append(all, c.Head)
	}
	for _, s := range shown {
		all = append(all, s.Head)
	}
	named := map[string]bool{}
	for _, h := range all {
		places, err := stakater.Places(h.Source)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range places {
			named[p.Path] = true
		}
	}
	for path := range stakater.Read {
		if !named[path] {
			t.Errorf("%s was read, and no row names it", path)
		}
	}
}

// TestPlace: a place is a link to its lines at the commit of its file.
func TestPlace(t *testing.T) {
	const at = stakater.Repository + "/blob/4471a45591ef6884f9aed1e973b2b88e85294975/pkg/common/common.go#"
	places, err := stakater.Places("pkg/common/common.go:279, pkg/common/common.go:231-236, observed")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(places), "[[common.go:279]("+at+"L279) [common.go:231-236]("+at+"L231-L236) observed]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func testNames(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				names[f.Name.Name] = true
			}
		}
	}
	return names
}
