package config

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

//go:generate go test . -run ^TestConfigurationDocument$ -update

var update = flag.Bool("update", false, "rewrite the document that is generated from the types")

const (
	document       = "../../../docs/configuration.md"
	generatedBegin = "<!-- The tables down to the next such line are generated: go generate ./cmd/reroll/config -->\n"
	generatedEnd   = "<!-- End of what is generated. -->\n"
)

// TestConfigurationDocument compares the tables of keys with the types and their comments.
func TestConfigurationDocument(t *testing.T) {
	content, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(content), generatedBegin)
	_, after, ended := strings.Cut(rest, generatedEnd)
	if !found || !ended {
		t.Fatalf("%s lacks the lines between which it is generated", document)
	}
	want := before + generatedBegin + tables(t) + generatedEnd + after
	if *update {
		if err := os.WriteFile(document, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(content)); diff != "" {
		t.Errorf("%s is out of date; run go generate ./cmd/reroll/config (-code +document):\n%s", document, diff)
	}
}

// TestExampleIsAccepted loads the document's example of a file.
func TestExampleIsAccepted(t *testing.T) {
	content, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(content), "```yaml\n")
	example, _, ended := strings.Cut(rest, "```")
	if !found || !ended {
		t.Fatalf("%s has no example", document)
	}
	if _, err := loaded(t, example); err != nil {
		t.Error(err)
	}
}

// comments returns what the types and fields of this package are documented with, by Type and Type.Field.
func comments(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, file := range []string{
		"config.go", "../../../dispatcher/turn/brakes.go", "../../../dispatcher/turn/turn.go", "../../../reloader/queue/login.go",
	} {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			decl, ok := n.(*ast.GenDecl)
			if !ok || len(decl.Specs) != 1 {
				return true
			}
			spec, ok := decl.Specs[0].(*ast.TypeSpec)
			if !ok {
				return true
			}
			name := spec.Name.Name
			found[name] = oneLine(decl.Doc.Text())
			if fields, ok := spec.Type.(*ast.StructType); ok {
				for _, f := range fields.Fields.List {
					for _, n := range f.Names {
						found[name+"."+n.Name] = oneLine(f.Doc.Text())
					}
				}
			}
			return false
		})
	}
	return found
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// tables returns a table of the settings that are in no section, and one for each section.
func tables(t *testing.T) string {
	said := comments(t)
	c := Default()
	var b, sections strings.Builder
	b.WriteString("\n| key | meaning |\n|---|---|\n")
	for _, f := range fieldsOf(reflect.ValueOf(&c).Elem()) {
		if !f.isSection() {
			b.WriteString(row(t, said, f))
			continue
		}
		_, sentence, _ := strings.Cut(said[strings.Split(f.Type.String(), ".")[1]], " ")
		fmt.Fprintf(&sections, "\n### %s\n\n`%s` %s\n\n| key | meaning |\n|---|---|\n", f.key(), f.key(), sentence)
		for _, one := range fieldsOf(f.value) {
			if f.key() != "hub" || one.of != "Login" { // those are in the table of nats
				sections.WriteString(row(t, said, one))
			}
		}
	}
	keys := "\n### Keys of annotations\n\nEach name in `reload.annotationKeys`, with the key that it replaces:\n\n"
	for _, name := range sortedNames() {
		keys += fmt.Sprintf("* `%s`: `%s`\n", name, annotationNames[name])
	}
	return b.String() + sections.String() + keys + "\n"
}

// row is the line of one key.
func row(t *testing.T, said map[string]string, f field) string {
	meaning := said[f.of+"."+f.Name]
	if meaning == "" || !strings.HasSuffix(meaning, ".") {
		t.Errorf("%s.%s: %q is not a comment of whole sentences", f.of, f.Name, meaning)
	}
	words := f.Tag.Get("oneOf")
	if words != "" {
		which := " One of `"
		if _, many := f.value.Interface().([]string); many {
			which = " Values: `"
		}
		meaning += which + strings.ReplaceAll(words, ",", "`, `") + "`."
	}
	value := f.text()
	if d, ok := f.value.Interface().(time.Duration); ok && d == 0 {
		value = "0"
	}
	if value == "0" && f.key() == "storeSize" {
		value = ""
	}
	if value == words && value != "" {
		meaning += " Default: all."
	} else if value != "" && value != "[]" && value != "false" {
		meaning += " Default: `" + value + "`."
	}
	return fmt.Sprintf("| `%s` | %s |\n", f.key(), meaning)
}
