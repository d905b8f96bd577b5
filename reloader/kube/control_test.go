package kube

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestWrittenAt(t *testing.T) {
	made := time.Date(2026, 1, 31, 18, 0, 0, 0, time.UTC)
	at := func(after time.Duration) *metav1.Time { return &metav1.Time{Time: made.Add(after)} }
	for name, c := range map[string]struct {
		fields []metav1.ManagedFieldsEntry
		want   time.Time
	}{
		"nobody has said when":  {nil, made},
		"the last one counts":   {[]metav1.ManagedFieldsEntry{{Time: at(time.Hour)}, {Time: at(time.Minute)}}, made.Add(time.Hour)},
		"one does not say when": {[]metav1.ManagedFieldsEntry{{}, {Time: at(time.Minute)}}, made.Add(time.Minute)},
	} {
		o := &metav1.ObjectMeta{CreationTimestamp: metav1.Time{Time: made}, ManagedFields: c.fields}
		if got := writtenAt(o); !got.Equal(c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
