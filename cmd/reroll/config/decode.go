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

// place is a setting while it is decoded: its key, and what its field says about it.
type place struct {
	key string
	tag reflect.StructTag
}

// fault says that something is wrong with the value of a node, if it is.
func (p place) fault(n *yaml.Node, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s%s: %w", p.key, line(n), err)
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
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return nil
	}
	if t, ok := v.Addr().Interface().(texts); ok {
		items, err := list(n)
		if err == nil {
			err = t.Parse(items)
		}
		return p.fault(n, err)
	}
	switch v.Kind() {
	case reflect.Struct:
		return decodeStruct(n, v, p)
	case reflect.Slice:
		items, err := list(n)
		if n.Kind == yaml.ScalarNode {
			items = split(n.Value)
		}
		for i := range items {
			if err == nil {
				items[i], err = checked(items[i], p.tag)
			}
		}
		v.Set(reflect.ValueOf(items))
		return p.fault(n, err)
	case reflect.Map:
		if n.Decode(v.Addr().Interface()) != nil {
			return p.fault(n, errors.New("it must have keys with a text each"))
		}
		return p.fault(n, v.Interface().(AnnotationKeys).check())
	}
	if n.Kind != yaml.ScalarNode {
		return p.fault(n, errors.New("it must be a single value"))
	}
	return p.fault(n, decodeScalar(n, v, p.tag))
}

// wanted says what a value must be.
var wanted = map[reflect.Kind]string{reflect.Int: "a whole number from 0", reflect.Float32: "a number above 0", reflect.Bool: "true or false"}

func decodeScalar(n *yaml.Node, v reflect.Value, tag reflect.StructTag) (err error) {
	switch value := v.Addr().Interface().(type) {
	case *string:
		*value, err = checked(n.Value, tag)
	case *time.Duration:
		*value, err = time.ParseDuration(n.Value)
		least, _ := time.ParseDuration(tag.Get("min"))
		switch d := *value; {
		case err != nil:
			err = fmt.Errorf("%.40q is not a duration such as 500ms or 10m", n.Value)
		case d < 0:
			err = fmt.Errorf("%s is negative", d)
		case d > 0 && d < least:
			err = fmt.Errorf("%s is neither 0 nor at least %s", d, least)
		}
	default:
		if n.Decode(value) != nil || v.CanInt() && v.Int() < 0 || v.CanFloat() && !(v.Float() > 0 && v.Float() <= math.MaxFloat32) {
			err = fmt.Errorf("%.40q is not %s", n.Value, wanted[v.Kind()])
		}
	}
	return err
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

func decodeStruct(n *yaml.Node, v reflect.Value, p place) error {
	if n.Kind != yaml.MappingNode {
		return p.fault(n, errors.New("it must have keys"))
	}
	fields := fieldsOf(v)
	var errs []error
	seen := map[string]bool{}
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		at := slices.IndexFunc(fields, func(f Field) bool { return f.Name == key.Value })
		switch {
		case seen[key.Value]:
			errs = append(errs, fmt.Errorf("key %q is there a second time%s", key.Value, line(key)))
		case at < 0:
			errs = append(errs, fmt.Errorf("unknown key %.80q%s", key.Value, line(key)))
		default:
			errs = append(errs, decode(value, fields[at].value, place{join(p.key, key.Value), fields[at].tag}))
		}
		seen[key.Value] = true
	}
	return errors.Join(errs...)
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
