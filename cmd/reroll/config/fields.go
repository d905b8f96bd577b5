package config

import (
	"maps"
	"reflect"
	"slices"
)

// Field is a key of the file. A section has fields of its own.
type Field struct {
	// Name is the last part of the key.
	Name string
	// Type and Go are the names of the type and the field.
	Type, Go string
	// Words are all that it may be; empty if it may be anything.
	Words string
	value reflect.Value
	tag   reflect.StructTag
}

// fieldsOf returns the keys of a section, in order. Those of an embedded type belong to it.
func fieldsOf(v reflect.Value) (fields []Field) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name := f.Tag.Get("yaml")
		switch {
		case f.Anonymous:
			fields = append(fields, fieldsOf(v.Field(i))...)
		case name != "-":
			fields = append(fields, Field{
				Name: name, Type: v.Type().Name(), Go: f.Name, Words: f.Tag.Get("oneOf"), value: v.Field(i), tag: f.Tag,
			})
		}
	}
	return fields
}

// Fields returns the keys of c, or of a section of it.
func (c *Config) Fields() []Field { return fieldsOf(reflect.ValueOf(c).Elem()) }

// Fields returns the keys of a section; none if it is a single setting.
func (f Field) Fields() []Field {
	if _, ok := f.value.Addr().Interface().(texts); ok || f.value.Kind() != reflect.Struct {
		return nil
	}
	return fieldsOf(f.value)
}

// Value returns what the key is set to.
func (f Field) Value() any { return f.value.Interface() }

func sortedNames() []string { return slices.Sorted(maps.Keys(annotationNames)) }
