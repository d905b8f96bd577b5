package projection

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/reloader"
)

// TestRolloutKeepsThePlaceOfItsReload: what became of a reload is a later word about it, also if the same content came back meanwhile.
func TestRolloutKeepsThePlaceOfItsReload(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 11, 21, 6, minute, 0, 0, time.UTC) }
	reload := func(id string, minute int, result reloader.Reason) reloader.Reload {
		r := reloader.Reload{ID: id, Outcome: reloader.ReasonReloaded, Attempt: reloader.Attempt{DecidedAt: at(minute), PatchedAt: at(minute)}}
		if result != "" {
			r.Rollout = &reloader.Rollout{Result: result, StartedAt: at(minute), EndedAt: at(minute + 1)}
		}
		return r
	}
	p := New(Limits{Reloads: 3})
	for i, r := range []reloader.Reload{
		reload("r-a", 0, ""),
		reload("r-b", 5, ""),
		reload("r-a", 0, reloader.ReasonWaitingForOperator),
		reload("r-a", 0, reloader.ReasonRolledOut),
		reload("r-b", 5, reloader.ReasonOvertaken),
		reload("r-a", 9, ""),
		reload("r-a", 9, reloader.ReasonStalled),
	} {
		p.AddReload(uint64(i+1), r)
	}
	page, err := p.Reloads("", 10, all)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range page.Items {
		got = append(got, r.ID+" "+r.DecidedAt.Format("04")+" "+string(r.Rollout.Result))
	}
	if diff := cmp.Diff([]string{"r-a 09 Stalled", "r-b 05 Overtaken", "r-a 00 RolledOut"}, got); diff != "" {
		t.Errorf("listing (-want +got):\n%s", diff)
	}
}
