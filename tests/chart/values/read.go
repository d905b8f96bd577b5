package values

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// value is one key of values.yaml.
type value struct {
	path, key, meaning string
	// what is what the value may be, by itself; nil for a map whose keys are here.
	what schema
	// inside are the keys of a map that says nothing else about itself.
	inside []value
	node   *yaml.Node
}

// schema is a JSON schema.
type schema map[string]any

// mark begins what is said behind a value.
const mark = "# @schema "

// reader reads values.yaml with the definitions of values.definitions.yaml.
type reader struct {
	definitions map[string]schema
	used        map[string]bool
}

// types are those of JSON Schema that a value may be without further words.
var types = []string{"string", "integer", "number"}

func (r *reader) document(text []byte) ([]value, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	if len(document.Content) != 1 || document.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("there are no values")
	}
	return r.mapping(document.Content[0], "", false)
}

// mapping reads the keys of a map; covered says that a map around it has a meaning.
func (r *reader) mapping(m *yaml.Node, prefix string, covered bool) ([]value, error) {
	var found []value
	for pair := range slices.Chunk(m.Content, 2) {
		v, err := r.value(pair[0], pair[1], prefix, covered)
		if err != nil {
			return nil, fmt.Errorf("line %d: %s%s %w", pair[0].Line, prefix, pair[0].Value, err)
		}
		found = append(found, v)
	}
	return found, nil
}

func (r *reader) value(key, node *yaml.Node, prefix string, covered bool) (value, error) {
	v := value{path: prefix + key.Value, key: key.Value, meaning: prose(key.HeadComment), node: node}
	if key.FootComment != "" || node.FootComment != "" {
		return v, errors.New("has a comment after it that belongs to no value")
	}
	if v.meaning == "" && !covered {
		return v, errors.New("has no meaning: say it in front of it")
	}
	said := key.LineComment + node.LineComment
	var err error
	switch {
	case said != "":
		v.what, err = r.what(said)
	case node.Kind == yaml.MappingNode && len(node.Content) > 0:
		v.inside, err = r.mapping(node, v.path+".", true)
	case node.Tag == "!!bool":
		v.what = schema{"type": "boolean"}
	default:
		err = fmt.Errorf("does not say what it may be: %q behind it, and a name or a schema", mark)
	}
	return v, err
}

// prose returns a comment as running text. The first comment of the file stands before one about a key, with an empty line between them.
func prose(comment string) string {
	if i := strings.LastIndex(comment, "\n\n"); i >= 0 {
		comment = comment[i:]
	}
	var words []string
	for line := range strings.Lines(comment) {
		words = append(words, strings.Fields(strings.TrimPrefix(line, "#"))...)
	}
	return strings.Join(words, " ")
}

// what reads what a value may be.
func (r *reader) what(said string) (schema, error) {
	text, ours := strings.CutPrefix(said, mark)
	if !ours {
		return nil, fmt.Errorf("has %q behind it, which does not begin with %q", said, mark)
	}
	if r.definitions[text] != nil {
		r.used[text] = true
		return schema{"$ref": reference + text}, nil
	}
	if slices.Contains(types, text) {
		return schema{"type": text}, nil
	}
	var s schema
	if err := yaml.Unmarshal([]byte(text), &s); err != nil || len(s) == 0 {
		return nil, fmt.Errorf("may be %q, which is no definition, no type and no schema", text)
	}
	return s, r.use(s)
}

// reference begins the reference to a definition.
const reference = "#/definitions/"

// use notes the definitions that a schema refers to.
func (r *reader) use(part any) error {
	switch p := part.(type) {
	case schema:
		return r.use(map[string]any(p))
	case map[string]any:
		for key, inner := range p {
			if name, ok := inner.(string); ok && key == "$ref" {
				name, ours := strings.CutPrefix(name, reference)
				if !ours || r.definitions[name] == nil {
					return fmt.Errorf("refers to %q, which is no definition", inner)
				}
				r.used[name] = true
				continue
			}
			if err := r.use(inner); err != nil {
				return err
			}
		}
	case []any:
		for _, inner := range p {
			if err := r.use(inner); err != nil {
				return err
			}
		}
	}
	return nil
}
