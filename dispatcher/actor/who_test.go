package actor_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/dispatcher/actor"
	"github.com/reroll-dev/reroll/reloader"
)

var (
	noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	app  = reloader.Config{Kind: reloader.ConfigMap, Namespace: "shop", Name: "app"}

	alice = reloader.Actor{User: "alice", UserAgent: "kubectl/v1.37", FieldManager: "kubectl-edit"}
	carol = reloader.Actor{User: "carol", UserAgent: "kubectl/v1.37", FieldManager: "kubectl-edit"}
	bob   = reloader.Actor{User: "bob", UserAgent: "helm/v3", FieldManager: "helm"}
	agent = reloader.Actor{User: "agent", UserAgent: "argocd/v3"}
)

// after returns the time that many seconds after noon.
func after(seconds float64) time.Time { return noon.Add(time.Duration(seconds * float64(time.Second))) }

// hint is one about a request that ended so many seconds after noon.
func hint(by reloader.Actor, seconds float64) reloader.Hint {
	at := after(seconds)
	return reloader.Hint{
		Config: app, Verb: reloader.VerbUpdate, Source: reloader.SourceAudit, Actor: by, AuditID: by.User + "-" + at.Format("05.000"), Code: 200,
		Time: at, Received: at.Add(time.Second),
	}
}

// seen is what a watch reports of a write: no user, and no request.
func seen(manager string, seconds float64) reloader.Hint {
	h := hint(reloader.Actor{FieldManager: manager}, seconds)
	h.Source, h.AuditID = reloader.SourceWatch, ""
	return h
}

// generated is a hint about a config that was made under a generated name.
func generated(by reloader.Actor, seconds float64) reloader.Hint {
	h := hint(by, seconds)
	h.Config.Name, h.Verb, h.Code = "", reloader.VerbCreate, 201
	return h
}

// change is one that a look found ten seconds after noon.
var change = reloader.Change{ID: "c-1", VerifiedAt: after(10)}

// found says of it that kubectl-edit wrote it at noon.
func found() actor.Found {
	return actor.Found{Manager: "kubectl-edit", Written: noon, Created: after(-86400)}
}

// expect fails the test unless a names these authors, sorted, with a question mark those who are not sure.
func expect(t *testing.T, c reloader.Change, want string) {
	t.Helper()
	var names []string
	for _, o := range c.Candidates {
		name := o.Actor.Name()
		if !o.Sure {
			name += "?"
		}
		names = append(names, name)
	}
	slices.Sort(names)
	if got := strings.Join(slices.Compact(names), ", "); got != want {
		t.Errorf("authors %q, want %q", got, want)
	}
}

func TestAttribute(t *testing.T) {
	by := func(manager string, written float64) func(*actor.Found) {
		return func(f *actor.Found) { f.Manager, f.Written = manager, after(written) }
	}
	for name, c := range map[string]struct {
		reason string
		hints  []reloader.Hint
		change func(*actor.Found)
		want   string
	}{
		"nobody":                                 {"no hint led to the change", nil, nil, ""},
		"one writer":                             {"no other write was reported", []reloader.Hint{hint(alice, 0)}, nil, "alice"},
		"one writer twice":                       {"both writes are of one user", []reloader.Hint{hint(alice, -1), hint(alice, 0)}, nil, "alice"},
		"two managers":                           {"bob's field manager wrote the data last", []reloader.Hint{hint(bob, 0), hint(alice, 1)}, by("helm", 0), "alice?, bob"},
		"two of one manager":                     {"nothing distinguishes them; the last is the likeliest", []reloader.Hint{hint(carol, 1), hint(alice, 0)}, nil, "alice?, carol?"},
		"manager of the client's name":           {"the API server names the manager after the client if the request does not", []reloader.Hint{hint(alice, 0), hint(agent, 1)}, by("argocd", 1), "agent, alice?"},
		"no manager known":                       {"nothing distinguishes them", []reloader.Hint{hint(alice, 0), hint(bob, 1)}, by("", 1), "alice?, bob?"},
		"written long before":                    {"she wrote a label after bob's write, whose hint is lost", []reloader.Hint{hint(alice, 60)}, nil, "alice?"},
		"written long after":                     {"the hint of the last write is lost", []reloader.Hint{hint(alice, -60)}, nil, "alice?"},
		"written at a time that is not known":    {"nothing speaks against her", []reloader.Hint{hint(alice, -60)}, func(f *actor.Found) { f.Written = time.Time{} }, "alice"},
		"a key removed":                          {"managed fields keep no time of that", []reloader.Hint{hint(alice, 60)}, func(f *actor.Found) { f.KeyRemoved = true }, "alice"},
		"a generated name":                       {"the request made another config", []reloader.Hint{generated(bob, 0), hint(alice, 0)}, nil, "alice"},
		"a generated name alone":                 {"the request made another config", []reloader.Hint{generated(bob, 0)}, nil, ""},
		"a generated name at first sight":        {"the config was made then", []reloader.Hint{generated(bob, 0)}, func(f *actor.Found) { f.New, f.Created = true, noon }, "bob"},
		"a generated name at first sight, later": {"the config was there before the request", []reloader.Hint{generated(bob, 3600)}, func(f *actor.Found) { f.New, f.Created = true, noon }, ""},
		"a watch first":                          {"the watch reported the same write", []reloader.Hint{seen("kubectl-edit", 0), hint(alice, 0)}, nil, "alice"},
		"a watch last":                           {"the watch reported the same write", []reloader.Hint{hint(alice, 0), seen("kubectl-edit", 0)}, nil, "alice"},
		"a watch that knows no manager":          {"of a deletion the watch knows no manager", []reloader.Hint{seen("", 0), hint(alice, 0)}, nil, "alice"},
		"a watch alone":                          {"the field manager is all that is known", []reloader.Hint{seen("helm", 0)}, by("helm", 0), "field manager helm"},
		"a watch of another manager":             {"an audit event may have been lost", []reloader.Hint{hint(alice, 0), seen("argocd", 1)}, nil, "alice, field manager argocd?"},
	} {
		t.Run(name, func(t *testing.T) {
			f := found()
			if c.change != nil {
				c.change(&f)
			}
			hints := slices.Clone(c.hints)
			a := actor.Attribute(change, f, c.hints, reloader.Change{})
			expect(t, a, c.want)
			if t.Failed() {
				t.Log(c.reason)
			}
			if (a.Source == "") != (c.want == "") {
				t.Errorf("change %+v", a)
			}
			if !slices.Equal(hints, c.hints) {
				t.Error("the hints that were passed have changed")
			}
		})
	}
}

// TestManyAuthors: no more are named than a record holds.
func TestManyAuthors(t *testing.T) {
	var hints []reloader.Hint
	for i := range 100 {
		hints = append(hints, hint(reloader.Actor{User: string(rune('a' + i))}, float64(i)/100))
	}
	if n := len(actor.Attribute(change, found(), hints, reloader.Change{}).Candidates); n != 16 {
		t.Errorf("%d authors, want 16", n)
	}
}

// TestLate: a sweep found the change at twelve and a minute, and its hints come later.
func TestLate(t *testing.T) {
	swept := actor.Found{Manager: "helm", Written: after(30), Created: after(-86400)}
	first := actor.Attribute(reloader.Change{VerifiedAt: noon}, found(), []reloader.Hint{hint(alice, 0)}, reloader.Change{})
	for name, c := range map[string]struct {
		reason string
		known  []reloader.Hint
		hints  []reloader.Hint
		before reloader.Change
		change func(*actor.Found)
		want   string
		news   bool
	}{
		"its hint":                      {"the hint waited while nothing ran", nil, []reloader.Hint{hint(bob, 30)}, first, nil, "bob", true},
		"one more":                      {"two edited, and the hint of the first comes later", []reloader.Hint{hint(bob, 30)}, []reloader.Hint{hint(alice, 29)}, first, nil, "alice?, bob", true},
		"the same once more":            {"nothing is new", []reloader.Hint{hint(bob, 30)}, []reloader.Hint{hint(bob, 30)}, first, nil, "bob", false},
		"a request after it":            {"the change was there", nil, []reloader.Hint{hint(bob, 61)}, first, nil, "", false},
		"a request before it":           {"it led to the content before", nil, []reloader.Hint{hint(bob, -1)}, first, nil, "", false},
		"the last write's hint is lost": {"the data was written after the only request", nil, []reloader.Hint{hint(alice, 10)}, first, nil, "alice?", true},
		"nothing before it is known":    {"a request counts if it ended shortly before the change was found", nil, []reloader.Hint{hint(alice, 40), hint(bob, 55)}, reloader.Change{}, func(f *actor.Found) { f.Written = time.Time{} }, "bob", true},
		"written again since":           {"the time of the data is that of a later change", nil, []reloader.Hint{hint(bob, 30)}, first, func(f *actor.Found) { f.Written = after(3600) }, "bob", true},
	} {
		t.Run(name, func(t *testing.T) {
			f := swept
			if c.change != nil {
				c.change(&f)
			}
			known := actor.Attribute(reloader.Change{VerifiedAt: after(60)}, f, c.known, reloader.Change{})
			before := slices.Clone(known.Candidates)
			later, news := actor.Late(known, f, c.hints, c.before)
			expect(t, later, c.want)
			if news != c.news {
				t.Errorf("news %v, want %v", news, c.news)
			}
			if news && (later.Source != reloader.SourceAudit || later.RequestedAt.IsZero() || later.ReceivedAt.IsZero()) {
				t.Errorf("change %+v", later)
			}
			if again, more := actor.Late(later, f, c.hints, c.before); more || !slices.Equal(again.Candidates, later.Candidates) {
				t.Errorf("the same hints once more: %+v", again)
			}
			if !slices.Equal(before, known.Candidates) {
				t.Error("the attribution that was passed has changed")
			}
			if t.Failed() {
				t.Log(c.reason)
			}
		})
	}
}

func TestHeard(t *testing.T) {
	timeout := hint(carol, 2)
	timeout.Code = 504
	heard := actor.Heard{}.With([]reloader.Hint{hint(alice, 0), seen("helm", 1), timeout})
	again := hint(alice, 0)
	again.Source, again.Received = reloader.SourceShipped, after(60)
	later, another := hint(alice, 0), hint(alice, 0)
	later.Time, another.Verb = after(1), reloader.VerbDelete
	for name, c := range map[string]struct {
		hint  reloader.Hint
		fresh bool
	}{
		"from another source":     {again, false},
		"another time":            {later, true},
		"another verb":            {another, true},
		"another user":            {hint(bob, 0), true},
		"a watch":                 {seen("helm", 1), true},
		"with an unknown outcome": {timeout, true},
	} {
		if got := heard.Fresh([]reloader.Hint{c.hint}); (len(got) == 1) != c.fresh {
			t.Errorf("%s: fresh %v, want %v", name, !c.fresh, c.fresh)
		}
	}
	full := heard
	for i := range 16 {
		full = full.With([]reloader.Hint{hint(bob, float64(100+i))})
	}
	if len(full) != 16 || len(full.Fresh([]reloader.Hint{hint(alice, 0)})) != 1 || len(full.Fresh([]reloader.Hint{hint(bob, 100)})) != 0 {
		t.Errorf("%d requests are remembered, want the last 16", len(full))
	}
	if len(heard) != 1 {
		t.Error("the value that was passed has changed")
	}
}
