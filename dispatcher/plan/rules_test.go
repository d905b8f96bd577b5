package plan_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/dispatcher/applied"
	"github.com/reroll-dev/reroll/dispatcher/plan"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/live"
	"github.com/reroll-dev/reroll/reloader/workload"
)

const uid = "uid"

// names are the configs of all tests.
var names = [2]reloader.Config{
	{Kind: reloader.ConfigMap, Namespace: "shop", Name: "x"},
	{Kind: reloader.Secret, Namespace: "shop", Name: "y"},
}

// clock returns a time that many seconds after noon.
func clock(s int) time.Time { return time.Date(2026, 5, 1, 12, 0, s, 0, time.UTC) }

func written(version, content string) applied.Write {
	return applied.Write{Version: version, KeyID: "k", Sum: content}
}

// podStarted is a pod that started at a second.
func podStarted(s int) *workload.Pods {
	return &workload.Pods{Known: true, Of: []workload.Pod{{Current: true, Containers: []workload.Start{{At: clock(s)}}}}}
}

func TestDecide(t *testing.T) {
	foreign := names[0]
	foreign.Cluster = "hub"
	waiting := &workload.Pods{Known: true, Of: []workload.Pod{{Current: true}}}
	back := func(c *plan.Case) { // to a, after a look at a and one at b
		c.Live.Write = written("3", "a")
		c.Looks = []applied.Live{{Write: written("1", "a"), Began: clock(12)}, {Write: written("2", "b"), Began: clock(15)}}
	}
	unknown := func(c *plan.Case) { c.Known, c.Entry = false, applied.Write{} }
	cases := map[string]struct {
		change func(*plan.Case)
		do     plan.Do
		rule   string
		reason reloader.Reason
	}{
		"no pods asked for":                   {func(c *plan.Case) { c.Pods = nil }, plan.Ask, "podsNewer", ""},
		"a pod started after":                 {func(c *plan.Case) { c.Pods = podStarted(21) }, plan.Note, "podsNewer", reloader.ReasonPodsNewer},
		"a pod that waits has read nothing":   {func(c *plan.Case) { c.Pods = waiting }, plan.Note, "podsNewer", reloader.ReasonPodsNewer},
		"a pod that has ended does not count": {func(c *plan.Case) { c.Pods.Of[0].Ended = true; c.Pods.Of = append(c.Pods.Of, podStarted(21).Of...) }, plan.Note, "podsNewer", reloader.ReasonPodsNewer},
		"unknown pods":                        {func(c *plan.Case) { c.Pods = &workload.Pods{} }, plan.Roll, "roll", reloader.ReasonReloaded},
		"unread":                              {func(c *plan.Case) { c.Live.Write, c.Live.Unread = applied.Write{Version: "2"}, true }, plan.Ask, "unread", ""},
		"unread and the same":                 {func(c *plan.Case) { c.Live.Write, c.Live.Unread = applied.Write{Version: "1"}, true }, plan.Nothing, "same", ""},
		"dormant":                             {func(c *plan.Case) { c.Dormant = true }, plan.Note, "dormant", reloader.ReasonDormant},
		"it is gone":                          {func(c *plan.Case) { c.Live.Write = applied.Write{} }, plan.Nothing, "gone", ""},
		"created and edited":                  {func(c *plan.Case) { c.Entry = applied.Write{} }, plan.Roll, "roll", reloader.ReasonReloaded},
		"unused keys": {func(c *plan.Case) {
			c.Entry.Used, c.Entry.Filter, c.Live.Used, c.Live.Filter = "u", "f", "u", "f"
		}, plan.Note, "unmoved", reloader.ReasonKeysUnused},
		"unused keys after used ones": {func(c *plan.Case) {
			c.Entry.Used, c.Entry.Filter, c.Live.Used, c.Live.Filter = "u", "f", "u", "f"
			c.Looks = []applied.Live{{Write: c.Entry, Began: clock(9)}, {Write: applied.Write{Version: "9", KeyID: "k", Sum: "x", Used: "v", Filter: "f"}, Began: clock(15)}}
		}, plan.Roll, "roll", reloader.ReasonReloaded},
		"another filter": {func(c *plan.Case) { c.Entry.Used, c.Entry.Filter, c.Live.Used, c.Live.Filter = "u", "f", "u", "g" }, plan.Roll, "roll", reloader.ReasonReloaded},
		"another filter, same content": {func(c *plan.Case) {
			c.Live.Write = applied.Write{Version: "1", KeyID: "k", Sum: "a", Used: "u", Filter: "g"}
		}, plan.Note, "unmoved", reloader.ReasonBaseline},
		"that of another cluster":              {func(c *plan.Case) { c.Config, c.Entry.KeyID = foreign, "old" }, plan.Roll, "roll", reloader.ReasonReloaded},
		"a new pod may have an old copy of it": {func(c *plan.Case) { c.Config, c.Pods = foreign, waiting }, plan.Roll, "roll", reloader.ReasonReloaded},
		"an older key is known": {func(c *plan.Case) {
			c.Entry = applied.Write{Version: "1", KeyID: "old", Sum: "z"}
			c.Live.Older = []applied.Write{{Version: "2", KeyID: "old", Sum: "z"}}
		}, plan.Note, "unmoved", reloader.ReasonBaseline},
		"an etcd that gives a version twice": {func(c *plan.Case) { c.Live.Version = "1" }, plan.Roll, "roll", reloader.ReasonReloaded},

		"came back, the looks are not asked for": {func(c *plan.Case) { back(c); c.Looks = nil }, plan.Ask, "unmoved", ""},
		"came back, the pods are unknown":        {func(c *plan.Case) { back(c); c.Pods = &workload.Pods{} }, plan.Note, "reverted", reloader.ReasonAlreadyCurrent},
		"first sight, no pods asked for":         {func(c *plan.Case) { unknown(c); c.Pods = nil }, plan.Ask, "firstSight", ""},
		"first sight, no marks asked for":        {func(c *plan.Case) { unknown(c); c.First.Mark = "" }, plan.Ask, "firstSight", ""},
		"opted in again: an earlier mark is not asked for": {func(c *plan.Case) {
			c.Entry.Out, c.First.Mark, c.Live.DataWritten = true, "", clock(1)
		}, plan.Note, "firstSight", reloader.ReasonBaseline},
	}
	for name, x := range cases {
		// The content changed at second 20 and was seen at second 25, while a pod runs since second 10.
		c := plan.Case{
			Config: names[0], Live: applied.Live{Write: written("2", "b"), Seen: clock(25), Meta: live.Meta{Created: clock(0), DataWritten: clock(20)}},
			First: plan.First{Written: clock(2), Born: clock(1), Mark: plan.MarkNone}, Pods: podStarted(10),
			Wanted: true, Known: true, Entry: written("1", "a"), AsOf: clock(5), Ours: true, Looks: []applied.Live{},
		}
		x.change(&c)
		if v := plan.Decide(c); v.Do != x.do || v.Rule != x.rule || v.Reason != x.reason {
			t.Errorf("%s: %+v; want %s by %s, %q", name, v, x.do, x.rule, x.reason)
		}
	}
}

func TestSight(t *testing.T) {
	foreign := names[0]
	foreign.Cluster = "hub"
	// The ledger was born at second 5, the workload opted in at 10, a pod started at 11, and the config was made at 1 and edited at 20.
	cases := map[string]struct {
		change func(*plan.Case)
		rule   string
		need   plan.Need
		missed bool
		reason reloader.Reason
	}{
		"edited since":              {func(*plan.Case) {}, "writtenSince", "", true, ""},
		"in the second of the edit": {func(s *plan.Case) { s.First.Written, s.First.Born, s.Pods = clock(20), clock(20), podStarted(20) }, "writtenSince", "", true, ""},
		"no birth is known":         {func(s *plan.Case) { s.First.Born = time.Time{} }, "baseline", "", false, reloader.ReasonBaseline},
		"no write is known":         {func(s *plan.Case) { s.First.Written = time.Time{} }, "baseline", "", false, reloader.ReasonBaseline},
		"no edit is known":          {func(s *plan.Case) { s.Live.DataWritten = time.Time{} }, "baseline", "", false, reloader.ReasonBaseline},
		"pods are unknown":          {func(s *plan.Case) { s.Pods = &workload.Pods{} }, "baseline", "", false, reloader.ReasonBaseline},
		"pods have not started":     {func(s *plan.Case) { s.Pods = &workload.Pods{Known: true, Of: []workload.Pod{{Current: true}}} }, "baseline", "", false, reloader.ReasonBaseline},
		"pods are not asked for":    {func(s *plan.Case) { s.Pods = nil }, "writtenSince", plan.NeedPods, false, ""},
		"nothing is read":           {func(s *plan.Case) { s.Live.Write, s.Live.Unread = applied.Write{Version: "1"}, true }, "unread", plan.NeedContent, false, ""},
		"nothing is proven":         {func(s *plan.Case) { s.Live.Unproven = true }, "unproven", "", false, reloader.ReasonBaseline},
		"marks are not asked for":   {func(s *plan.Case) { s.First.Mark = "" }, "mark", plan.NeedMarks, false, ""},
		"the mark is equal":         {func(s *plan.Case) { s.First.Mark = plan.MarkEqual }, "mark", "", false, reloader.ReasonAlreadyCurrent},
		"the mark differs":          {func(s *plan.Case) { s.First.Mark, s.First.Born = plan.MarkDiffers, clock(50) }, "mark", "", true, ""},
		"of another cluster":        {func(s *plan.Case) { s.Config = foreign }, "foreign", "", false, reloader.ReasonBaseline},
		"creations count": {func(s *plan.Case) {
			s.Live.Created, s.Live.DataWritten, s.Counting.Creation = clock(12), clock(12), true
		}, "madeAnew", "", true, ""},
		"creations count, made in the second of the pod": {func(s *plan.Case) {
			s.Live.Created, s.Live.DataWritten, s.Counting.Creation = clock(11), clock(11), true
		}, "baseline", "", false, reloader.ReasonBaseline},
		"new for a pattern": {func(s *plan.Case) {
			s.Live.Created, s.Live.DataWritten, s.First.Listed, s.Counting.Creation, s.Pods = clock(8), clock(8), clock(8), true, nil
		}, "appearedSinceListed", "", true, ""},
		"there when patterns were listed": {func(s *plan.Case) {
			s.Live.Created, s.Live.DataWritten, s.First.Listed, s.Counting.Creation = clock(7), clock(7), clock(8), true
		}, "baseline", "", false, reloader.ReasonBaseline},
	}
	for name, c := range cases {
		s := plan.Case{
			Config: names[0], Live: applied.Live{Write: written("2", "x"), Seen: clock(30), Meta: live.Meta{Created: clock(1), DataWritten: clock(20)}},
			First: plan.First{Written: clock(10), Born: clock(5), Mark: plan.MarkNone}, Pods: podStarted(11), Wanted: true,
		}
		c.change(&s)
		rule := "baseline"
		for _, r := range slices.Backward(plan.SightRules) {
			if _, answers := r.If(s); answers {
				rule = r.Name
			}
		}
		v := plan.Decide(s)
		if missed := v.Rule != "firstSight"; rule != c.rule || missed != c.missed || !missed && (v.Need != c.need || v.Reason != c.reason) {
			t.Errorf("%s: by %s %+v; want rule %s, need %q, missed %v, reason %q", name, rule, v, c.rule, c.need, c.missed, c.reason)
		}
	}
}

// TestThereBy: pods that started after the content was there are newer.
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
		"absent":                     {applied.Live{Seen: clock(30), Meta: live.Meta{DataWritten: clock(20)}}, 10, 30},
	}
	for name, c := range cases {
		if c.live.Write = written("2", "x"); name == "absent" {
			c.live.Write = applied.Write{}
		}
		for after := range 2 {
			v := plan.Decide(plan.Case{
				Config: names[0], Live: c.live, Counting: plan.Counting{Deletion: true}, Wanted: true, Known: true, Entry: written("1", "a"), AsOf: clock(c.asOf),
				Pods: podStarted(c.want + after),
			})
			if newer := v.Rule == plan.PodsNewer; newer != (after > 0) {
				t.Errorf("%s: pods that started %d s after %d are newer: %v", name, after, c.want, newer)
			}
		}
	}
}

func TestTogether(t *testing.T) {
	x, y := names[0], names[1]
	state := applied.State{
		Workload: uid, N: 3, At: clock(1), Mark: "m", Writes: reloader.ByConfigOf(map[reloader.Config]applied.Write{x: written("1", "a"), y: written("5", "s")}),
	}
	roll := plan.Verdict{Do: plan.Roll, Reason: reloader.ReasonReloaded, Write: written("2", "b")}
	note := plan.Verdict{Do: plan.Note, Reason: reloader.ReasonPodsNewer, Write: written("6", "t")}
	out := plan.Verdict{Do: plan.Note, Reason: reloader.ReasonNotOptedIn, Write: applied.Write{Version: "5", KeyID: "k", Sum: "s", Out: true}}
	cases := map[string]struct {
		verdicts      map[reloader.Config]plan.Verdict
		n             uint64
		writes        reloader.ByConfig[applied.Write]
		noted, rolled []reloader.Config
	}{
		"a roll takes notes along":  {map[reloader.Config]plan.Verdict{x: roll, y: note}, 4, reloader.ByConfigOf(map[reloader.Config]applied.Write{x: roll.Write, y: note.Write}), []reloader.Config{y}, []reloader.Config{x}},
		"out":                       {map[reloader.Config]plan.Verdict{y: out}, 3, reloader.ByConfigOf(map[reloader.Config]applied.Write{x: state.Writes.Get(x), y: out.Write}), []reloader.Config{y}, nil},
		"a roll without what's out": {map[reloader.Config]plan.Verdict{x: roll, y: out}, 4, reloader.ByConfigOf(map[reloader.Config]applied.Write{x: roll.Write}), []reloader.Config{y}, []reloader.Config{x}},
	}
	for name, c := range cases {
		before := slices.Clone(state.Writes)
		o := plan.Together(uid, state, c.verdicts, clock(30))
		if o.State.N != c.n || !slices.Equal(o.State.Writes, c.writes) || !slices.Equal(o.Noted, c.noted) || !slices.Equal(o.Rolled, c.rolled) {
			t.Errorf("%s: %+v", name, o)
		}
		if !reflect.DeepEqual(before, state.Writes) {
			t.Fatalf("%s: the state that was given is another one", name)
		}
	}
	if o := plan.Together(uid, applied.State{}, map[reloader.Config]plan.Verdict{x: roll}, clock(30)); o.State.Workload != uid || o.State.N != 1 || !o.State.At.Equal(clock(30)) {
		t.Errorf("the first roll: %+v", o.State)
	}
}
