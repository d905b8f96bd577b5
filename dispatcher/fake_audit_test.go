package dispatcher_test

import (
	"net/http"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// report makes the hint of a write that was answered with success.
func (c *cluster) report(ref scenario.Ref, verb reloader.Verb, by reloader.Actor) {
	if ref.Workload() {
		return
	}
	kind, namespace, name, _ := ref.Split()
	now := time.Now()
	c.audit(reloader.Hint{
		Cluster: clusterName, Config: reloader.Config{Kind: reloader.ConfigKind(kind), Namespace: namespace, Name: name},
		Verb: verb, Source: reloader.SourceAudit, Actor: by, AuditID: "audit-" + c.next(), Code: http.StatusOK,
		Time: now, Received: now,
	})
}

// manage puts by into the managed fields. There is one time for all that a manager writes, and it moves with each of their writes.
func manage(obj scenario.Typed, by reloader.Actor, data bool) {
	fields := `{"f:metadata":{}}`
	if data {
		fields = `{"f:data":{}}`
	}
	now := metav1.Now().Rfc3339Copy()
	entries := []metav1.ManagedFieldsEntry{{
		Manager: by.FieldManager, Operation: metav1.ManagedFieldsOperationUpdate, Time: &now, FieldsV1: metav1.NewFieldsV1(fields),
	}}
	for _, e := range obj.GetManagedFields() {
		if e.Manager != by.FieldManager {
			entries = append(entries, e)
		} else if e.FieldsV1.GetRawString() != fields {
			entries[0].FieldsV1 = metav1.NewFieldsV1(`{"f:data":{},"f:metadata":{}}`)
		}
	}
	obj.SetManagedFields(entries)
}

func normalise(obj scenario.Typed) {
	s, ok := obj.(*corev1.Secret)
	if !ok || len(s.StringData) == 0 {
		return
	}
	if s.Data == nil {
		s.Data = map[string][]byte{}
	}
	for k, v := range s.StringData {
		s.Data[k] = []byte(v)
	}
	s.StringData = nil
}

func frozen(obj scenario.Typed) bool {
	switch o := obj.(type) {
	case *corev1.ConfigMap:
		return o.Immutable != nil && *o.Immutable
	case *corev1.Secret:
		return o.Immutable != nil && *o.Immutable
	}
	return false
}

func sameData(a, b scenario.Typed) bool {
	switch a := a.(type) {
	case *corev1.ConfigMap:
		b := b.(*corev1.ConfigMap)
		return reflect.DeepEqual(a.Data, b.Data) && reflect.DeepEqual(a.BinaryData, b.BinaryData)
	case *corev1.Secret:
		return reflect.DeepEqual(a.Data, b.(*corev1.Secret).Data)
	}
	return false
}
