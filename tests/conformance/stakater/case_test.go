package stakater_test

import (
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
