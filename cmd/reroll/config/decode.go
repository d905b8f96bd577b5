package config

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// field is a key of the file, which its tag names. A section has fields of its own.
type field struct {
	reflect.StructField
	value reflect.Value
	// of is the type that has it.
	of string
}

func (f field) key() string { return f.Tag.Get("yaml") }

// isSection reports whether f has fields of its own.
func (f field) isSection() bool {
	_, single := f.value.Addr().Interface().(texts)
	return f.value.Kind() == reflect.Struct && !single
}

// fieldsOf returns the keys of a section, in order. Those of an embedded type belong to it.
func fieldsOf(section reflect.Value) (fields []field) {
	for i := range section.NumField() {
		f := field{section.Type().Field(i), section.Field(i), section.Type().Name()}
		switch {
		case f.Anonymous:
			fields = append(fields, fieldsOf(f.value)...)
		case f.key() != "-":
			fields = append(fields, f)
		}
	}
	return fields
}

// fieldNamed returns the field of a section that has a key.
func fieldNamed(section reflect.Value, key string) (f field, known bool) {
	fields := fieldsOf(section)
	if i := slices.IndexFunc(fields, func(f field) bool { return f.key() == key }); i >= 0 {
		return fields[i], true
	}
	return f, false
}

// line says where a node is; nothing if it is in no file.
func line(n *yaml.Node) string {
	if n.Line == 0 {
		return ""
	}
	return fmt.Sprintf(" at line %d", n.Line)
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// decode sets the keys of a section to what a node says, and reports each fault. path is that of the section.
func decode(n *yaml.Node, section reflect.Value, path string) error {
	switch {
	case isNull(n):
		return nil
	case n.Kind != yaml.MappingNode:
		return fmt.Errorf("%s%s: it must have keys", path, line(n))
	}
	var errs []error
	seen := map[string]bool{}
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		f, known := fieldNamed(section, key.Value)
		full := strings.TrimPrefix(path+"."+key.Value, ".")
		switch {
		case seen[key.Value]:
			errs = append(errs, fmt.Errorf("key %q is there a second time%s", key.Value, line(key)))
		case !known:
			errs = append(errs, fmt.Errorf("unknown key %.80q%s", key.Value, line(key)))
		case f.isSection():
			errs = append(errs, decode(value, f.value, full))
		case !isNull(value):
			if err := f.set(value); err != nil {
				errs = append(errs, fmt.Errorf("%s%s: %w", full, line(value), err))
			}
		}
		seen[key.Value] = true
	}
	return errors.Join(errs...)
}

// wanted says what a value must be.
var wanted = map[reflect.Kind]string{reflect.Int: "a whole number from 0", reflect.Float32: "a number above 0", reflect.Bool: "true or false"}

// set gives a single setting the value of a node.
func (f field) set(n *yaml.Node) error {
	v := f.value
	switch value := v.Addr().Interface().(type) {
	case texts:
		items, err := list(n)
		if err != nil {
			return err
		}
		return value.Parse(items)
	case *[]string:
		items, err := list(n)
		if n.Kind == yaml.ScalarNode {
			items = split(n.Value)
		}
		for i := range items {
			if err == nil {
				items[i], err = f.checked(items[i])
			}
		}
		*value = items
		return err
	case *AnnotationKeys:
		if n.Decode(value) != nil {
			return errors.New("it must have keys with a text each")
		}
		return value.check()
	}
	if n.Kind != yaml.ScalarNode {
		return errors.New("it must be a single value")
	}
	switch value := v.Addr().Interface().(type) {
	case *string:
		text, err := f.checked(n.Value)
		*value = text
		return err
	case *time.Duration:
		d, err := time.ParseDuration(n.Value)
		least, _ := time.ParseDuration(f.Tag.Get("min"))
		*value = d
		switch {
		case err != nil:
			return fmt.Errorf("%.40q is not a duration such as 500ms or 10m", n.Value)
		case d < 0:
			return fmt.Errorf("%s is negative", d)
		case d > 0 && d < least:
			return fmt.Errorf("%s is neither 0 nor at least %s", d, least)
		}
	default:
		if n.Decode(value) != nil || v.CanInt() && v.Int() < 0 || v.CanFloat() && !(v.Float() > 0 && v.Float() <= math.MaxFloat32) {
			return fmt.Errorf("%.40q is not %s", n.Value, wanted[v.Kind()])
		}
	}
	return nil
}

// checked returns a text as f wants it, or what is wrong with it.
func (f field) checked(text string) (string, error) {
	if words := f.Tag.Get("oneOf"); words != "" {
		all := strings.Split(words, ",")
		i := slices.IndexFunc(all, func(word string) bool { return strings.EqualFold(word, text) })
		if i < 0 {
			return "", fmt.Errorf("%.40q is not one of %s", text, strings.Join(all, ", "))
		}
		return all[i], nil
	}
	if check := checks[f.Tag.Get("is")]; check != nil && text != "" {
		return text, check(text)
	}
	return text, nil
}

// list returns the texts of a sequence, or of a single value.
func list(n *yaml.Node) (items []string, err error) {
	if n.Kind == yaml.ScalarNode {
		return []string{n.Value}, nil
	}
	if n.Decode(&items) != nil {
		return nil, errors.New("it must be a list of texts")
	}
	return items, nil
}

func split(text string) (items []string) {
	for _, item := range strings.Split(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}
