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

// leaseless is an API server that grants everything but Leases, and runs one pod in the namespace reroll. refuses says with which code the list
// of pods is refused; 0 is not at all.
func leaseless(t *testing.T, refuses func(as string) int, args ...string) (kubeconfig string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any = metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound}
		code := http.StatusOK
		switch {
		case strings.HasSuffix(r.URL.Path, "/namespaces/kube-system"):
			answer = corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{UID: "u"}}
		case strings.HasSuffix(r.URL.Path, "/namespaces/reroll/pods"):
			if refused := refuses(r.Header.Get("Impersonate-User")); refused != 0 {
				reason := map[int]metav1.StatusReason{http.StatusForbidden: metav1.StatusReasonForbidden, http.StatusInternalServerError: metav1.StatusReasonInternalError}[refused]
				code, answer = refused, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Reason: reason, Code: int32(refused)}
				break
			}
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
	const granted = "✓ rights: all that the chart grants are granted\n"
	nobody := func(string) int { return 0 }
	theirs := []string{"--as", "system:serviceaccount:reroll:reroll"}
	ha := []string{"dispatch", "--enable-ha"}
	for name, c := range map[string]struct {
		pod, flags []string
		refuses    func(as string) int
		code       int
		says       string
	}{
		"several":        {ha, nil, nobody, ExitFailed, "✗ rights: leases: may not create in reroll: several replicas cannot choose who leads"},
		"one":            {[]string{"serve"}, nil, nobody, ExitDone, granted},
		"who knows":      {[]string{"api"}, nil, nobody, ExitDone, "- rights: leases: may not create in reroll: one process needs none of it"},
		"in a file":      {[]string{"dispatch", "--config=x"}, nil, nobody, ExitDone, "- rights: leases: may not create in reroll: one process needs none of it"},
		"said to be":     {[]string{"serve"}, []string{"--enable-ha"}, nobody, ExitFailed, "✗ rights: leases: may not create"},
		"said not to be": {[]string{"serve", "--enable-ha"}, []string{"--enable-ha=false"}, nobody, ExitDone, granted},
		"seen in one's own name": {ha, theirs, func(as string) int {
			if as != "" {
				return http.StatusForbidden
			}
			return 0
		}, ExitFailed, "✗ rights: leases: may not create"},
		"seen in their name": {ha, theirs, func(as string) int {
			if as == "" {
				return http.StatusForbidden
			}
			return 0
		}, ExitFailed, "✗ rights: leases: may not create"},
		"nobody may see": {ha, theirs, func(string) int { return http.StatusForbidden }, ExitDone, "- rights: leases: may not create in reroll: one process needs none of it"},
		"nobody answers": {ha, theirs, func(string) int { return http.StatusInternalServerError }, ExitUnknown, "? rights: leases: may not create in reroll, and whether there are several"},
	} {
		t.Run(name, func(t *testing.T) {
			api := httptest.NewServer(hub{clusters: []page{{items: []any{map[string]string{"name": "east", "health": "Healthy"}}}}})
			defer api.Close()
			said, _, err := command(t, doctorCommand("test"), append(c.flags, "--server", api.URL, "--kubeconfig", leaseless(t, c.refuses, c.pod...))...)
			if code, _ := ExitCode(err); code != c.code || !strings.Contains(said, c.says) {
				t.Errorf("code %d, want %d and %q: %v\n%s", code, c.code, c.says, err, said)
			}
			if strings.Contains(said, granted) != (c.says == granted) {
				t.Errorf("whether all is granted is said wrongly:\n%s", said)
			}
			if name == "one" && strings.Contains(said, "leases") {
				t.Errorf("leases are spoken of:\n%s", said)
			}
		})
	}
}
