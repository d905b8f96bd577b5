package dispatcher

import (
	"context"
	"errors"
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

// candidates turns hints into the actors who may have made one change of a config with the given live metadata.
func candidates(hints []reloader.Hint, meta live.Meta) []reloader.Candidate {
	var found []reloader.Candidate
	for _, h := range hints {
		found = addCandidate(found, h)
	}
	return weigh(found, meta.DataManager)
}

func addCandidate(found []reloader.Candidate, h reloader.Hint) []reloader.Candidate {
	c := reloader.Candidate{Actor: h.Actor, Verb: h.Verb, AuditID: h.AuditID, Time: h.Time}
	known := slices.ContainsFunc(found, func(o reloader.Candidate) bool {
		return o.Actor == c.Actor && o.AuditID == c.AuditID && o.Verb == c.Verb
	})
	if known || len(found) >= maxCandidates {
		return found
	}
	return append(found, c)
}

// weigh gives every candidate its basis. dataManager is the field manager that last wrote the data, if known.
func weigh(found []reloader.Candidate, dataManager string) []reloader.Candidate {
	named := 0
	for i := range found {
		found[i].Basis = reloader.BasisAmbiguous
		if namesManager(found[i].Actor, dataManager) {
			named++
		}
	}
	for i := range found {
		switch {
		case len(found) == 1 || sameActor(found):
			found[i].Basis = reloader.BasisOnlyWriter
		case named == 1 && namesManager(found[i].Actor, dataManager):
			found[i].Basis = reloader.BasisFieldManager
		}
	}
	return found
}

// sameActor reports whether one user stands behind all candidates.
func sameActor(found []reloader.Candidate) bool {
	return !slices.ContainsFunc(found, func(c reloader.Candidate) bool { return c.Actor.User != found[0].Actor.User })
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

// attribute adds to the last change the actors of hints that arrived after it was verified although their requests came before:
// they may have made it, too. A hint that is too old or too young for that leaves last as it is.
func (d *Dispatcher) attribute(ctx context.Context, last reloader.StoredChange, f fact, hints []reloader.Hint) (reloader.StoredChange, error) {
	change := last.Change
	if change.Type == reloader.ChangeBaseline || len(hints) == 0 || last.Sequence == 0 {
		return last, nil
	}
	found := slices.Clone(change.Candidates)
	for _, h := range hints {
		if h.Time.After(change.VerifiedAt) || change.VerifiedAt.Sub(h.Time) > attributionSlack {
			continue
		}
		found = addCandidate(found, h)
	}
	if len(found) == len(change.Candidates) {
		return last, nil
	}
	if len(change.Candidates) == 0 {
		first := newestHint(hints)
		change.Source, change.RequestedAt, change.ReceivedAt = first.Source, first.Time, first.Received
	}
	change.Candidates = weigh(found, f.DataManager)
	stored, err := d.append(ctx, change, last)
	if errors.Is(err, reloader.ErrOutrun) {
		return last, nil
	}
	if err == nil {
		d.renameCauses(change)
	}
	return stored, err
}

// renameCauses gives the workloads that still wait for a change its new candidates.
func (d *Dispatcher) renameCauses(change reloader.Change) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range d.index.dependents(change.Config) {
		p := t.pending[change.Config]
		if p == nil {
			continue
		}
		for i := range p.changes {
			if p.changes[i].ID == change.ID {
				p.changes[i] = change
			}
		}
	}
}
