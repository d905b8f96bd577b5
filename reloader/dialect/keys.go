package dialect

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Keys chooses keys of configs: those whose change matters. The zero Keys are all.
type Keys struct {
	used             bool
	include, exclude []keyGlob
}

type keyGlob struct {
	text       string
	expression *regexp.Regexp
}

// usedKeys is the word for the keys that the pod template uses.
const usedKeys = "used"

// ParseKeys reads a list: the word used, globs, and globs of keys that do not count, with ! before them.
func ParseKeys(list string) (Keys, error) {
	var k Keys
	if len(list) > maxListBytes {
		return Keys{}, fmt.Errorf("the list has %d bytes, more than %d", len(list), maxListBytes)
	}
	count := 0
	for text := range strings.SplitSeq(list, ",") {
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		if text == usedKeys {
			k.used = true
			continue
		}
		if count++; count > maxItems {
			return Keys{}, fmt.Errorf("the list has more than %d items", maxItems)
		}
		text, not := strings.CutPrefix(text, "!")
		glob, err := compileGlob(text)
		switch {
		case err != nil:
			return Keys{}, fmt.Errorf("item %.80q: %w", text, err)
		case not:
			k.exclude = append(k.exclude, keyGlob{text, glob})
		default:
			k.include = append(k.include, keyGlob{text, glob})
		}
	}
	return k, nil
}

// String returns a list that ParseKeys reads as k; empty for all keys.
func (k Keys) String() string {
	var items []string
	if k.used {
		items = append(items, usedKeys)
	}
	for _, g := range k.include {
		items = append(items, g.text)
	}
	for _, g := range k.exclude {
		items = append(items, "!"+g.text)
	}
	return strings.Join(items, ",")
}

// all reports whether k are all keys.
func (k Keys) all() bool { return !k.used && k.include == nil && k.exclude == nil }

// OnlyUsed returns k without the keys that are not in use.
func (k Keys) OnlyUsed() Keys {
	k.used = true
	return k
}

// Count reports whether key is one of k in a config that a pod template refers to by uses. What it does not refer to, a workload uses whole:
// it is named for a use that the pod template does not show.
func (k Keys) Count(key string, uses []reloader.Use) bool {
	matches := func(globs []keyGlob) bool {
		return slices.ContainsFunc(globs, func(g keyGlob) bool { return g.expression.MatchString(key) })
	}
	return (k.include == nil || matches(k.include)) && !matches(k.exclude) && (!k.used || len(uses) == 0 || usesKey(uses, key))
}

func usesKey(uses []reloader.Use, key string) bool {
	return slices.ContainsFunc(uses, func(u reloader.Use) bool { return len(u.Keys) == 0 || slices.Contains(u.Keys, key) })
}

// usesOf returns how the pod template of w refers to c; none if it does not.
func usesOf(w *workload.Workload, c reloader.Config) []reloader.Use {
	if r := w.Template.References[c]; r != nil {
		return r.Uses
	}
	return nil
}

// keys returns the keys that w asks to be looked at.
func (c Choices) keys(w *workload.Workload) (Keys, error) {
	if c.Keys == "" {
		return Keys{}, nil
	}
	type read struct {
		keys Keys
		err  error
	}
	r := workload.Parse(w, use{clause: c.Keys}, w.Annotations[c.Keys], func(text string) read {
		keys, err := ParseKeys(text)
		return read{keys, err}
	})
	return r.keys, r.err
}

// Keys returns the keys that count of all configs that w asks for, by its own word. A list that cannot be read leaves out nothing: a reload
// too many is better than one too few.
func (s Set) Keys(w *workload.Workload) Keys {
	for _, d := range s {
		if k, err := d.Choices.keys(w); err == nil && !k.all() {
			return k
		}
	}
	return Keys{}
}

// OnlyUsed reports whether nothing but the keys of c in use counts for any dialect that demands a reload of w for c.
func (s Set) OnlyUsed(w *workload.Workload, c ConfigMeta) bool {
	demands, _ := s.decide(w, c)
	return len(demands) > 0 && onlyUsed(demands, w, c.Config)
}

func onlyUsed(demands []asking, w *workload.Workload, c reloader.Config) bool {
	return !slices.ContainsFunc(demands, func(a asking) bool { return a.dialect.OnlyUsed == nil || !a.dialect.OnlyUsed(w, c) })
}

// Counts reports whether the change of a key of c matters to w, which asks for c.
func (s Set) Counts(w *workload.Workload, c ConfigMeta, key string) bool {
	keys := s.Keys(w)
	demands, _ := s.decide(w, c)
	if len(demands) == 0 {
		return false
	}
	if onlyUsed(demands, w, c.Config) {
		keys = keys.OnlyUsed()
	}
	return keys.Count(key, usesOf(w, c.Config))
}
