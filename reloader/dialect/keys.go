package dialect

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/reloader"
)

// Keys chooses keys of configs: those whose change counts. The zero Keys are all.
type Keys struct {
	text             string
	used             bool
	include, exclude []*regexp.Regexp
}

// usedKeys is the word for the keys that the pod template uses.
const usedKeys = "used"

// ParseKeys reads a list: the word used, globs, and globs of keys that do not count, with ! before them.
func ParseKeys(text string) (Keys, error) {
	if len(text) > maxListBytes {
		return Keys{}, fmt.Errorf("the list has %d bytes, more than %d", len(text), maxListBytes)
	}
	k := Keys{text: strings.Join(slices.Collect(items(text)), ",")}
	for item := range items(text) {
		if item == usedKeys {
			k.used = true
			continue
		}
		if len(k.include)+len(k.exclude) >= maxItems {
			return Keys{}, fmt.Errorf("the list has more than %d items", maxItems)
		}
		item, not := strings.CutPrefix(item, "!")
		glob, err := compileGlob(item)
		switch {
		case err != nil:
			return Keys{}, fmt.Errorf("item %.80q: %w", item, err)
		case not:
			k.exclude = append(k.exclude, glob)
		default:
			k.include = append(k.include, glob)
		}
	}
	return k, nil
}

// String returns a list that ParseKeys reads as k; empty for all keys.
func (k Keys) String() string { return k.text }

// OnlyUsed returns k without the keys that are not in use.
func (k Keys) OnlyUsed() Keys {
	if !k.used {
		k.used, k.text = true, strings.TrimSuffix(usedKeys+","+k.text, ",")
	}
	return k
}

// Filter returns a function that reports whether a key counts of a config that a pod template refers to by uses; nil if every key does. What it
// does not refer to, a workload uses whole: it is named for a use that the pod template does not show.
func (k Keys) Filter(uses []reloader.Use) func(key string) bool {
	whole := !k.used || len(uses) == 0 || slices.ContainsFunc(uses, func(u reloader.Use) bool { return len(u.Keys) == 0 })
	if whole && k.include == nil && k.exclude == nil {
		return nil
	}
	return func(key string) bool {
		matches := func(glob *regexp.Regexp) bool { return glob.MatchString(key) }
		used := func(u reloader.Use) bool { return slices.Contains(u.Keys, key) }
		return (k.include == nil || slices.ContainsFunc(k.include, matches)) && !slices.ContainsFunc(k.exclude, matches) &&
			(whole || slices.ContainsFunc(uses, used))
	}
}
