package behaviour

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestLedgerSize: the API server takes a ConfigMap as large and with as many keys as the ledger writes.
func TestLedgerSize(t *testing.T) {
	t.Parallel()
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "large"}, Data: map[string]string{}}
	for i := range 8000 {
		m.Data[fmt.Sprintf("Deployment.a-workload-of-an-ordinary-name-%d", i)] = strings.Repeat("x", 45)
	}
	if _, err := shared.Kube.Client().CoreV1().ConfigMaps(shared.Kube.Namespace(t)).Create(t.Context(), m, metav1.CreateOptions{FieldManager: "reroll"}); err != nil {
		t.Error(err)
	}
}
