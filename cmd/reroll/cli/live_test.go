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

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// kubeAPI is an API server with the namespace shop, and Deployments of it by name.
type kubeAPI map[string]appsv1.Deployment

func (k kubeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	const deployments = "/apis/apps/v1/namespaces/shop/deployments"
	meta := strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadata")
	partial := func(name string) metav1.PartialObjectMetadata {
		return metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadata"}, ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	var answer any
	d, there := k[strings.TrimPrefix(r.URL.Path, deployments+"/")]
	switch {
	case r.URL.Path == "/api/v1/namespaces/kube-system":
		answer = corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: "u-1"}}
	case r.URL.Path == "/api/v1/namespaces/shop":
		answer = partial("shop")
	case r.URL.Path == deployments:
		l := metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"}}
		for name := range k {
			l.Items = append(l.Items, partial(name))
		}
		answer = l
	case there && meta:
		answer = partial(d.Name)
	case there:
		answer = d
	default:
		w.WriteHeader(http.StatusNotFound)
		answer = metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

// TestExplainLooksIntoTheCluster: of a workload that is not on record the cluster tells whether it exists, and what its annotations lack; a
// kubeconfig of another cluster tells nothing.
func TestExplainLooksIntoTheCluster(t *testing.T) {
	annotated := func(name string, annotations ...string) appsv1.Deployment {
		d := appsv1.Deployment{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "shop", Annotations: map[string]string{}}}
		for _, key := range annotations {
			d.Annotations[key] = "true"
		}
		return d
	}
	kube := httptest.NewServer(kubeAPI{
		"web": annotated("web"), "typo": annotated("typo", "reloader.stakater.com/atuo"), "own": annotated("own", "reroll.dev/atuo"), "auto": annotated("auto", "reloader.stakater.com/auto"),
	})
	defer kube.Close()
	kubeconfig := filepath.Join(t.TempDir(), "config")
	config := fmt.Sprintf(`{"current-context": "c", "clusters": [{"name": "c", "cluster": {"server": %q}}], "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}], "users": [{"name": "u", "user": {}}]}`, kube.URL)
	if err := os.WriteFile(kubeconfig, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	const onRecord = "shop/Deployment/web is not opted in, or does not exist: Reroll has no record of it. "
	for name, c := range map[string]struct{ workload, uid, want, state string }{
		"it exists":          {"web", "u-1", "shop/Deployment/web exists, and is not opted in. Next: kubectl -n shop annotate deployment/", "NotOptedIn"},
		"it does not":        {"wbe", "u-1", "There is no Deployment wbe in namespace shop; did you mean web? Next: kubectl get deployment -A", "NotOptedIn"},
		"a key is misspelt":  {"typo", "u-1", "reloader.stakater.com/atuo is not an annotation of any tool: did you mean reloader.stakater.com/auto? Next: kubectl -n shop annotate deployment/", "NotOptedIn"},
		"one of our own is":  {"own", "u-1", "did you mean reroll.dev/auto", "NotOptedIn"},
		"it is left out":     {"auto", "u-1", "exists and asks for configs, and Reroll has no record of it", "NotOptedIn"},
		"another cluster":    {"web", "u-2", onRecord, "NotOptedIn"},
		"nobody knows which": {"web", "", onRecord, "NotOptedIn"},
		"nobody watches it":  {"web", "u-away", "The dispatcher of cluster local has published no status for ", "Unreachable"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Path == "/api/v1/clusters":
					health := "Healthy"
					if c.uid == "u-away" {
						health = "Away"
					}
					_, _ = fmt.Fprintf(w, `{"items":[{"name":"local","uid":%q,"health":%q,"updatedAt":"2026-01-01T00:00:00Z"}]}`, c.uid, health)
				case strings.HasPrefix(r.URL.Path, "/api/v1/workloads/"):
					w.WriteHeader(http.StatusNotFound)
				default:
					_, _ = io.WriteString(w, `{"items":[]}`)
				}
			}))
			defer server.Close()
			said, _, err := command(t, explainCommand("test"), "shop/deploy/"+c.workload, "--server", server.URL, "--kubeconfig", kubeconfig)
			if err != nil || !strings.HasPrefix(said, c.state+": ") || !strings.Contains(said, c.want) {
				t.Errorf("%v\n%s\nwant %s", err, said, c.want)
			}
		})
	}
}
