package actor

import (
	"slices"

	"github.com/reroll-dev/reroll/reloader"
)

// Recorded returns what is on record about the authors of a change.
func Recorded(c reloader.Change) Attribution {
	a := Attribution{ChangeID: c.ID, RequestedAt: c.RequestedAt, ReceivedAt: c.ReceivedAt}
	if !c.RequestedAt.IsZero() {
		a.Source = c.Source
	}
	for _, o := range c.Candidates {
		a.Authors = append(a.Authors, Author{Actor: o.Actor, Verb: o.Verb, AuditID: o.AuditID, At: o.Time, Sure: o.Basis != reloader.BasisAmbiguous})
	}
	return a
}

// On returns c with what a says about its authors. Without a source, a says nothing.
func (a Attribution) On(c reloader.Change) reloader.Change {
	if a.Source == "" {
		return c
	}
	c.Source, c.RequestedAt, c.ReceivedAt, c.Candidates = a.Source, a.RequestedAt, a.ReceivedAt, nil
	others := slices.ContainsFunc(a.Authors, func(o Author) bool { return o.Actor.Name() != a.Authors[0].Actor.Name() })
	for _, o := range a.Authors {
		basis := reloader.BasisAmbiguous
		switch {
		case o.Sure && !others:
			basis = reloader.BasisOnlyWriter
		case o.Sure:
			basis = reloader.BasisFieldManager
		}
		c.Candidates = append(c.Candidates, reloader.Candidate{Actor: o.Actor, Verb: o.Verb, AuditID: o.AuditID, Time: o.At, Basis: basis})
	}
	return c
}
