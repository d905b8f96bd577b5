package chart_test

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/tests/line"
)

// keys are the properties of a part of values.schema.json.
type keys struct {
	Properties           map[string]keys `json:"properties"`
	AdditionalProperties *bool           `json:"additionalProperties"`
}

// TestSchemaHasTheValues: each map that the schema spells out has the keys of values.yaml and refuses others. Helm itself holds the values that a
// definition describes against it.
func TestSchemaHasTheValues(t *testing.T) {
	var schema keys
	var values map[string]any
	text, err := os.ReadFile(chart + "/values.schema.json")
	line.Must(t, err)
	line.Must(t, json.Unmarshal(text, &schema))
	readYAML(t, chart+"/values.yaml", &values)
	delete(schema.Properties, "enabled") // of a parent chart, as is global
	delete(schema.Properties, "global")
	compareKeys(t, "values", schema, values)
}

func compareKeys(t *testing.T, path string, schema keys, values map[string]any) {
	t.Helper()
	if diff := cmp.Diff(slices.Sorted(maps.Keys(values)), slices.Sorted(maps.Keys(schema.Properties))); diff != "" {
		t.Errorf("%s (-values.yaml +schema):\n%s", path, diff)
	}
	if schema.AdditionalProperties == nil || *schema.AdditionalProperties {
		t.Errorf("%s: the schema accepts unknown keys", path)
	}
	for name, inner := range schema.Properties {
		if m, ok := values[name].(map[string]any); ok && len(inner.Properties) > 0 {
			compareKeys(t, path+"."+name, inner, m)
		}
	}
}
