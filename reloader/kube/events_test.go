package kube

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

func web() *workload.Workload {
	return &workload.Workload{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", UID: "u"}, Kind: "Deployment"}
}

func cause(kind reloader.ConfigKind, config string, users ...string) reloader.Cause {
	c := reloader.Cause{Config: reloader.Config{Kind: kind, Namespace: "shop", Name: config}}
	for _, u := range users {
		c.Candidates = append(c.Candidates, reloader.Candidate{Actor: reloader.Actor{User: u}, Sure: true})
	}
	return c
}

// told is what people and scripts read of an Event.
type told struct{ Type, Reason, Source, Message string }

func TestEventsOf(t *testing.T) {
	const (
		app     = "Changes detected in 'app' of type 'CONFIGMAP' in namespace 'shop', Updated 'web' of type 'Deployment' in namespace 'shop'"
		vault   = "Changes detected in 'vault' of type 'SECRETPROVIDERCLASS' in namespace 'shop', Updated 'web' of type 'Deployment' in namespace 'shop'"
		refused = "Changes detected in 'db' of type 'SECRET' in namespace 'shop', not updated: 'web' of type 'Deployment' in namespace 'shop'"
	)
	cases := map[string]struct {
		reason string
		reload reloader.Reload
		want   []told
	}{
		"rolled": {
			"one actor is asserted",
			reloader.Reload{Outcome: reloader.ReasonReloaded, Causes: []reloader.Cause{cause(reloader.ConfigMap, "app", "alice")}},
			[]told{{"Normal", "Reloaded", "reloader-configmaps", app + "; changed by alice"}},
		},
		"several actors": {
			"of several actors, none is",
			reloader.Reload{Outcome: reloader.ReasonReloaded, Causes: []reloader.Cause{
				cause(reloader.ConfigMap, "app", "bob", "alice"), cause(reloader.ConfigMap, "app", "bob"),
			}},
			[]told{{"Normal", "Reloaded", "reloader-configmaps", app + "; changed by one of alice, bob"}},
		},
		"one who need not be it": {
			"somebody else wrote after the only actor who is known",
			reloader.Reload{Outcome: reloader.ReasonReloaded, Causes: []reloader.Cause{{
				Config:     reloader.Config{Kind: reloader.ConfigMap, Namespace: "shop", Name: "app"},
				Candidates: []reloader.Candidate{{Actor: reloader.Actor{User: "alice"}}},
			}}},
			[]told{{"Normal", "Reloaded", "reloader-configmaps", app + "; perhaps changed by alice"}},
		},
		"nobody": {
			"a sweep knows no actor, and the message is Stakater's to the letter",
			reloader.Reload{Outcome: reloader.ReasonReloaded, Causes: []reloader.Cause{cause(reloader.ConfigMap, "app")}},
			[]told{{"Normal", "Reloaded", "reloader-configmaps", app}},
		},
		"several configs": {
			"each config is told of by itself, with its own actors",
			reloader.Reload{Outcome: reloader.ReasonReloaded, Causes: []reloader.Cause{
				cause(reloader.SecretProviderClass, "vault"), cause(reloader.ConfigMap, "app", "alice"), cause(reloader.SecretProviderClass, "vault"),
			}},
			[]told{
				{"Normal", "Reloaded", "reloader-secretproviderclasspodstatuses", vault},
				{"Normal", "Reloaded", "reloader-configmaps", app + "; changed by alice"},
			},
		},
		"without a restart": {
			"alerts on reloads count it, and the text says how",
			reloader.Reload{Outcome: reloader.ReasonVerified, Causes: []reloader.Cause{cause(reloader.ConfigMap, "app")}, Pods: &reloader.Asked{Asked: 2, Answered: 2}},
			[]told{{"Normal", "Reloaded", "reloader-configmaps", strings.Replace(app, "Updated", "reloaded without a restart", 1) + "; pods: 2 asked, 2 answered, 0 failed"}},
		},
		"refused": {
			"somebody must look",
			reloader.Reload{Outcome: reloader.ReasonRefused, Message: "no permission", Causes: []reloader.Cause{cause(reloader.Secret, "db", "alice")}},
			[]told{{"Warning", "ReloadFail", "reloader-secrets", refused + "; changed by alice: no permission"}},
		},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			var got []told
			for _, e := range eventsOf(web(), test.reload) {
				got = append(got, told{e.Type, e.Reason, e.Source.Component, e.Message})
			}
			same(t, test.reason, test.want, got)
		})
	}
}

// TestEventsAreQueued: what waits when the process ends is still written, once; more than the queue holds is dropped, and a dry run writes
// nothing.
func TestEventsAreQueued(t *testing.T) {
	r := reloader.Reload{Outcome: reloader.ReasonReloaded, Causes: []reloader.Cause{cause(reloader.Secret, "db"), cause(reloader.ConfigMap, "app")}}
	for name, test := range map[string]struct {
		dryRun bool
		want   int
	}{"live": {false, 4}, "dry run": {true, 0}} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset()
			a := NewAnnouncer(newCluster(&connection{events: client, options: Options{DryRun: test.dryRun}}), prometheus.NewRegistry())
			a.waiting = make(chan *corev1.Event, 5)
			a.Announce(web(), r)
			a.Complain(web(), "bad")
			a.Complain(web(), "bad")
			a.Stalled(web(), "slow")
			a.Stalled(web(), "one too many")
			if dropped := testutil.ToFloat64(a.dropped); dropped != float64(test.want/4) {
				t.Errorf("%v Events were dropped", dropped)
			}
			ended, end := context.WithCancel(t.Context())
			end()
			must(t, a.Run(ended))
			events, err := client.CoreV1().Events("shop").List(t.Context(), metav1.ListOptions{})
			if err != nil || len(events.Items) != test.want {
				t.Errorf("%d events were written, want %d; error %v", len(events.Items), test.want, err)
			}
		})
	}
}

// eventRow is a row of the table of Events in docs/reasons-and-events.md.
var eventRow = regexp.MustCompile("(?m)^\\| (`[A-Z][^|]*`) \\| (Normal|Warning) \\| `([A-Za-z]+)` \\|$")

// TestEventsAreDocumented: the table of Events in docs/reasons-and-events.md has every outcome that is one, with its type
// and reason, and no other.
func TestEventsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/reasons-and-events.md")
	must(t, err)
	documented := map[reloader.Reason]string{}
	for _, row := range eventRow.FindAllStringSubmatch(string(text), -1) {
		for _, outcome := range strings.Split(row[1], ", ") {
			documented[reloader.Reason(strings.Trim(outcome, "`"))] = row[2] + " " + row[3]
		}
	}
	for _, i := range reloader.Reasons {
		outcome, want := i.Reason, ""
		r := reloader.Reload{Outcome: outcome, Causes: []reloader.Cause{cause(reloader.ConfigMap, "app")}}
		for _, e := range eventsOf(web(), r) {
			want = e.Type + " " + e.Reason
		}
		if documented[outcome] != want {
			t.Errorf("%s is an Event %q, documented as %q", outcome, want, documented[outcome])
		}
		delete(documented, outcome)
	}
	for outcome := range documented {
		t.Errorf("%s is documented and is no outcome", outcome)
	}
}
