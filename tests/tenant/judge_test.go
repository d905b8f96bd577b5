package main

import (
	"regexp"
	"testing"
)

// TestTricks: there are 50 hostile workloads, each with a name of its own and a sign to look for.
func TestTricks(t *testing.T) {
	seen := map[string]bool{}
	full().each(func(trick trick, p place) {
		if seen[p.name] {
			t.Errorf("%s is there twice", p.name)
		}
		seen[p.name] = true
		if regexp.MustCompile(trick.says).MatchString("") {
			t.Errorf("%s says what is wrong by saying nothing", trick.name)
		}
	})
	if len(seen) != 50 {
		t.Errorf("%d hostile workloads, want 50", len(seen))
	}
}

// TestNames: a long list holds as many names as Kubernetes lets an annotation have, all of them different.
func TestNames(t *testing.T) {
	o := full()
	list := names(o.Names, "%s,")
	if len(list) > maxAnnotations-100 {
		t.Errorf("%d names take %d bytes, more than an annotation can have", o.Names, len(list))
	}
	seen := map[string]bool{}
	for _, name := range regexp.MustCompile(",").Split(list, -1) {
		if seen[name] {
			t.Fatalf("%s is there twice", name)
		}
		seen[name] = true
	}
}
