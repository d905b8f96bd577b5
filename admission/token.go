package admission

import (
	"maps"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/strategy"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// expectation is the mark that a request expects its workload to get. Whoever writes it into the dialect's token asks for a roll to just those
// configs that they know of.
type expectation struct {
	dialect *dialect.Dialect
	mark    string
}

// expectation returns what a request expects that leaves a workload as w; before are its annotations before. What was there before is no word of
// this request: a token that was left behind asks for nothing, and keeps nobody from writing.
func (r Rules) expectation(w *workload.Workload, before map[string]string) expectation {
	for _, dl := range r.Dialects {
		mark := w.Annotations[dl.Token]
		if dl.Token == "" || mark == "" || mark == before[dl.Token] || r.Dialects.Strategy(w, r.Strategy).Own {
			continue
		}
		if interest, opted := dl.Interest(w); opted && len(interest.Exact) > 0 {
			return expectation{dl, mark}
		}
	}
	return expectation{}
}

// verdict is what the live configs say of an expectation.
type verdict string

const (
	// unsaid: the request expects nothing, or nobody knows, since a config could not be read.
	unsaid  verdict = ""
	agrees  verdict = "agrees"
	differs verdict = "differs"
)

// verdict compares what the request expects with what was seen.
func (d *Draft) verdict(seen map[reloader.Config]Seen) verdict {
	if d.expects.dialect == nil {
		return unsaid
	}
	live := d.live(seen, d.expects.mark)
	switch {
	case len(live) == 0:
		return unsaid
	case slices.Contains(live, d.expects.mark):
		return agrees
	}
	return differs
}

// asksAlone reports whether nothing but what the request expects brings pods with it that its workload does not have: one that brings another
// template may be a rollback, which brings back what somebody expected then.
func (d *Draft) asksAlone() bool { return d.still || d.created }

// live returns the mark of what was seen, and then those that prove the same. A mark that is to be found among them may be of the time before the
// digest key was rotated.
func (d *Draft) live(seen map[reloader.Config]Seen, mark string) []string {
	dl := d.expects.dialect
	found := values(d.now, dl, seen)
	keyID := dialect.KeyOf(mark)
	if keyID == "" || !d.rules.Ring.Knows(keyID) {
		return found
	}
	before := maps.Clone(seen)
	for c, s := range before {
		if i := slices.IndexFunc(s.Older, func(o reloader.Digest) bool { return o.KeyID == keyID }); i >= 0 {
			s.Digest = s.Older[i]
		}
		before[c] = s
	}
	return append(found, values(d.now, dl, before)...)
}

// demanded returns the mark that the request rolls the workload by, if it expects what there is; none if the workload runs with that already.
func (d *Draft) demanded(general strategy.Strategy, seen map[reloader.Config]Seen, now time.Time) []strategy.Placed {
	if d.verdict(seen) != agrees {
		return nil
	}
	interest, _ := d.expects.dialect.Interest(d.now)
	writer, c := d.expects.dialect.Writer(general), interest.Exact[0]
	carried, _ := writer.Current(d.now, c)
	live := d.live(seen, carried)
	if slices.Contains(live, carried) {
		return nil
	}
	return []strategy.Placed{{Strategy: writer, Mark: strategy.Mark{Config: c, Value: live[0], At: now}}}
}

// spend returns the operations that take the token off the workload once it was compared, unless written do.
func (d *Draft) spend(seen map[reloader.Config]Seen, written []strategy.Op) []strategy.Op {
	if d.verdict(seen) == unsaid {
		return nil
	}
	spent := strategy.Spend(d.now, d.expects.dialect.Token)
	if slices.ContainsFunc(written, func(op strategy.Op) bool { return op.Op == "remove" && op.Path == spent[0].Path }) {
		return nil
	}
	return spent
}
