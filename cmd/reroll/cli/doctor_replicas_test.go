package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
)

// leaseless is an API server that grants everything but Leases, and runs one pod in the namespace reroll.
func leaseless(t *testing.T, args ...string) (kubeconfig string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any = metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound}
		code := http.StatusOK
		switch {
		case strings.HasSuffix(r.URL.Path, "/namespaces/kube-system"):
			answer = corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{UID: "u"}}
		case strings.HasSuffix(r.URL.Path, "/namespaces/reroll/pods"):
			pod := corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Args: args}}}}
			answer = corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Items: []corev1.Pod{pod}}
		case strings.HasSuffix(r.URL.Path, "/selfsubjectaccessreviews"):
			body, _ := io.ReadAll(r.Body)
			obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
			review, ok := obj.(*authorizationv1.SelfSubjectAccessReview)
			if !ok {
				t.Errorf("asked for %T: %v", obj, err)
				return
			}
			review.TypeMeta = metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SelfSubjectAccessReview"}
			review.Status.Allowed = review.Spec.ResourceAttributes.Resource != "leases"
			code, answer = http.StatusCreated, review
		default:
			code = http.StatusNotFound
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "config")
	config := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "c", "clusters": [{"name": "c", "cluster": {"server": %q}}],
		"contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}], "users": [{"name": "u", "user": {}}]}`, server.URL)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestDoctorKnowsWhoLeads: whether the rights on the Lease are needed is said by the flag, or else by the pods.
func TestDoctorKnowsWhoLeads(t *testing.T) {
	for name, c := range map[string]struct {
		pod, flags []string
		code       int
		says       string
	}{
		"several":        {[]string{"dispatch", "--enable-ha"}, nil, ExitFailed, "✗ rights: leases: may not create in reroll: several replicas cannot choose who leads"},
		"one":            {[]string{"serve"}, nil, ExitDone, "✓ rights: all that the chart grants are granted\n"},
		"who knows":      {[]string{"api"}, nil, ExitDone, "- rights: leases: may not create in reroll: one process needs none of it"},
		"said to be":     {[]string{"serve"}, []string{"--enable-ha"}, ExitFailed, "✗ rights: leases: may not create"},
		"said not to be": {[]string{"serve", "--enable-ha"}, []string{"--enable-ha=false"}, ExitDone, "✓ rights: all that the chart grants are granted\n"},
	} {
		t.Run(name, func(t *testing.T) {
			api := httptest.NewServer(hub{clusters: []page{{items: []any{map[string]string{"name": "east", "health": "Healthy"}}}}})
			defer api.Close()
			said, _, err := command(t, doctorCommand("test"), append(c.flags, "--server", api.URL, "--kubeconfig", leaseless(t, c.pod...))...)
			if code, _ := ExitCode(err); code != c.code || !strings.Contains(said, c.says) {
				t.Errorf("code %d, want %d and %q: %v\n%s", code, c.code, c.says, err, said)
			}
			if name == "one" && strings.Contains(said, "leases") {
				t.Errorf("leases are spoken of:\n%s", said)
			}
		})
	}
}
