package api

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/reroll-dev/reroll/reloader"
)

func TestCommands(t *testing.T) {
	until := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	cart := reloader.WorkloadRef{Kind: "Deployment", Namespace: "shop", Name: "cart"}
	cases := map[string]struct {
		target, body string
		deed         Deed
		want         reloader.Command
	}{
		"reload": {
			workloadPath + "/reload", `{"reason":"new certificates"}`,
			Deed{"reload", "workloads", "shop", "cart"},
			reloader.Command{Verb: "reload", Workload: cart, Reason: "new certificates"},
		},
		"retry of a workload": {workloadPath + "/retry", ``, Deed{"retry", "workloads", "shop", "cart"}, reloader.Command{Verb: "retry", Workload: cart}},
		"retry of a config": {
			"/api/v1/configs/local/shop/Secret/password/retry", ``,
			Deed{"retry", "configs", "shop", "password"},
			reloader.Command{Verb: "retry", Config: reloader.Config{Kind: reloader.Secret, Namespace: "shop", Name: "password"}},
		},
		"pause in a namespace": {
			clusterPath + "/pause", `{"namespace":"shop","selector":"app=cart","until":"2030-01-01T00:00:00Z","reason":"sale"}`,
			Deed{"pause", "pauses", "shop", ""},
			reloader.Command{Verb: "pause", Namespace: "shop", Selector: "app=cart", Until: until, Reason: "sale"},
		},
		"pause of all": {
			clusterPath + "/pause", `{"until":"2030-01-01T00:00:00Z"}`, Deed{"pause", "pauses", "", ""}, reloader.Command{Verb: "pause", Until: until},
		},
		"resume": {clusterPath + "/resume", `{"namespace":"shop"}`, Deed{"resume", "pauses", "shop", ""}, reloader.Command{Verb: "resume", Namespace: "shop"}},
		"freeze": {
			clusterPath + "/freeze", `{"until":"2030-01-01T00:00:00Z","reason":"sale"}`,
			Deed{"freeze", "clusters", "", "local"},
			reloader.Command{Verb: "freeze", Until: until, Reason: "sale"},
		},
		"freeze with nulls": {
			clusterPath + "/freeze", `{"until":null,"reason":null}`, Deed{"freeze", "clusters", "", "local"}, reloader.Command{Verb: "freeze"},
		},
		"thaw": {clusterPath + "/thaw", ``, Deed{"thaw", "clusters", "", "local"}, reloader.Command{Verb: "thaw"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.populate()
			var asked []Deed
			d := f.guard(t, door{allowed: func(_ User, deed Deed) (bool, error) {
				asked = append(asked, deed)
				return true, nil
			}})
			if w := f.as(t, "alice", http.MethodPost, tc.target, tc.body); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"result":"Done"`) {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			tc.want.Cluster, tc.want.User = "local", "alice"
			if diff := cmp.Diff([]reloader.Command{tc.want}, d.given, cmpopts.IgnoreFields(reloader.Command{}, "ID", "At")); diff != "" {
				t.Errorf("commands (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]Deed{tc.deed}, asked); diff != "" {
				t.Errorf("what it takes (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRedactedCommandsNameNobody: where names are not to be stored, a command has none, nor has the log that tells of it; what it does and who
// may give it is the same.
func TestRedactedCommandsNameNobody(t *testing.T) {
	for _, redact := range []bool{false, true} {
		f := newFixture(t)
		f.populate()
		var log bytes.Buffer
		var asked User
		d := f.guardWith(t, Options{RedactActors: redact, Logger: slog.New(slog.NewTextHandler(&log, nil)), Access: door{allowed: func(u User, _ Deed) (bool, error) {
			asked = u
			return true, nil
		}}})
		if w := f.as(t, "alice", http.MethodPost, clusterPath+"/freeze", `{"reason":"sale"}`); w.Code != http.StatusOK {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		if named := d.given[0].User == "alice"; len(d.given) != 1 || named == redact || redact && d.given[0].User != "" {
			t.Errorf("redacted %t: %+v", redact, d.given)
		}
		if told := strings.Contains(log.String(), "alice"); told == redact || !strings.Contains(log.String(), d.given[0].ID) {
			t.Errorf("redacted %t: the log has %s", redact, &log)
		}
		if asked.Name != "alice" || d.given[0].Reason != "sale" {
			t.Errorf("redacted %t: %+v may, %+v", redact, asked, d.given[0])
		}
	}
}

// TestRetryOfAFollowedConfig: a halted change of a config of another cluster is tried again where it was halted.
func TestRetryOfAFollowedConfig(t *testing.T) {
	f := newFixture(t)
	f.followRules()
	d := f.guard(t, door{allowed: func(User, Deed) (bool, error) { return true, nil }})
	for cluster, code := range map[string]int{"c2": http.StatusOK, "c9": http.StatusNotFound} {
		if w := f.as(t, "alice", http.MethodPost, "/api/v1/configs/"+cluster+"/shared/ConfigMap/rules/retry", ``); w.Code != code {
			t.Errorf("in %s: %d %s, want %d", cluster, w.Code, w.Body, code)
		}
	}
	if len(d.given) != 1 || d.given[0].Cluster != "c2" || d.given[0].Config != rules {
		t.Errorf("commands %+v", d.given)
	}
}

func TestCommandAnswers(t *testing.T) {
	cases := map[string]struct {
		answer reloader.CommandAnswer
		fault  error
		code   int
	}{
		"done":                  {reloader.CommandAnswer{Result: reloader.CommandDone}, nil, 200},
		"refused":               {reloader.CommandAnswer{Result: reloader.CommandRefused, Message: "all is frozen"}, nil, 409},
		"no such workload":      {reloader.CommandAnswer{Result: reloader.CommandNotFound, Message: "it is gone"}, nil, 404},
		"failed":                {reloader.CommandAnswer{Result: reloader.CommandFailed, Message: "timeout"}, nil, 503},
		"a later result":        {reloader.CommandAnswer{Result: "Later", Message: "?"}, nil, 503},
		"nobody listens":        {reloader.CommandAnswer{}, ErrNobodyListens, 503},
		"no answer in its time": {reloader.CommandAnswer{}, errors.New("timeout"), 503},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.populate()
			d := f.guard(t, door{allowed: everything})
			d.answer, d.fault = tc.answer, tc.fault
			if w := f.as(t, "alice", http.MethodPost, workloadPath+"/reload", ""); w.Code != tc.code {
				t.Errorf("%d, want %d: %s", w.Code, tc.code, w.Body)
			}
		})
	}
}

func TestCommandsThatMakeNoSense(t *testing.T) {
	f := newFixture(t)
	f.populate()
	d := f.guard(t, door{allowed: everything})
	for name, tc := range map[string]struct {
		target, body string
		code         int
	}{
		"a workload that is unknown": {"/api/v1/workloads/local/shop/Deployment/none/reload", ``, 404},
		"a cluster that is unknown":  {"/api/v1/clusters/none/freeze", ``, 404},
		"a pause without an end":     {clusterPath + "/pause", `{"namespace":"shop"}`, 422},
		"a namespace with a dot":     {clusterPath + "/pause", `{"namespace":"a.b","until":"2030-01-01T00:00:00Z"}`, 422},
		"a long reason":              {clusterPath + "/freeze", `{"reason":"` + strings.Repeat("x", 257) + `"}`, 422},
	} {
		if w := f.as(t, "alice", http.MethodPost, tc.target, tc.body); w.Code != tc.code {
			t.Errorf("%s: %d, want %d: %s", name, w.Code, tc.code, w.Body)
		}
	}
	if w := f.as(t, "alice", http.MethodGet, workloadPath+"/reload", ""); w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != http.MethodPost {
		t.Errorf("GET: %d, Allow %q", w.Code, w.Header().Get("Allow"))
	}
	if len(d.given) != 0 {
		t.Errorf("given: %+v", d.given)
	}
}

// TestRepeatedCommandIsTheSame: the key that a client chooses makes the ID, for that user alone.
func TestRepeatedCommandIsTheSame(t *testing.T) {
	f := newFixture(t)
	f.populate()
	d := f.guard(t, door{allowed: everything})
	for _, who := range []struct{ user, key string }{{"alice", "1"}, {"alice", "1"}, {"alice", "2"}, {"bob", "1"}, {"alice", ""}, {"alice", ""}} {
		r := httptest.NewRequest(http.MethodPost, workloadPath+"/reload", nil)
		r.Header.Set("Authorization", who.user)
		if who.key != "" {
			r.Header.Set("Idempotency-Key", who.key)
		}
		if w := f.do(t, r); w.Code != http.StatusOK {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	ids := map[string]int{}
	for _, c := range d.given {
		ids[c.ID]++
	}
	if len(ids) != 5 || ids[d.given[0].ID] != 2 {
		t.Errorf("IDs: %v", ids)
	}
}

func TestCutTextKeepsItWhole(t *testing.T) {
	for _, text := range []string{"", "why", strings.Repeat("ü", 200), strings.Repeat("x", 255) + "ü"} {
		got := cutText(text)
		if len(got) > reloader.MaxCommandReasonLength || !strings.HasPrefix(text, got) || strings.ContainsRune(got, '\uFFFD') {
			t.Errorf("%q became %q", text, got)
		}
	}
}
