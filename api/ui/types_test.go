package ui

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"testing"
)

var (
	tsInterface = regexp.MustCompile(`(?ms)^export interface (\w+)(<T>)?[^{\n]*\{\n(.*?)\n\}`)
	tsField     = regexp.MustCompile(`(?m)^  (\w+)(\?)?:`)
)

// The schemas of what src names otherwise.
var schemaNames = map[string]string{"List": "ListWorkload", "Dependency": "Edge"}

// TestTypesAreThoseOfTheAPI: the dashboard reads no property that the API does not have, and takes none for granted that may be absent.
func TestTypesAreThoseOfTheAPI(t *testing.T) {
	var document struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]any
				Required   []string
			}
		}
	}
	data, err := os.ReadFile("../openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &document); err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("src/lib/types.ts")
	if err != nil {
		t.Fatal(err)
	}
	fields := 0
	for _, declared := range tsInterface.FindAllStringSubmatch(string(source), -1) {
		name := declared[1]
		if other, ok := schemaNames[name]; ok {
			name = other
		}
		schema, ok := document.Components.Schemas[name]
		if !ok {
			t.Errorf("the API has no schema %s", name)
			continue
		}
		for _, field := range tsField.FindAllStringSubmatch(declared[3], -1) {
			fields++
			property, optional := field[1], field[2] != ""
			if _, ok := schema.Properties[property]; !ok {
				t.Errorf("%s of the API has no property %s", name, property)
			} else if required := slices.Contains(schema.Required, property); required == optional {
				t.Errorf("property %s of %s: required is %t in the API, optional is %t in types.ts", property, name, required, optional)
			}
		}
	}
	if fields < 100 {
		t.Errorf("only %d properties were found in types.ts", fields)
	}
}
