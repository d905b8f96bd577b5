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
