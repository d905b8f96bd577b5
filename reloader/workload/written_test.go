package workload_test

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/reloader/workload"
)

// TestManagedFieldsOfTheYear10000: users can write managed fields, and a time in them that no record can hold must not reach one.
func TestManagedFieldsOfTheYear10000(t *testing.T) {
	far := metav1.NewTime(time.Date(10_000, 1, 1, 0, 0, 58, 0, time.UTC))
	kind, _ := workload.KindNamed("Deployment")
	got, err := kind.Strip(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Name: "app", Namespace: "ns", ManagedFields: []metav1.ManagedFieldsEntry{
			{Manager: "kubectl", Operation: metav1.ManagedFieldsOperationUpdate, Time: &far},
			{Manager: workload.MarkManager, Operation: metav1.ManagedFieldsOperationUpdate, Time: at(5)},
		},
	}}, func(string) bool { return true })
	if err != nil || !got.LastWritten.Equal(at(5).Time) {
		t.Errorf("written %s, %v; want %s", got.LastWritten, err, at(5))
	}
}
