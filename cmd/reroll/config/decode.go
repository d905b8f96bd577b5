package config

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/reroll-dev/reroll/reloader/near"
)

// place is a setting while it is decoded: its key, and what its field says about it.
type place struct {
	key string
	tag reflect.StructTag
}

// fault says what is wrong with the value of a node.
func (p place) fault(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("%s%s: %w", p.key, line(n), fmt.Errorf(format, args...))
}

// line says where a node is; nothing if it is in no file.
func line(n *yaml.Node) string {
	if n.Line == 0 {
		return ""
	}
	return fmt.Sprintf(" at line %d", n.Line)
}

// decode sets what a node says, and reports each fault.
func decode(n *yaml.Node, v reflect.Value, p place) error {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return nil
	}
	if t, ok := v.Addr().Interface().(texts); ok {
		items, err := list(n, p)
		if err == nil {
			if err = t.Parse(items); err != nil {
				err = p.fault(n, "%w", err)
			}
		}
		return err
	}
	switch v.Kind() {
	case reflect.Struct:
		return decodeStruct(n, v, p)
	case reflect.Map:
		return decodeKeys(n, v, p)
	case reflect.Slice:
		items, err := list(n, p)
		if err != nil {
			return err
		}
		if n.Kind == yaml.ScalarNode {
			items = split(n.Value)
		}
		for i := range items {
			if items[i], err = checked(items[i], p.tag); err != nil {
				return p.fault(n, "%w", err)
			}
		}
		v.Set(reflect.ValueOf(items))
		return nil
	}
	if n.Kind != yaml.ScalarNode {
		return p.fault(n, "it must be a single value")
	}
	return decodeScalar(n, v, p)
}

// decodeScalar sets a single value.
func decodeScalar(n *yaml.Node, v reflect.Value, p place) error {
	if v.Type() == reflect.TypeFor[time.Duration]() {
		d, err := time.ParseDuration(n.Value)
		if err != nil {
			return p.fault(n, "%.40q is not a duration such as 500ms or 10m", n.Value)
		}
		if d < 0 {
			return p.fault(n, "%s is negative", d)
		}
		if least, _ := time.ParseDuration(p.tag.Get("min")); d > 0 && d < least {
			return p.fault(n, "%s is neither 0 nor at least %s", d, least)
		}
		v.SetInt(int64(d))
		return nil
	}
	switch v.Kind() {
	case reflect.Bool:
		if n.Value != "true" && n.Value != "false" {
			return p.fault(n, "%.40q is not true or false", n.Value)
		}
		v.SetBool(n.Value == "true")
	case reflect.Int:
		i, err := strconv.Atoi(n.Value)
		if err != nil || i < 0 {
			return p.fault(n, "%.40q is not a whole number from 0", n.Value)
		}
		v.SetInt(int64(i))
	case reflect.Float32:
		f, err := strconv.ParseFloat(n.Value, 32)
		if err != nil || !(f > 0) || math.IsInf(f, 1) {
			return p.fault(n, "%.40q is not a number above 0", n.Value)
		}
		v.SetFloat(f)
	default:
		if n.Tag != "!!str" {
			return p.fault(n, "%s must be text: put it in quotes", n.Value)
		}
		text, err := checked(n.Value, p.tag)
		if err != nil {
			return p.fault(n, "%w", err)
		}
		v.SetString(text)
	}
	return nil
}

// checked returns a text as its field wants it, or what is wrong with it.
func checked(text string, tag reflect.StructTag) (string, error) {
	if words := tag.Get("oneOf"); words != "" {
		all := strings.Split(words, ",")
		i := slices.IndexFunc(all, func(word string) bool { return strings.EqualFold(word, text) })
		if i < 0 {
			return "", fmt.Errorf("%.40q is not one of %s", text, strings.Join(all, ", "))
		}
		return all[i], nil
	}
	if check := checks[tag.Get("is")]; check != nil && text != "" {
		return text, check(text)
	}
	return text, nil
}

// list returns the texts of a sequence, or of a single value.
func list(n *yaml.Node, p place) ([]string, error) {
	if n.Kind == yaml.ScalarNode {
		return []string{n.Value}, nil
	}
	if n.Kind != yaml.SequenceNode {
		return nil, p.fault(n, "it must be a list")
	}
	items := make([]string, len(n.Content))
	for i, item := range n.Content {
		if item.Kind != yaml.ScalarNode || item.Tag != "!!str" {
			return nil, p.fault(item, "it must be a list of texts: put each in quotes")
		}
		items[i] = item.Value
	}
	return items, nil
}

// split returns the texts between commas, without the spaces around them.
func split(text string) (items []string) {
	for _, item := range strings.Split(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

// decodeStruct sets the fields that a mapping names.
func decodeStruct(n *yaml.Node, v reflect.Value, p place) error {
	fields := fieldsOf(v)
	return decodeMapping(n, p, func(key, value *yaml.Node) error {
		i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == key.Value })
		if i < 0 {
			return unknown(key, namesOf(fields))
		}
		return decode(value, fields[i].value, place{join(p.key, key.Value), fields[i].tag})
	})
}

// decodeKeys sets the keys of annotations.
func decodeKeys(n *yaml.Node, v reflect.Value, p place) error {
	keys := AnnotationKeys{}
	for name, key := range v.Interface().(AnnotationKeys) {
		keys[name] = key
	}
	err := decodeMapping(n, p, func(key, value *yaml.Node) error {
		if _, ok := annotationNames[key.Value]; !ok {
			return unknown(key, sortedNames())
		}
		if value.Kind != yaml.ScalarNode {
			return place{key: join(p.key, key.Value)}.fault(value, "it must be a single value")
		}
		keys[key.Value] = value.Value
		if err := (AnnotationKeys{key.Value: value.Value}).check(); err != nil {
			return place{key: join(p.key, key.Value)}.fault(value, "%w", err)
		}
		return nil
	})
	v.Set(reflect.ValueOf(keys))
	return err
}

// decodeMapping calls set for each key of a mapping, and reports those that it has twice.
func decodeMapping(n *yaml.Node, p place, set func(key, value *yaml.Node) error) error {
	if n.Kind != yaml.MappingNode {
		return p.fault(n, "it must have keys")
	}
	var errs []error
	seen := map[string]bool{}
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		if seen[key.Value] {
			errs = append(errs, fmt.Errorf("key %q is there a second time%s", key.Value, line(key)))
			continue
		}
		seen[key.Value] = true
		errs = append(errs, set(key, n.Content[i+1]))
	}
	return errors.Join(errs...)
}

// unknown refuses a key, and names the one that may be meant.
func unknown(key *yaml.Node, names []string) error {
	text := fmt.Sprintf("unknown key %.80q%s", key.Value, line(key))
	if word, ok := near.Word(key.Value, names); ok {
		text += fmt.Sprintf("; did you mean %q?", word)
	}
	return errors.New(text)
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
