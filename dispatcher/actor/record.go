package actor

import "github.com/reroll-dev/reroll/reloader"

// Recorded returns what is on record about the authors of a change.
func Recorded(c reloader.Change) Attribution {
	a := Attribution{ChangeID: c.ID, RequestedAt: c.RequestedAt, ReceivedAt: c.ReceivedAt, Authors: c.Candidates}
	if !c.RequestedAt.IsZero() {
		a.Source = c.Source
	}
	return a
}

// On returns c with what a says about its authors. Without a source, a says nothing.
func (a Attribution) On(c reloader.Change) reloader.Change {
	if a.Source == "" {
		return c
	}
	c.Source, c.RequestedAt, c.ReceivedAt, c.Candidates = a.Source, a.RequestedAt, a.ReceivedAt, a.Authors
	return c
}
