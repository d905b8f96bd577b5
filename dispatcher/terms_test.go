package dispatcher_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// TestTerms: what the record of a workload says before anything changes.
func TestTerms(t *testing.T) {
	each(t, scenario.Settings{}, worlds{
		// The record says what the workload lacks, and is written again when that changes.
		"what is missing": func(t *testing.T, w *world) {
			w.give("app", "1")
			w.waved()
			w.settled()
			more := reloader.Config{Kind: reloader.ConfigMap, Namespace: scenario.DefaultNamespace, Name: "more"}
			says := func(missing ...reloader.Missing) {
				t.Helper()
				record, _ := w.store.recordOf(webRef)
				if diff := cmp.Diff(missing, record.Missing); diff != "" {
					t.Errorf("missing (-want +got):\n%s", diff)
				}
			}
			gone := reloader.Missing{Config: more, Required: true, Awaited: true}
			says(gone)
			w.must(w.create(alice, object(t, `{kind: ConfigMap, metadata: {name: more}, data: {c: "1"}}`)))
			w.pass(quiet)
			says(reloader.Missing{Config: more, Keys: []string{"b"}, Required: true, Awaited: true})
			w.says("ConfigMap/more", `{"data":{"b":"1"}}`)
			says()
			w.must(w.delete(alice, "ConfigMap/more"))
			w.pass(quiet)
			says(gone)
		},
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
			key := reloader.Missing{Config: of(reloader.Secret, "api-password"), Keys: []string{"tokn"}, Meant: "token, which it has", Required: true}
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
			w.waved()
			w.settled()
			w.says("ConfigMap/more", `{"data":{"b":null,"c":"2"}}`)
			w.says(app, `{"data":{"a":"2"}}`)
			w.rolled(web, 0)
			if hold := w.held(reloader.ReasonMissingConfig); hold.Message != `missing: key "b" of ConfigMap/main/more` {
				t.Errorf("hold %+v", hold)
			}
			w.must(w.delete(alice, "ConfigMap/more"))
			w.rolls(0)
			if hold := w.held(reloader.ReasonMissingConfig); hold.Message != "missing: ConfigMap/main/more" {
				t.Errorf("hold %+v", hold)
			}
			w.must(w.create(alice, object(t, `{kind: ConfigMap, metadata: {name: more}, data: {b: "2"}}`)))
			w.rolls(1)
			w.held("")
		},
	})
}

// TestTermsOfWhatComesToNothing: the record says why a workload is not rolled at all, and which keys matter to it; and says it again when either
// changes, so that anyone who reads it foresees what becomes of a change.
func TestTermsOfWhatComesToNothing(t *testing.T) {
	const nightly scenario.Ref = "CronJob/nightly"
	nightlyRef := reloader.WorkloadRef{Kind: "CronJob", Namespace: scenario.DefaultNamespace, Name: "nightly"}
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.nightly("suspend: true, ")
		w.deploy("web", auto+`, reroll.dev/keys: "used, *.yaml ,,!debug*"`, "app")
		w.settled()
		says := func(ref reloader.WorkloadRef, dormant reloader.Reason, keys string) {
			t.Helper()
			if record, _ := w.store.recordOf(ref); record.Dormant != dormant || record.Keys != keys {
				t.Errorf("%s: dormant %q, keys %q, want %q, %q", ref, record.Dormant, record.Keys, dormant, keys)
			}
		}
		says(nightlyRef, reloader.ReasonSuspended, "")
		says(webRef, "", "used,*.yaml,!debug*")
		w.edit(alice, app, "2")
		w.pass(quiet)
		for ref, want := range map[reloader.WorkloadRef]reloader.Reason{nightlyRef: reloader.ReasonSuspended, webRef: reloader.ReasonKeysUnused} {
			if got := w.outcomes(ref); len(got) != 1 || got[want] != 1 {
				t.Errorf("outcomes of %s: %v, want %s as its record foretells", ref, got, want)
			}
		}
		w.says(nightly, `{"spec":{"suspend":false}}`)
		says(nightlyRef, "", "")
		w.says(web, `{"metadata":{"annotations":{"reroll.dev/keys":"("}}}`)
		says(webRef, "", "")
	})
}

// waved creates web, which needs all of ConfigMap app and key b of ConfigMap more, and does without ConfigMap maybe.
func (w *world) waved() {
	w.t.Helper()
	w.must(w.create(alice, object(w.t, `
kind: Deployment
metadata: {name: web, annotations: {`+waveLists+`}}
spec:
  template:
    spec:
      containers:
      - name: main
        envFrom: [{configMapRef: {name: app}}, {configMapRef: {name: maybe, optional: true}}]
        env: [{name: B, valueFrom: {configMapKeyRef: {name: more, key: b}}}]`)))
}

func (w *world) says(ref scenario.Ref, body string) {
	w.t.Helper()
	w.must(w.patch(alice, ref, types.MergePatchType, []byte(body)))
	w.pass(quiet)
}
