package values

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Made is what follows from values.yaml.
type Made struct {
	// Schema is values.schema.json, in JSON.
	Schema []byte
	// Readme is README.md, in Markdown.
	Readme []byte
}

// Make makes it from the texts of values.yaml and values.definitions.yaml.
func Make(valuesText, definitionsText []byte) (Made, error) {
	r := reader{used: map[string]bool{}}
	if err := yaml.Unmarshal(definitionsText, &r.definitions); err != nil {
		return Made{}, fmt.Errorf("values.definitions.yaml: %w", err)
	}
	values, err := r.document(valuesText)
	if err != nil {
		return Made{}, fmt.Errorf("values.yaml: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(r.definitions)) {
		if err := r.use(r.definitions[name]); err != nil {
			return Made{}, fmt.Errorf("values.definitions.yaml: %s %w", name, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.definitions)) {
		if !r.used[name] {
			return Made{}, fmt.Errorf("values.definitions.yaml: %s is used nowhere", name)
		}
	}
	text, err := r.schema(values)
	return Made{Schema: text, Readme: readme(values)}, err
}

func (r *reader) schema(values []value) ([]byte, error) {
	top := r.closed(values)
	top["$schema"] = "http://json-schema.org/draft-07/schema#"
	top["title"] = "Values of the reroll chart"
	top["definitions"] = r.definitions
	top["properties"].(map[string]schema)["enabled"] = schema{"type": "boolean", "description": "For the condition of a parent chart; not read here."}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(top)
	return text.Bytes(), err
}

// closed is a map that has these keys and no others.
func (r *reader) closed(values []value) schema {
	properties, required := map[string]schema{}, []string{}
	for _, v := range values {
		s := schema{}
		if v.inside != nil {
			s = r.closed(v.inside)
		}
		maps.Copy(s, v.what)
		if v.meaning != "" {
			s["description"] = v.meaning
		}
		properties[v.key] = s
		if r.required(v) {
			required = append(required, v.key)
		}
	}
	s := schema{"type": "object", "additionalProperties": false, "properties": properties}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// required reports whether a value must be there. It does not have to where its absence means the same as its default, for those who keep the
// values of an older chart, nor where it is a map that Kubernetes judges, which null takes away.
func (r *reader) required(v value) bool {
	if v.inside != nil {
		return true
	}
	switch v.node.Kind {
	case yaml.MappingNode:
		return r.resolve(v.what)["additionalProperties"] == false
	case yaml.SequenceNode:
		return len(v.node.Content) > 0
	default:
		return !slices.Contains([]string{"", "0", "false", "null"}, v.node.Value)
	}
}

// resolve follows a reference.
func (r *reader) resolve(s schema) schema {
	if name, ok := s["$ref"].(string); ok {
		return r.definitions[name[len(reference):]]
	}
	return s
}
