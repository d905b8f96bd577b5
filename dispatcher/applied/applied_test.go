package applied_test

import (
	"slices"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/dispatcher/applied"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/live"
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

func TestLooks(t *testing.T) {
	found := func(version, sum string) applied.Live { return applied.Live{Write: write(version, sum)} }
	metadata := func(version string) applied.Live {
		return applied.Live{Write: applied.Write{Version: version}, Unread: true}
	}
	looks := func(all ...applied.Live) (looks []applied.Live) {
		for i, l := range all {
			l.Began = clock(i + 1)
			looks = append(looks, l)
		}
		return looks
	}
	cases := map[string]struct {
		looks []applied.Live
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
