package dispatcher_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// TestMissingIsOnRecord: a config that is named or mounted and does not exist never changes. The record of the workload says so, with the name
// that was probably meant, until it exists; what is optional is not missed.
func TestMissingIsOnRecord(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
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
	})
}

// TestUnreadableIsOnRecord: the right to read is taken away after the baseline. The next change goes unnoticed, and the record says so until the
// config can be read again.
func TestUnreadableIsOnRecord(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.usually()
		unreadable := func(want int) {
			t.Helper()
			if record, _ := w.store.recordOf(webRef); len(record.Unreadable) != want || len(record.Problems) != 0 {
				t.Errorf("unreadable %+v, want %d; problems %q", record.Unreadable, want, record.Problems)
			}
		}
		unreadable(0)
		forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "app", errLost)
		w.failing(func(verb, ref string) error {
			if verb == "meta" || verb == "get" {
				return forbidden
			}
			return nil
		})
		w.edit(alice, app, "2")
		w.pass(quiet)
		unreadable(1)
		w.failing(nil)
		w.pass(quiet)
		unreadable(0)
		w.rolled(web, 1)
	})
}
