package values

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// opening is what README.md says before the table.
//
//go:embed readme.md
var opening string

// readme returns README.md: the opening, and a row for each value.
func readme(values []value) []byte {
	var b strings.Builder
	b.WriteString(opening)
	b.WriteString("\n| value | default | meaning |\n|---|---|---|\n")
	rows(&b, values)
	return []byte(b.String())
}

func rows(b *strings.Builder, values []value) {
	for _, v := range values {
		byDefault := ""
		if v.inside == nil {
			byDefault = "`" + flow(v.node) + "`"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", v.path, cell(byDefault), cell(strings.TrimSpace(v.meaning+" "+choices(v.what))))
		rows(b, v.inside)
	}
}

// cell keeps a text from ending its cell, and what is in angle brackets from being taken for HTML.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", `\<`).Replace(text)
}

// choices returns the words of which a value, or each part of a list, is one.
func choices(s schema) string {
	begin := "One of "
	if items, ok := s["items"].(schema); ok {
		begin, s = "Each is one of ", items
	}
	list, _ := s["enum"].([]any)
	var words []string
	for _, word := range list {
		if word != "" {
			words = append(words, fmt.Sprintf("`%v`", word))
		}
	}
	if words == nil {
		return ""
	}
	return begin + strings.Join(words, ", ") + "."
}

// flow returns a default in one line, without what is empty in it.
func flow(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		var parts []string
		for pair := range slices.Chunk(n.Content, 2) {
			if part := flow(pair[1]); !slices.Contains([]string{`""`, "{}", "[]"}, part) {
				parts = append(parts, pair[0].Value+": "+part)
			}
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case yaml.SequenceNode:
		var parts []string
		for _, item := range n.Content {
			parts = append(parts, flow(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	if n.Style == yaml.DoubleQuotedStyle {
		return `"` + n.Value + `"`
	}
	return n.Value
}
