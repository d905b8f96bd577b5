package dispatcher

import (
	"slices"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/live"
)

// maxCandidates bounds the actors that a change names.
const maxCandidates = 16

// attributionSlack is how far apart the requests behind one change can be.
const attributionSlack = 10 * time.Second

// candidates turns hints into the actors who may have made one change of a config with the given live metadata; see weigh.
func candidates(hints []reloader.Hint, untimed bool, meta live.Meta) []reloader.Candidate {
	var found []reloader.Candidate
	for _, h := range hints {
		found = addCandidate(found, h)
	}
	return weigh(found, untimed, meta)
}

// telling returns those of hints whose requests can have to do with what became of a config after old, the last change of it, now that meta
// describes it. What is on record as having led to old, or to something before it, has led to no other content since; and who made a config under
// a generated name made another one, unless this one was made then and is new to us.
func telling(hints []reloader.Hint, old reloader.Change, meta live.Meta) []reloader.Hint {
	isNew := old.Type == ""
	return slices.DeleteFunc(slices.Clone(hints), func(h reloader.Hint) bool { return madeAnother(h, isNew, meta) || ledTo(h, old) })
}

// madeAnother reports whether h made a config under a generated name, and not this one. What was there before, even deleted since, is none of those.
func madeAnother(h reloader.Hint, isNew bool, meta live.Meta) bool {
	return h.Config.Name == "" && h.Creates() && !(isNew && h.Time.Sub(meta.Created).Abs() <= attributionSlack)
}

// ledTo reports whether the request of h is on record as one that may have made c. One with an unknown outcome may be carried out later.
func ledTo(h reloader.Hint, c reloader.Change) bool {
	return h.AuditID != "" && !h.OutcomeUnknown() && slices.ContainsFunc(c.Candidates, func(o reloader.Candidate) bool {
		return sameWho(o, candidateOf(h)) && o.Time.Equal(h.Time)
	})
}

func candidateOf(h reloader.Hint) reloader.Candidate {
	return reloader.Candidate{Actor: h.Actor, Verb: h.Verb, AuditID: h.AuditID, Time: h.Time}
}

// addCandidate adds who made the request of h. What a watch has seen of a request that is reported as well, is no other one.
func addCandidate(found []reloader.Candidate, h reloader.Hint) []reloader.Candidate {
	c := candidateOf(h)
	known := slices.ContainsFunc(found, func(o reloader.Candidate) bool { return sameWho(o, c) || seenOf(c, o) })
	if !known {
		found = slices.DeleteFunc(found, func(o reloader.Candidate) bool { return seenOf(o, c) })
	}
	if known || len(found) >= maxCandidates {
		return found
	}
	return append(found, c)
}

func sameWho(a, b reloader.Candidate) bool {
	return a.Actor == b.Actor && a.AuditID == b.AuditID && a.Verb == b.Verb
}

// seenOf reports whether seen is no more than what a watch, which knows neither user nor request, may have seen of what told tells.
func seenOf(seen, told reloader.Candidate) bool {
	manager := seen.Actor.FieldManager
	return anonymous(seen) && !anonymous(told) && (manager == "" || namesManager(told.Actor, manager))
}

func anonymous(c reloader.Candidate) bool { return c.Actor.User == "" && c.AuditID == "" }

// weigh gives every candidate its basis. meta says who wrote the data last, and when, as far as that is known: if that was after all of
// their requests, or before them, somebody else did, whose hint is lost or still to come. untimed says that the change may have come after that.
func weigh(found []reloader.Candidate, untimed bool, meta live.Meta) []reloader.Candidate {
	named, last := 0, false
	for i := range found {
		found[i].Basis = reloader.BasisAmbiguous
		if namesManager(found[i].Actor, meta.DataManager) {
			named++
		}
		last = last || mayHaveWritten(found[i], untimed, meta)
	}
	for i := range found {
		switch {
		case !last:
		case len(found) == 1 || sameActor(found):
			found[i].Basis = reloader.BasisOnlyWriter
		case named == 1 && namesManager(found[i].Actor, meta.DataManager):
			found[i].Basis = reloader.BasisFieldManager
		}
	}
	return found
}

func mayHaveWritten(c reloader.Candidate, untimed bool, meta live.Meta) bool {
	after := c.Time.Sub(meta.DataWritten)
	return meta.DataWritten.IsZero() || after >= -attributionSlack && (untimed || after <= attributionSlack)
}

// untimed reports whether a key was taken away, of which managed fields keep no time.
func untimed(keys []reloader.KeyChange) bool {
	return slices.ContainsFunc(keys, func(k reloader.KeyChange) bool { return k.Op == reloader.KeyRemoved })
}

// sameActor reports whether one user, or one field manager of unknown users, stands behind all candidates.
func sameActor(found []reloader.Candidate) bool {
	return !slices.ContainsFunc(found, func(c reloader.Candidate) bool { return c.Actor.Name() != found[0].Actor.Name() })
}

// namesManager reports whether the actor's request carried the field manager, or a client name from which the API server derives
// it when the request names none.
func namesManager(a reloader.Actor, manager string) bool {
	if manager == "" {
		return false
	}
	if a.FieldManager != "" {
		return a.FieldManager == manager
	}
	client, _, _ := strings.Cut(a.UserAgent, "/")
	return client == manager
}

func newestHint(hints []reloader.Hint) reloader.Hint {
	return slices.MaxFunc(hints, func(a, b reloader.Hint) int { return a.Time.Compare(b.Time) })
}
