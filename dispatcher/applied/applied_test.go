package applied_test

import (
	"slices"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/dispatcher/applied"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/live"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// clock returns a time that many seconds after noon.
func clock(s int) time.Time { return time.Date(2026, 5, 1, 12, 0, s, 0, time.UTC) }

func write(version, sum string) applied.Write {
	return applied.Write{Version: version, KeyID: "k", Sum: sum}
}

func stateOf(n uint64, at int, writes map[reloader.Config]applied.Write) applied.State {
	return applied.State{Workload: uid, N: n, At: clock(at), Mark: string('a' + rune(at)), Writes: reloader.ByConfigOf(writes)}
}

func TestNewest(t *testing.T) {
	a, b := configNamed("a"), configNamed("b")
	foreign := a
	foreign.Cluster = "hub"
	one := func(c reloader.Config, w applied.Write) map[reloader.Config]applied.Write {
		return map[reloader.Config]applied.Write{c: w}
	}
	cases := map[string]struct {
		object, ledger applied.State
		n              uint64
		mark           string
		writes         map[reloader.Config]applied.Write
	}{
		"as many rolls, a newer one": {stateOf(1, 2, one(a, write("10", "y"))), stateOf(1, 1, one(a, write("9", "x"))), 1, "c", one(a, write("10", "y"))},
		"absence has no order":       {stateOf(1, 1, one(a, applied.Write{})), stateOf(2, 2, one(a, write("9", "x"))), 2, "c", one(a, write("9", "x"))},
		"absence that was rolled":    {stateOf(2, 2, one(a, applied.Write{})), stateOf(1, 1, one(a, write("9", "x"))), 2, "c", one(a, applied.Write{})},
		"another cluster":            {stateOf(1, 1, one(foreign, write("10", "y"))), stateOf(2, 2, one(foreign, write("9", "x"))), 2, "c", one(foreign, write("9", "x"))},
		"another config":             {stateOf(1, 1, one(a, write("5", "x"))), stateOf(0, 0, one(b, write("6", "y"))), 1, "b", map[reloader.Config]applied.Write{a: write("5", "x"), b: write("6", "y")}},
		"a frozen leader's roll":     {stateOf(2, 2, map[reloader.Config]applied.Write{a: write("5", "x"), b: write("9", "z")}), stateOf(1, 1, map[reloader.Config]applied.Write{a: write("7", "y"), b: write("6", "y")}), 2, "c", map[reloader.Config]applied.Write{a: write("7", "y"), b: write("9", "z")}},
	}
	for name, c := range cases {
		if got := applied.Newest(c.object, c.ledger); got.N != c.n || got.Mark != c.mark || !slices.Equal(got.Writes, reloader.ByConfigOf(c.writes)) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestSight(t *testing.T) {
	pods := func(starts ...int) *workload.Pods {
		p := &workload.Pods{Known: true}
		for _, s := range starts {
			p.Of = append(p.Of, workload.Pod{Current: true, Containers: []workload.Start{{At: clock(s)}}})
		}
		return p
	}
	foreign := configNamed("a")
	foreign.Cluster = "hub"
	// The ledger was born at second 5, the workload opted in at 10, a pod started at 11, and the config was made at 1 and edited at 20.
	cases := map[string]struct {
		change func(*applied.Sighting)
		rule   string
		need   applied.Need
		missed bool
		reason reloader.Reason
	}{
		"edited since":              {func(*applied.Sighting) {}, "writtenSince", "", true, ""},
		"in the second of the edit": {func(s *applied.Sighting) { s.First.Written, s.First.Born, s.Pods = clock(20), clock(20), pods(20) }, "writtenSince", "", true, ""},
		"no birth is known":         {func(s *applied.Sighting) { s.First.Born = time.Time{} }, "baseline", "", false, reloader.ReasonBaseline},
		"no write is known":         {func(s *applied.Sighting) { s.First.Written = time.Time{} }, "baseline", "", false, reloader.ReasonBaseline},
		"no edit is known":          {func(s *applied.Sighting) { s.Live.DataWritten = time.Time{} }, "baseline", "", false, reloader.ReasonBaseline},
		"pods are unknown":          {func(s *applied.Sighting) { s.Pods = &workload.Pods{} }, "baseline", "", false, reloader.ReasonBaseline},
		"pods have not started":     {func(s *applied.Sighting) { s.Pods = &workload.Pods{Known: true, Of: []workload.Pod{{Current: true}}} }, "baseline", "", false, reloader.ReasonBaseline},
		"pods are not asked for":    {func(s *applied.Sighting) { s.Pods = nil }, "writtenSince", applied.NeedPods, false, ""},
		"nothing is read":           {func(s *applied.Sighting) { s.Live.Write, s.Live.Unread = applied.Write{Version: "1"}, true }, "unread", applied.NeedContent, false, ""},
		"nothing is proven":         {func(s *applied.Sighting) { s.Live.Unproven = true }, "unproven", "", false, reloader.ReasonBaseline},
		"marks are not asked for":   {func(s *applied.Sighting) { s.First.Mark = "" }, "mark", applied.NeedMarks, false, ""},
		"the mark is equal":         {func(s *applied.Sighting) { s.First.Mark = applied.MarkEqual }, "mark", "", false, reloader.ReasonAlreadyCurrent},
		"the mark differs":          {func(s *applied.Sighting) { s.First.Mark, s.First.Born = applied.MarkDiffers, clock(50) }, "mark", "", true, ""},
		"of another cluster":        {func(s *applied.Sighting) { s.Config = foreign }, "foreign", "", false, reloader.ReasonBaseline},
		"creations count": {func(s *applied.Sighting) {
			s.Live.Created, s.Live.DataWritten, s.Counting.Creation = clock(12), clock(12), true
		}, "madeAnew", "", true, ""},
		"creations count, made in the second of the pod": {func(s *applied.Sighting) {
			s.Live.Created, s.Live.DataWritten, s.Counting.Creation = clock(11), clock(11), true
		}, "baseline", "", false, reloader.ReasonBaseline},
		"new for a pattern": {func(s *applied.Sighting) {
			s.Live.Created, s.Live.DataWritten, s.First.Listed, s.Counting.Creation, s.Pods = clock(8), clock(8), clock(8), true, nil
		}, "appearedSinceListed", "", true, ""},
		"there when patterns were listed": {func(s *applied.Sighting) {
			s.Live.Created, s.Live.DataWritten, s.First.Listed, s.Counting.Creation = clock(7), clock(7), clock(8), true
		}, "baseline", "", false, reloader.ReasonBaseline},
	}
	for name, c := range cases {
		s := applied.Sighting{
			Config: configNamed("a"), Live: applied.Live{Write: write("2", "x"), Seen: clock(30), Meta: live.Meta{Created: clock(1), DataWritten: clock(20)}},
			First: applied.First{Written: clock(10), Born: clock(5), Mark: applied.MarkNone}, Pods: pods(11),
		}
		c.change(&s)
		if f := applied.Sight(s); f.Rule != c.rule || f.Need != c.need || f.Missed != c.missed || f.Reason != c.reason {
			t.Errorf("%s: %+v; want rule %s, need %q, missed %v, reason %q", name, f, c.rule, c.need, c.missed, c.reason)
		}
	}
}

func TestThereBy(t *testing.T) {
	cases := map[string]struct {
		live applied.Live
		asOf int
		want int
	}{
		"written since":              {applied.Live{Seen: clock(30), Meta: live.Meta{DataWritten: clock(20)}}, 10, 20},
		"written in the same second": {applied.Live{Seen: clock(30), Meta: live.Meta{DataWritten: clock(10)}}, 10, 30},
		"not written since":          {applied.Live{Seen: clock(30), Meta: live.Meta{DataWritten: clock(5)}}, 10, 30},
		"a key was taken away":       {applied.Live{Seen: clock(30), Shrunk: true, Meta: live.Meta{DataWritten: clock(20)}}, 10, 30},
		"written again":              {applied.Live{Touched: clock(25), Seen: clock(30), Meta: live.Meta{DataWritten: clock(20)}}, 10, 25},
		"a write after the look":     {applied.Live{Touched: clock(35), Seen: clock(30), Meta: live.Meta{DataWritten: clock(20)}}, 10, 30},
		"a clock that is ahead":      {applied.Live{Seen: clock(30), Meta: live.Meta{DataWritten: clock(40)}}, 10, 30},
		"unknown":                    {applied.Live{Seen: clock(30)}, 10, 30},
	}
	for name, c := range cases {
		c.live.Write = write("2", "x")
		if got := c.live.ThereBy(clock(c.asOf)); !got.Equal(clock(c.want)) {
			t.Errorf("%s: %s, want %s", name, got, clock(c.want))
		}
	}
	gone := applied.Live{Seen: clock(30), Meta: live.Meta{DataWritten: clock(20)}}
	if got := gone.ThereBy(clock(10)); !got.Equal(clock(30)) {
		t.Errorf("an absent config was gone by %s", got)
	}
}

func TestLooks(t *testing.T) {
	found := func(version, sum string) applied.Live { return applied.Live{Write: write(version, sum)} }
	metadata := func(version string) applied.Live {
		return applied.Live{Write: applied.Write{Version: version}, Unread: true}
	}
	looks := func(all ...applied.Live) (looks []applied.Look) {
		for i, l := range all {
			looks = append(looks, applied.Look{Live: l, Began: clock(i + 1)})
		}
		return looks
	}
	cases := map[string]struct {
		looks []applied.Look
		entry applied.Write
		left  int
		away  bool
	}{
		"metadata":                     {looks(found("1", "a"), metadata("2"), found("3", "b")), write("1", "a"), 1, true},
		"an entry that no look found":  {looks(found("10", "b"), found("30", "a"), found("40", "b")), write("20", "a"), 2, true},
		"another key":                  {looks(applied.Live{Write: applied.Write{Version: "2", KeyID: "new", Sum: "z"}, Older: []applied.Write{write("2", "b")}}), write("1", "a"), 0, true},
		"another key, the same":        {looks(applied.Live{Write: applied.Write{Version: "2", KeyID: "new", Sum: "z"}, Older: []applied.Write{write("2", "a")}}), write("1", "a"), 0, false},
		"a key that nobody has":        {looks(applied.Live{Write: applied.Write{Version: "2", KeyID: "new", Sum: "z"}}), write("1", "a"), 0, false},
		"nothing proves what is there": {looks(found("1", "a"), applied.Live{Write: write("2", "b"), Meta: live.Meta{Unproven: true}}), write("1", "a"), 0, false},
	}
	for name, c := range cases {
		var want time.Time
		if c.left > 0 {
			want = clock(c.left)
		}
		if left, away := applied.Left(c.looks, c.entry); away != c.away || !left.Equal(want) {
			t.Errorf("%s: left at %s, away %v; want %d, %v", name, left, away, c.left, c.away)
		}
	}
}
