package digest

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/reloader"
)

// Section is the field of a config that an entry stands in.
type Section byte

// The sections. Their numbers are part of every digest.
const (
	Data       Section = 1
	BinaryData Section = 2
	// Others are the objects of a SecretProviderClass, each with its version, or the fields of an object of any other kind, as JSON.
	Others Section = 3
)

// Content is what a config holds, on its way from the reader to a digest. It cannot be printed, logged or encoded:
// every attempt gives the same placeholder. The zero Content stands for an absent config.
//
// A Content shares memory with the object it was made of; neither may be changed afterwards.
type Content struct {
	config   reloader.Config
	sections []map[string][]byte
}

// OfConfigMap returns the content of cm: data and binaryData.
func OfConfigMap(cm *corev1.ConfigMap) Content {
	id := reloader.Config{Kind: reloader.ConfigMap, Namespace: cm.Namespace, Name: cm.Name}
	return Content{id, []map[string][]byte{Data: asBytes(cm.Data), BinaryData: cm.BinaryData}}
}

// OfSecret returns the content of s: its decoded data, without its type.
func OfSecret(s *corev1.Secret) Content {
	id := reloader.Config{Kind: reloader.Secret, Namespace: s.Namespace, Name: s.Name}
	return Content{id, []map[string][]byte{Data: s.Data}}
}

// OfProviderClass returns the content of a SecretProviderClass: the version of each of its objects by the object's ID.
func OfProviderClass(namespace, name string, versions map[string]string) Content {
	id := reloader.Config{Kind: reloader.SecretProviderClass, Namespace: namespace, Name: name}
	return Content{id, []map[string][]byte{Others: asBytes(versions)}}
}

// OfFields returns the content of an object of any other kind: field.key for each key of its content fields, or the field itself if it has no keys.
// An absent field is like an empty one.
func OfFields(config reloader.Config, object map[string]any) Content {
	values := map[string][]byte{}
	add := func(key string, value any) { values[key], _ = json.Marshal(value) } // it was decoded from JSON, and keys are sorted
	for _, field := range config.Kind.Info().Content {
		switch value := object[field].(type) {
		case nil:
		case map[string]any:
			for key, v := range value {
				add(field+"."+key, v)
			}
		default:
			add(field, value)
		}
	}
	return Content{config, []map[string][]byte{Others: values}}
}

func asBytes(texts map[string]string) map[string][]byte {
	values := make(map[string][]byte, len(texts))
	for k, text := range texts {
		values[k] = []byte(text)
	}
	return values
}

// Config returns what c is the content of.
func (c Content) Config() reloader.Config { return c.config }

// IsZero reports whether c stands for an absent config. A config that exists and is empty is not zero.
func (c Content) IsZero() bool { return c.config == reloader.Config{} }

// Each calls visit for every entry: section by section, and inside one section sorted by key. It exists for hashing alone: visit
// must not keep, change or pass on value.
func (c Content) Each(visit func(section Section, key string, value []byte)) {
	for section, values := range c.sections {
		for _, k := range slices.Sorted(maps.Keys(values)) {
			visit(Section(section), k, values[k])
		}
	}
}

// Size returns about how many bytes c holds.
func (c Content) Size() (size int64) {
	c.Each(func(_ Section, key string, value []byte) { size += int64(len(key) + len(value)) })
	return size
}

const redacted = "[content withheld]"

// String returns a placeholder.
func (Content) String() string { return redacted }

// Format writes a placeholder whatever the verb.
func (Content) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// LogValue returns a placeholder.
func (Content) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalJSON returns a placeholder.
func (Content) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }
