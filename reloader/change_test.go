package reloader_test

import (
	"regexp"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

var someChange = reloader.Change{
	Cluster: "local", Config: reloader.Config{Kind: reloader.Secret, Namespace: "ns", Name: "db"}, Type: reloader.ChangeUpdated,
	UID: "u1", ResourceVersion: "7", Old: reloader.Digest{KeyID: "k", Sum: "aa"}, New: reloader.Digest{KeyID: "k", Sum: "bb"},
	Source: reloader.SourceAudit, VerifiedAt: time.Unix(1, 0),
}

func TestChangeIDStandsForTheFact(t *testing.T) {
	id := reloader.ChangeID(someChange)
	if !regexp.MustCompile(`^c-[a-z2-7]{16}$`).MatchString(id) {
		t.Errorf("ChangeID = %q", id)
	}
	same := map[string]func(*reloader.Change){
		"the time of the look": func(c *reloader.Change) { c.VerifiedAt = time.Unix(2, 0) },
		"the source":           func(c *reloader.Change) { c.Source = reloader.SourceSweep },
		"the candidates":       func(c *reloader.Change) { c.Candidates = []reloader.Candidate{{AuditID: "a"}} },
		"its own ID":           func(c *reloader.Change) { c.ID = "c-x" },
	}
	for name, edit := range same {
		c := someChange
		edit(&c)
		if got := reloader.ChangeID(c); got != id {
			t.Errorf("%s moved the ID: the same fact seen twice would be two", name)
		}
	}
	other := map[string]func(*reloader.Change){
		"cluster":          func(c *reloader.Change) { c.Cluster = "other" },
		"kind":             func(c *reloader.Change) { c.Config.Kind = reloader.ConfigMap },
		"namespace":        func(c *reloader.Change) { c.Config.Namespace = "ns2" },
		"name":             func(c *reloader.Change) { c.Config.Name = "db2" },
		"type":             func(c *reloader.Change) { c.Type = reloader.ChangeDeleted },
		"UID":              func(c *reloader.Change) { c.UID = "u2" },
		"resource version": func(c *reloader.Change) { c.ResourceVersion = "8" },
		"old digest":       func(c *reloader.Change) { c.Old.Sum = "ab" },
		"new digest":       func(c *reloader.Change) { c.New.Sum = "ba" },
		"new key":          func(c *reloader.Change) { c.New.KeyID = "k2" },
		"shifted fields":   func(c *reloader.Change) { c.UID, c.ResourceVersion = "u", "17" },
	}
	seen := map[string]string{id: "the change itself"}
	for name, edit := range other {
		c := someChange
		edit(&c)
		got := reloader.ChangeID(c)
		if twin, ok := seen[got]; ok {
			t.Errorf("%s has the ID of %s", name, twin)
		}
		seen[got] = name
	}
}

func TestDigestComparison(t *testing.T) {
	a, b := reloader.Digest{KeyID: "k", Sum: "aa"}, reloader.Digest{KeyID: "k", Sum: "bb"}
	elsewhere := reloader.Digest{KeyID: "k2", Sum: "aa"}
	var none reloader.Digest
	if !a.Comparable(b) || !a.Comparable(none) || !none.Comparable(a) || a.Comparable(elsewhere) {
		t.Error("digests are comparable under one key, or if one is zero, and only then")
	}
	if !a.Equal(a) || a.Equal(b) || a.Equal(elsewhere) || a.Equal(none) {
		t.Error("digests are equal if key and sum are, and only then")
	}
	if got := (reloader.Digest{Sum: "0123456789abcdef"}).Short(); got != "0123456789ab" || a.Short() != "aa" {
		t.Errorf("Short() = %q and %q", got, a.Short())
	}
}

func TestChangePresent(t *testing.T) {
	deleted, unseen := someChange, someChange
	deleted.Type = reloader.ChangeDeleted
	unseen.New = reloader.Digest{}
	if !someChange.Present() || deleted.Present() || unseen.Present() {
		t.Error("only a config with a digest that is not a tombstone is present")
	}
}

func TestHintCreates(t *testing.T) {
	cases := map[string]struct {
		hint reloader.Hint
		want bool
	}{
		"a create":                    {reloader.Hint{Verb: reloader.VerbCreate, Code: 201}, true},
		"a create of unknown outcome": {reloader.Hint{Verb: reloader.VerbCreate}, true},
		"an apply of what was absent": {reloader.Hint{Verb: reloader.VerbPatch, Code: 201}, true},
		"an apply of what was there":  {reloader.Hint{Verb: reloader.VerbPatch, Code: 200}, false},
		"an update":                   {reloader.Hint{Verb: reloader.VerbUpdate, Code: 200}, false},
	}
	for name, test := range cases {
		if got := test.hint.Creates(); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func TestHintOutcomeUnknown(t *testing.T) {
	for code, unknown := range map[int]bool{0: true, 200: false, 201: false, 409: false, 499: false, 500: true, 504: true} {
		if got := (reloader.Hint{Code: code}).OutcomeUnknown(); got != unknown {
			t.Errorf("OutcomeUnknown with code %d = %v, want %v", code, got, unknown)
		}
	}
}
