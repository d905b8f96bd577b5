// Package actor finds who made a change of a config: from the hints between two looks, from hints that come later, and from several sources that
// report one request.
//
// The package takes values and returns values. A hint is foreign input: it may be lost, late, repeated or forged. It decides which names a
// change has, and nothing else.
package actor

import (
	"slices"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

const (
	// maxAuthors bounds the authors of one change.
	maxAuthors = 16
	// slack is how far apart the times of one request can be: in its audit event and in the object's managed fields.
	slack = 10 * time.Second
)

// Found is what a look found out about a change, next to the change itself.
type Found struct {
	// New reports whether the config was not known before, and KeyRemoved whether a key was removed: managed fields keep no time of a removal.
	New, KeyRemoved bool
	// Manager is the field manager that wrote the data last, and Written when, by the second of the API server's clock; empty if unknown.
	Manager string
	Written time.Time
	// Created is when the object was made.
	Created time.Time
}

// Attribute returns c, a change that a look has found, with its possible authors in the order of the hints. If it had no author, it takes the source and
// the times of the newest hint. If no author is sure, any of them may have made the change, or another one whose hint was lost. hints are those since
// the look before. before is the change before c: a request that led to it led to no other content since.
func Attribute(c reloader.Change, found Found, hints []reloader.Hint, before reloader.Change) reloader.Change {
	hints = slices.DeleteFunc(slices.Clone(hints), func(h reloader.Hint) bool { return madeAnother(h, found) || ledTo(h, before) })
	if len(hints) == 0 {
		return c
	}
	if len(c.Candidates) == 0 {
		newest := slices.MaxFunc(hints, func(a, b reloader.Hint) int { return a.Time.Compare(b.Time) })
		c.Source, c.RequestedAt, c.ReceivedAt = newest.Source, newest.Time, newest.Received
	}
	c.Candidates = slices.Clone(c.Candidates)
	for _, h := range hints {
		c.Candidates = add(c.Candidates, authorOf(h))
	}
	weigh(c.Candidates, found)
	return c
}

// Late returns c, the newest change of a config, after hints that came when a sweep or another hint had already found it, and reports whether it has
// other authors than before. before is the change before it; zero if that is not known. Requests after the change was found, and those before the change
// before it, have not made it.
func Late(c reloader.Change, found Found, hints []reloader.Hint, before reloader.Change) (reloader.Change, bool) {
	since := c.VerifiedAt.Add(-slack)
	switch {
	case !before.VerifiedAt.IsZero():
		since = reloader.Earlier(since, before.VerifiedAt)
	case !found.Written.IsZero():
		since = reloader.Earlier(since, found.Written.Add(-slack))
	}
	hints = slices.DeleteFunc(slices.Clone(hints), func(h reloader.Hint) bool { return h.Time.After(c.VerifiedAt) || !h.Time.After(since) })
	if found.Written.After(c.VerifiedAt) {
		found.Written = time.Time{} // later writes are not this change
	}
	later := Attribute(c, found, hints, before)
	return later, !slices.EqualFunc(later.Candidates, c.Candidates, same)
}

// madeAnother reports whether the request of h made another config, under a generated name. A config that was known before is none of those.
func madeAnother(h reloader.Hint, found Found) bool {
	return h.Config.Name == "" && h.Creates() && !(found.New && h.Time.Sub(found.Created).Abs() <= slack)
}

// ledTo reports whether the request of h is on record as one that may have made an earlier change. A request with an unknown outcome may be
// carried out later.
func ledTo(h reloader.Hint, before reloader.Change) bool {
	if h.AuditID == "" || h.OutcomeUnknown() {
		return false
	}
	return slices.ContainsFunc(before.Candidates, func(o reloader.Candidate) bool { return same(o, authorOf(h)) && o.Time.Equal(h.Time) })
}

func authorOf(h reloader.Hint) reloader.Candidate {
	return reloader.Candidate{Actor: h.Actor, Verb: h.Verb, AuditID: h.AuditID, Time: h.Time}
}

func same(a, b reloader.Candidate) bool {
	return a.Actor == b.Actor && a.AuditID == b.AuditID && a.Verb == b.Verb
}

// add adds the author of one request. A request that is both seen by a watch and reported counts once.
func add(all []reloader.Candidate, a reloader.Candidate) []reloader.Candidate {
	if slices.ContainsFunc(all, func(o reloader.Candidate) bool { return same(o, a) || seenOf(a, o) }) {
		return all
	}
	all = slices.DeleteFunc(all, func(o reloader.Candidate) bool { return seenOf(o, a) })
	if len(all) >= maxAuthors {
		return all
	}
	return append(all, a)
}

// seenOf reports whether seen is no more than what a watch, which knows neither user nor request, may have seen of the request of told.
func seenOf(seen, told reloader.Candidate) bool {
	manager := seen.Actor.FieldManager
	return anonymous(seen) && !anonymous(told) && (manager == "" || names(told.Actor, manager))
}

func anonymous(a reloader.Candidate) bool { return a.Actor.User == "" && a.AuditID == "" }

// weigh finds out which authors are sure. If the data was written after all of their requests, or before them, another client wrote it, whose hint
// is lost or still to come.
func weigh(authors []reloader.Candidate, found Found) {
	named, wrote := 0, false
	for _, a := range authors {
		if names(a.Actor, found.Manager) {
			named++
		}
		wrote = wrote || mayHaveWritten(a, found)
	}
	one := !slices.ContainsFunc(authors, func(a reloader.Candidate) bool { return a.Actor.Name() != authors[0].Actor.Name() })
	for i, a := range authors {
		authors[i].Sure = wrote && (one || named == 1 && names(a.Actor, found.Manager))
	}
}

func mayHaveWritten(a reloader.Candidate, found Found) bool {
	after := a.Time.Sub(found.Written)
	return found.Written.IsZero() || after >= -slack && (found.KeyRemoved || after <= slack)
}

// names reports whether the actor's request carried the field manager, or a client name that the API server derives it from when the request
// names none.
func names(a reloader.Actor, manager string) bool {
	if manager == "" {
		return false
	}
	if a.FieldManager != "" {
		return a.FieldManager == manager
	}
	client, _, _ := strings.Cut(a.UserAgent, "/")
	return client == manager
}
