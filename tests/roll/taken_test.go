package roll

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/reloader/mark"
	"github.com/reroll-dev/reroll/tests/line"
)

// TestTakenVariableOfJobs: a container has a variable of the mark's name that takes its value from elsewhere. A roll with that mark is refused, as
// TestInPlace shows for the kinds that are changed in place, and no Job is deleted or made. The roll that Reroll makes leaves the mark out.
func TestTakenVariableOfJobs(t *testing.T) {
	taken := []corev1.EnvVar{{Name: "STAKATER_PRICES_CONFIGMAP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.name"}}}}
	for kind, make := range map[string]func() (namespace, name string){
		"Job": func() (string, string) {
			namespace := cluster.Namespace(t)
			makeJob(t, namespace, func(job *batchv1.Job) { job.Spec.Template.Spec.Containers[0].Env = taken })
			return namespace, "import"
		},
		"CronJob": func() (string, string) {
			namespace, name := makeCronJob(t)
			jobs := cluster.Client().BatchV1().CronJobs(namespace)
			of, err := jobs.Get(t.Context(), name, metav1.GetOptions{})
			line.Must(t, err)
			of.Spec.JobTemplate.Spec.Template.Spec.Containers[0].Env = taken
			if _, err := jobs.Update(t.Context(), of, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			return namespace, name
		},
	} {
		namespace, name := make()
		c := connect(t, cluster.Kubeconfig())
		w := read(t, c, kind, namespace, name)
		r, before := rollOf(t, w), jobsIn(t, namespace)
		forced := r
		forced.Marks = []mark.Mark{{Place: mark.Place{Env: taken[0].Name, Containers: []string{"main"}}, Value: "aa11"}}
		if _, err := c.Roll(t.Context(), w, forced); !apierrors.IsInvalid(err) {
			t.Errorf("%s: a roll with the mark: %v, want invalid", kind, err)
		}
		if diff := cmp.Diff(before, jobsIn(t, namespace)); diff != "" {
			t.Errorf("%s: a roll that is refused has deleted or made a Job (-before +after):\n%s", kind, diff)
		}
		if _, err := c.Roll(t.Context(), w, r); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		made := jobsIn(t, namespace)
		if len(made) != 1 || len(before) == 1 && made[0].UID == before[0].UID {
			t.Fatalf("%s: %d Jobs, want a new one", kind, len(made))
		}
		template := made[0].Spec.Template
		if diff := cmp.Diff(taken, template.Spec.Containers[0].Env); diff != "" || template.Annotations[mark.HashKey] != "h" {
			t.Errorf("%s: %v (-want +got):\n%s", kind, template.Annotations, diff)
		}
	}
}
