package values

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

//go:generate go test . -run ^TestMadeOfValues$ -update

var update = flag.Bool("update", false, "write what follows from values.yaml")

const chart = "../../../helm/reroll/"

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(chart + name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestMadeOfValues: schema and table are those of values.yaml.
func TestMadeOfValues(t *testing.T) {
	made, err := Make(read(t, "values.yaml"), read(t, "values.definitions.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]byte{"values.schema.json": made.Schema, "README.md": made.Readme} {
		if *update {
			if err := os.WriteFile(chart+name, want, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if diff := cmp.Diff(string(want), string(read(t, name))); diff != "" {
			t.Errorf("%s is out of date (go generate ./tests/chart/values mends it):\n%s", name, diff)
		}
	}
}

// TestReasonsToRefuse: a value of which nobody can tell what it means or may be stops the making.
func TestReasonsToRefuse(t *testing.T) {
	const definitions = "port: {type: integer}\n"
	for name, tc := range map[string]struct{ values, definitions, says string }{
		"no meaning":            {"a: 1 # @schema port\n", definitions, "has no meaning"},
		"no schema":             {"# A.\na: 1\n", definitions, "does not say what it may be"},
		"an open map":           {"# A.\na: {}\n", definitions, "does not say what it may be"},
		"a list of anything":    {"# A.\na: []\n", definitions, "does not say what it may be"},
		"a misspelt name":       {"# A.\na: 1 # @schema prt\n", definitions, `"prt", which is no definition`},
		"a plain comment":       {"# A.\na: 1 # the first\n", definitions, `does not begin with "# @schema "`},
		"a reference to nobody": {"# A.\na: 1 # @schema {$ref: '#/definitions/prt'}\n", definitions, "refers to"},
		"a lost comment":        {"# A.\na: 1 # @schema port\n# Of nothing.\n\n# B.\nb: true\n", definitions, "belongs to no value"},
		"in a map":              {"# A.\na:\n  b: 1\n", definitions, "a.b does not say"},
		"nobody uses it":        {"# A.\na: true\n", definitions, "port is used nowhere"},
		"loose definitions":     {"# A.\na: 1 # @schema port\n", definitions + "ports: {items: {$ref: port}}\n", "ports refers to"},
		"nothing":               {"", definitions, "there are no values"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Make([]byte(tc.values), []byte(tc.definitions)); err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("error %v, which does not say %q", err, tc.says)
			}
		})
	}
}

// TestWhatIsMade: of a small chart.
func TestWhatIsMade(t *testing.T) {
	made, err := Make([]byte(`# About the file.

# How many | of
# <name>.
replicas: 2 # @schema count
# Where to.
place:
  # Its kind.
  kind: "" # @schema {enum: ["", a, b]}
  # Which kinds.
  kinds: [a] # @schema {type: array, items: {enum: [a, b]}}
  port: 1 # @schema {$ref: '#/definitions/count'}
  off: false
# Of Kubernetes.
resources: {cpu: 1, memory: ""} # @schema anything
`), []byte("count: {type: integer, minimum: 0}\nanything: {type: object}\n"))
	if err != nil {
		t.Fatal(err)
	}
	const schema = `{
  "$schema": "http://json-schema.org/draft-07/schema#",
  "additionalProperties": false,
  "definitions": {
    "anything": {
      "type": "object"
    },
    "count": {
      "minimum": 0,
      "type": "integer"
    }
  },
  "properties": {
    "enabled": {
      "description": "For the condition of a parent chart; not read here.",
      "type": "boolean"
    },
    "place": {
      "additionalProperties": false,
      "description": "Where to.",
      "properties": {
        "kind": {
          "description": "Its kind.",
          "enum": [
            "",
            "a",
            "b"
          ]
        },
        "kinds": {
          "description": "Which kinds.",
          "items": {
            "enum": [
              "a",
              "b"
            ]
          },
          "type": "array"
        },
        "off": {
          "type": "boolean"
        },
        "port": {
          "$ref": "#/definitions/count"
        }
      },
      "required": [
        "kinds",
        "port"
      ],
      "type": "object"
    },
    "replicas": {
      "$ref": "#/definitions/count",
      "description": "How many | of <name>."
    },
    "resources": {
      "$ref": "#/definitions/anything",
      "description": "Of Kubernetes."
    }
  },
  "required": [
    "replicas",
    "place"
  ],
  "title": "Values of the reroll chart",
  "type": "object"
}
`
	if diff := cmp.Diff(schema, string(made.Schema)); diff != "" {
		t.Errorf("schema (-want +got):\n%s", diff)
	}
	const rows = `
| value | default | meaning |
|---|---|---|
| ` + "`replicas` | `2`" + ` | How many \| of \<name>. |
| ` + "`place` |  | Where to. |\n| `place.kind` | `\"\"` | Its kind. One of `a`, `b`. |\n| `place.kinds` | `[a]` | Which kinds. Each is one of `a`, `b`. |\n| `place.port` | `1` |  |\n| `place.off` | `false` |  |\n" +
		"| `resources` | `{cpu: 1}` | Of Kubernetes. |\n"
	if got, found := bytes.CutPrefix(made.Readme, []byte(opening)); !found || string(got) != rows {
		t.Errorf("table (-want +got):\n%s", cmp.Diff(rows, string(got)))
	}
}
