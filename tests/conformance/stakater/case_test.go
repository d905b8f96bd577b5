package stakater_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/tests/conformance/stakater"
)

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
