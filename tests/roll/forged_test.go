package roll

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/reloader/kube"
)

// TestForgedManifestMakesNoJob: anyone who may write Secrets in Reroll's namespace, and read none, has no Job created elsewhere.
func TestForgedManifestMakesNoJob(t *testing.T) {
	namespace := cluster.Namespace(t)
	const job = `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"import","namespace":"NAMESPACE"},` +
		`"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"main","image":"example.org/miner"}]}}}}`
	forged := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "reroll-job-0000", Labels: map[string]string{kube.ManifestLabel: "true"}},
		Type:       kube.ManifestType,
		StringData: map[string]string{"manifest": strings.ReplaceAll(job, "NAMESPACE", namespace), "uid": "0000"},
	}
	secrets := cluster.Client().CoreV1().Secrets(own)
	for name, signature := range map[string]string{"no signature": "", "a made-up one": strings.Repeat("x", 32)} {
		t.Run(name, func(t *testing.T) {
			secret := forged.DeepCopy()
			if signature != "" {
				secret.StringData["signature"] = signature
			}
			if _, err := secrets.Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := secrets.Delete(t.Context(), secret.Name, metav1.DeleteOptions{}); err != nil {
					t.Error(err)
				}
			}()
			err := connect(t, cluster.Kubeconfig()).RecoverJobs(t.Context())
			if err == nil || !strings.Contains(err.Error(), "not signed") || strings.Contains(err.Error(), "miner") {
				t.Errorf("the recovery says %v", err)
			}
			if _, err := cluster.Client().BatchV1().Jobs(namespace).Get(t.Context(), "import", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				t.Errorf("a Job was made of a forged manifest: %v", err)
			}
		})
	}
}
