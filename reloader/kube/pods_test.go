package kube

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/reroll-dev/reroll/reloader/workload"
)

// TestRunningPages: pods that run are listed page by page. One on a later page that does not say whose it is is an error, and no pod that is left out.
func TestRunningPages(t *testing.T) {
	const page = `{"kind": "PodList", "apiVersion": "v1", "metadata": {"continue": %q}, "items": [{"metadata": {"name": %q, %s
		"labels": {"pod-template-hash": "5d4f"}, "ownerReferences": [{"kind": "ReplicaSet", "name": %q, "controller": true}]}}]}`
	gone := fmt.Sprintf(`"deletionTimestamp": %q,`, time.Now().Format(time.RFC3339))
	last := "web-5d4f"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch q := r.URL.Query(); {
		case q.Get("fieldSelector") != "status.phase=Running" || q.Get("labelSelector") != "app=web" || q.Get("limit") != "500":
			t.Errorf("request %s", r.URL)
		case q.Get("continue") == "":
			fmt.Fprintf(w, page, "2", "a", "", "web-5d4f")
		case q.Get("continue") == "2":
			fmt.Fprintf(w, page, "3", "b", gone, "web-5d4f")
		default:
			fmt.Fprintf(w, page, "", "c", "", last)
		}
	}))
	t.Cleanup(server.Close)
	c := newCluster(&connection{config: &rest.Config{Host: server.URL}})
	must(t, c.makeClients())
	web := &workload.Workload{Kind: "Deployment", ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Selector: "app=web"}
	found, err := c.Running(t.Context(), web)
	var names []string
	for _, p := range found {
		names = append(names, p.Name)
	}
	if err != nil || !slices.Equal(names, []string{"a", "c"}) {
		t.Errorf("found %q, %v", names, err)
	}
	last = "handmade"
	if found, err := c.Running(t.Context(), web); err == nil || found != nil {
		t.Errorf("with a pod of an adopted ReplicaSet: %v, %v", found, err)
	}
}
