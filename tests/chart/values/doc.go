// Package values makes what follows from the chart's values.yaml: the schema that helm holds values against, and the table of values in the
// chart's README.md.
//
// In values.yaml, the text in front of a key is its meaning, and "# @schema" behind its value says what it may be: a name of
// values.definitions.yaml, a type of JSON Schema, or a JSON schema in one line of YAML. Without that, a boolean may be a boolean, and a map
// has the keys that are there and no others; anything else is an error. A value has a meaning, or is in a map that has one.
package values
