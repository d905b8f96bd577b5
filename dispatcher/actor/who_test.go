package actor_test

import (
	"cmp"
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

// found is a change that a look found ten seconds after noon; kubectl-edit wrote it at noon.
func found() actor.Found {
	return actor.Found{ChangeID: "c-1", At: after(10), Manager: "kubectl-edit", Written: noon, Created: after(-86400)}
}

// expect fails the test unless a names these authors: the likeliest first, with a question mark those who are not sure.
func expect(t *testing.T, a actor.Attribution, want string) {
	t.Helper()
	one, ok := a.Author()
	var names []string
	for _, o := range a.Authors {
		name := o.Actor.Name()
		if !o.Sure {
			name += "?"
		}
		names = append(names, name)
	}
	slices.SortFunc(names, func(x, y string) int {
		likely := func(name string) int {
			return map[bool]int{true: 0, false: 1}[strings.TrimSuffix(name, "?") == one.Actor.Name()]
		}
		return cmp.Or(likely(x)-likely(y), strings.Compare(x, y))
	})
	if got := strings.Join(slices.Compact(names), ", "); got != want || ok != (want != "") {
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
		"two managers":                           {"bob's field manager wrote the data last", []reloader.Hint{hint(bob, 0), hint(alice, 1)}, by("helm", 0), "bob, alice?"},
		"two of one manager":                     {"nothing distinguishes them; the last is the likeliest", []reloader.Hint{hint(carol, 1), hint(alice, 0)}, nil, "carol?, alice?"},
		"manager of the client's name":           {"the API server names the manager after the client if the request does not", []reloader.Hint{hint(alice, 0), hint(agent, 1)}, by("argocd", 1), "agent, alice?"},
		"no manager known":                       {"nothing distinguishes them", []reloader.Hint{hint(alice, 0), hint(bob, 1)}, by("", 1), "bob?, alice?"},
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
			a := actor.Attribute(f, c.hints, nil)
			expect(t, a, c.want)
			if t.Failed() {
				t.Log(c.reason)
			}
			if a.ChangeID != f.ChangeID || (a.Source == "") != (c.want == "") {
				t.Errorf("attribution %+v", a)
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
	if n := len(actor.Attribute(found(), hints, nil).Authors); n != 16 {
		t.Errorf("%d authors, want 16", n)
	}
}
