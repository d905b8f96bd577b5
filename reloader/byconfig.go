package reloader

import (
	"cmp"
	"iter"
	"slices"
)

// ByConfig has a value for each of some configs, in the order of Config.Compare. Most workloads depend on one or two, and a map has room for
// eight. Readers may share one while Set and Delete are not called.
type ByConfig[V any] []OfConfig[V]

// OfConfig is the value of one config.
type OfConfig[V any] struct {
	Config Config
	Value  V
}

// ByConfigOf returns the values of a map.
func ByConfigOf[V any](values map[Config]V) ByConfig[V] {
	b := make(ByConfig[V], 0, len(values))
	for c, v := range values {
		b = append(b, OfConfig[V]{c, v})
	}
	slices.SortFunc(b, func(x, y OfConfig[V]) int { return x.Config.Compare(y.Config) })
	return b
}

func (b ByConfig[V]) search(c Config) (int, bool) {
	return slices.BinarySearchFunc(b, c, func(of OfConfig[V], c Config) int { return of.Config.Compare(c) })
}

// Find returns the value of c, and whether it has one.
func (b ByConfig[V]) Find(c Config) (v V, found bool) {
	i, found := b.search(c)
	if found {
		v = b[i].Value
	}
	return v, found
}

// Get returns the value of c; the zero value if it has none.
func (b ByConfig[V]) Get(c Config) V {
	v, _ := b.Find(c)
	return v
}

// All yields each config with its value.
func (b ByConfig[V]) All() iter.Seq2[Config, V] {
	return func(yield func(Config, V) bool) {
		for _, of := range b {
			if !yield(of.Config, of.Value) {
				return
			}
		}
	}
}

// Set gives c a value.
func (b *ByConfig[V]) Set(c Config, v V) {
	i, found := b.search(c)
	if found {
		(*b)[i].Value = v
		return
	}
	if *b == nil {
		*b = make(ByConfig[V], 0, 1)
	}
	*b = slices.Insert(*b, i, OfConfig[V]{c, v})
}

// Delete takes the value of c away.
func (b *ByConfig[V]) Delete(c Config) {
	if i, found := b.search(c); found {
		*b = slices.Delete(*b, i, i+1)
	}
}

// Compare orders configs by cluster, kind, namespace and name.
func (c Config) Compare(o Config) int {
	return cmp.Or(cmp.Compare(c.Cluster, o.Cluster), cmp.Compare(c.Kind, o.Kind), cmp.Compare(c.Namespace, o.Namespace), cmp.Compare(c.Name, o.Name))
}
