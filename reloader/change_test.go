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
