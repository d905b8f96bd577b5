package main

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// TestWrites: of each config the newest write that succeeded counts, anyone who made it and however often it was reported; nothing else does.
func TestWrites(t *testing.T) {
	event := func(verb, resource, name string, code int32, at int64) auditv1.Event {
		return auditv1.Event{
			Stage: auditv1.StageResponseComplete, Verb: verb, ObjectRef: &auditv1.ObjectReference{Resource: resource, Namespace: "chaos-0", Name: name},
			ResponseStatus: &metav1.Status{Code: code}, StageTimestamp: metav1.NewMicroTime(time.UnixMicro(at)),
		}
	}
	started, elsewhere := event("update", "secrets", "begun", 200, 9), event("update", "secrets", "far", 200, 9)
	started.Stage, elsewhere.ObjectRef.Namespace = auditv1.StageRequestReceived, "default"
	batch, err := json.Marshal(auditv1.EventList{Items: []auditv1.Event{
		event("create", "configmaps", "a", 201, 1), event("update", "configmaps", "a", 200, 5), event("patch", "configmaps", "a", 200, 3),
		event("update", "configmaps", "a", 409, 7), event("get", "configmaps", "a", 200, 8), event("list", "configmaps", "", 200, 8),
		event("delete", "secrets", "a", 200, 2), event("update", "pods", "a", 200, 9), started, elsewhere,
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[written]int64{{"ConfigMap", "chaos-0", "a"}: 5, {"Secret", "chaos-0", "a"}: 2}
	if diff := cmp.Diff(want, writes(batch)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
