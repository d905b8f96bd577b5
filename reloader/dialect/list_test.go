package dialect

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzRegexps checks that no list panics or exceeds the limits, and that each item means what ^(?:item)$ means.
func FuzzRegexps(f *testing.F) {
	for _, list := range []string{"a", "my.app, b", "a|ab", "a)|(b", "[,ok", "a{1,2}", "(?i)A", `\Qa.b`, "a??b*?", "(a{9}){9}", "^a$", `a\b`, "\xff,é", "((((", "x{1000}{1000}"} {
		f.Add(list, "ab")
	}
	f.Fuzz(func(t *testing.T, list, name string) {
		l := readList(Regexps, list, "ns")
		if len(l.patterns) > maxItems || len(l.names) > maxNames+maxItems || len(l.problems) > maxItems+1 {
			t.Fatalf("%d patterns, %d names and %d problems", len(l.patterns), len(l.names), len(l.problems))
		}
		for _, p := range l.problems {
			if len(p) > 600 {
				t.Errorf("a problem of %d bytes", len(p))
			}
		}
		for _, i := range l.patterns {
			if len(i.text) > maxItemLength || strings.Contains(i.text, ",") || i.text != strings.TrimSpace(i.text) {
				t.Errorf("item %q", i.text)
			}
			if strings.Contains(i.text, `\Q`) || !utf8.ValidString(name) {
				continue // the restatement below cannot quote it
			}
			anchored, err := regexp.Compile(`^(?:` + i.text + `)$`)
			if err != nil {
				t.Fatalf("item %q was accepted: %v", i.text, err)
			}
			if got, want := i.match(name), anchored.MatchString(name); got != want {
				t.Errorf("item %q matches %q: %v, want %v", i.text, name, got, want)
			}
		}
	})
}
