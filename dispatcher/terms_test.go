package dispatcher_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// TestTerms: what the record of a workload says before anything changes.
func TestTerms(t *testing.T) {
	each(t, scenario.Settings{}, worlds{
		// The record of the workload says so, with the name that was probably meant, until it exists; what is optional is not missed.
		"a config that is named or mounted and does not exist never changes": func(t *testing.T, w *world) {
			w.must(w.create(alice, object(t, `{kind: Secret, metadata: {name: api-password}, stringData: {token: "1"}}`)))
			w.must(w.create(alice, object(t, `
kind: Deployment
metadata: {name: web, annotations: {secret.reloader.stakater.com/reload: "api-pasword,api-password", configmap.reloader.stakater.com/reload: "db-certs,extras"}}
spec:
  template:
    spec:
      containers:
      - name: main
        env: [{name: T, valueFrom: {secretKeyRef: {name: api-password, key: tokn}}}]
        envFrom: [{configMapRef: {name: extras, optional: true}}]
        volumeMounts: [{name: certs, mountPath: /certs}]
      volumes: [{name: certs, configMap: {name: db-certs}}]`)))
			w.settled()
			says := func(want ...reloader.Missing) {
				t.Helper()
				record, _ := w.store.recordOf(webRef)
				if diff := cmp.Diff(want, record.Missing); diff != "" {
					t.Errorf("missing (-want +got):\n%s", diff)
				}
			}
			of := func(kind reloader.ConfigKind, name string) reloader.Config {
				return reloader.Config{Kind: kind, Namespace: scenario.DefaultNamespace, Name: name}
			}
			certs := reloader.Missing{Config: of(reloader.ConfigMap, "db-certs"), Required: true}
			key := reloader.Missing{Config: of(reloader.Secret, "api-password"), Keys: []string{"tokn"}, Required: true}
			typo := reloader.Missing{Config: of(reloader.Secret, "api-pasword"), Meant: "api-password, which the pod template uses"}
			says(certs, key, typo)
			w.must(w.create(alice, object(t, `{kind: ConfigMap, metadata: {name: db-certs}, data: {ca: "1"}}`)))
			w.pass(quiet)
			says(key, typo)
			w.says("Secret/api-password", `{"stringData":{"tokn":"1"}}`)
			says(typo)
			w.must(w.delete(alice, "ConfigMap/db-certs"))
			w.pass(quiet)
			says(certs, typo)
		},
		// What no pod could start without keeps everything from being rolled, is named, and once it is there lets it go at once.
		"missing holds": func(t *testing.T, w *world) {
			w.give("app", "1")
			w.must(w.create(alice, object(t, `{kind: ConfigMap, metadata: {name: more}, data: {b: "1"}}`)))
			w.must(w.create(alice, object(t, `
kind: Deployment
metadata: {name: web, annotations: {`+waveLists+`}}
spec:
  template:
    spec:
      containers:
      - name: main
        envFrom: [{configMapRef: {name: app}}, {configMapRef: {name: maybe, optional: true}}]
        env: [{name: B, valueFrom: {configMapKeyRef: {name: more, key: b}}}]`)))
			w.settled()
			w.says("ConfigMap/more", `{"data":{"b":null,"c":"2"}}`)
			w.says(app, `{"data":{"a":"2"}}`)
			w.rolled(web, 0)
			if hold := w.held(reloader.ReasonMissingConfig); hold.Message != `no pod starts without key "b" of ConfigMap/main/more` {
				t.Errorf("hold %+v", hold)
			}
			w.must(w.delete(alice, "ConfigMap/more"))
			w.rolls(0)
			if hold := w.held(reloader.ReasonMissingConfig); hold.Message != "no pod starts without ConfigMap/main/more" {
				t.Errorf("hold %+v", hold)
			}
			w.must(w.create(alice, object(t, `{kind: ConfigMap, metadata: {name: more}, data: {b: "2"}}`)))
			w.rolls(1)
			w.held("")
		},
	})
}

func (w *world) says(ref scenario.Ref, body string) {
	w.t.Helper()
	w.must(w.patch(alice, ref, types.MergePatchType, []byte(body)))
	w.pass(quiet)
}

// absences has dispatchers roll for creation, deletion or both.
func absences(onCreate, onDelete bool) func(*dispatcher.Options) {
	return func(o *dispatcher.Options) { o.ReloadOnCreate, o.ReloadOnDelete = onCreate, onDelete }
}

// TestAbsence: what rolls in a namespace that ends goes in a moment, too.
func TestAbsence(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(_ *testing.T, w *world) {
		w.configure = absences(false, true)
		w.usually()
		w.cluster.terminating = true
		w.must(w.delete(alice, app))
		w.rolls(0)
	})
}

// TestMadeWithAGeneratedName: the audit event has no name, so Reroll checks all configs that a pattern could match.
func TestMadeWithAGeneratedName(t *testing.T) {
	for onCreate, want := range map[bool]int64{true: 1, false: 0} {
		inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
			w.configure = absences(onCreate, false)
			w.give("part-1", "1")
			w.give("app", "1")
			w.deploy("web", `configmap.reloader.stakater.com/reload: "part-.*"`, "app")
			w.pass(time.Minute)
			w.settled()
			put := w.cluster.audit
			w.cluster.audit = func(h reloader.Hint) {
				h.Config.Name, h.Code = "", http.StatusCreated
				put(h)
			}
			w.give("part-x7k2p", "1")
			w.cluster.audit = put
			w.pass(5 * time.Second)
			w.rolled(web, want)
			w.edit(alice, "ConfigMap/part-x7k2p", "2")
			w.rolls(want + 1)
		})
	}
}

// editUnheard edits app and returns the hint, which the dispatcher has not received.
func (w *world) editUnheard(by reloader.Actor, value string) reloader.Hint {
	w.t.Helper()
	w.stream.hold()
	w.edit(by, app, value)
	return w.stream.take()[0]
}

// TestWho: who may have made a change, and why we think so. The change and its reload name the same candidates, even if a hint
// arrives after the sweep has found the change, or after the reload was recorded. If a process ends before the roll, only the newest change is its cause.
func TestWho(t *testing.T) {
	// twice has two people write, one after the other.
	twice := func(w *world) {
		w.edit(alice, app, "2")
		w.pass(time.Minute)
		w.edit(bob, app, "3")
		w.pass(time.Minute)
	}
	for name, test := range map[string]struct {
		act  func(w *world)
		want string
	}{
		"nobody generates a name that was there before": {func(w *world) {
			w.stream.hold()
			w.must(w.delete(alice, app))
			w.give("app", "2")
			w.stream.put(reloader.Hint{ // about a ConfigMap whose name only the API server knows
				Cluster: clusterName, Config: reloader.Config{Kind: reloader.ConfigMap, Namespace: appConfig.Namespace}, Verb: reloader.VerbCreate,
				Source: reloader.SourceAudit, Actor: bob, AuditID: "audit-generated", Code: 201, Time: time.Now(), Received: time.Now(),
			})
			w.stream.send(w.stream.take()...)
		}, "alice true"},
		"two, while nobody ran": {func(w *world) { w.stop(); twice(w); w.start() }, "alice false, bob true"},
		"the feed is late, and a sweep was there before": {func(w *world) {
			w.stream.hold()
			w.edit(alice, app, "2")
			w.pass(3 * time.Minute)
			w.rolled(web, 1)
			w.stream.send(w.stream.take()...)
		}, "alice true"},
		"the hint about the change before comes again": {func(w *world) {
			again := w.stream.last[appConfig]
			w.stop()
			w.edit(bob, app, "2")
			w.pass(time.Minute)
			w.stream.send(again)
			w.start()
		}, "bob true"},
	} {
		runWorld(t, name, scenario.Settings{}, func(t *testing.T, w *world) {
			w.configure = func(o *dispatcher.Options) { o.SweepInterval = time.Minute }
			w.usually()
			test.act(w)
			w.must(w.Quiesce(t.Context()))
			w.rolled(web, 1)
			changes, err := w.store.LoadChanges(t.Context(), clusterName)
			w.must(err)
			change := changes[appConfig]
			var found []string
			for _, who := range change.Candidates {
				found = append(found, fmt.Sprint(who.Actor.User, " ", who.Sure))
			}
			if got := strings.Join(slices.Compact(slices.Sorted(slices.Values(found))), ", "); got != test.want {
				t.Errorf("candidates are %q, want %q", got, test.want)
			}
			if change.Source != reloader.SourceAudit || change.RequestedAt.IsZero() || change.ReceivedAt.IsZero() {
				t.Errorf("the change does not say which hint told of it: %+v", change)
			}
			reloads := w.store.reloadsOf(webRef)
			if len(reloads) != 1 || len(reloads[0].Causes) != 1 {
				t.Fatalf("reloads: %+v", reloads)
			}
			cause := reloads[0].Causes[0]
			if d := cmp.Diff(change.Candidates, cause.Candidates); d != "" || cause.Source != change.Source || !cause.RequestedAt.Equal(change.RequestedAt) || !cause.ReceivedAt.Equal(change.ReceivedAt) {
				t.Errorf("the reload says something else than its change: %+v\n%s", cause, d)
			}
			if n := len(w.store.announced); n != 1 {
				t.Errorf("%d reloads were announced: who did it is no other reload", n)
			}
		})
	}
}
