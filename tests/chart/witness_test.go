package chart_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httputil"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"

	rig "github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// witness stands between a process and the API server, which takes the process for a user, and notes what it asks for.
type witness struct {
	Kubeconfig string

	mu    sync.Mutex
	asked []question
}

// question is one request about a resource, and whether it was refused.
type question struct {
	namespace, resource, name, verb string
	refused                         bool
}

var requests = request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}

func newWitness(t *testing.T, cluster *rig.Cluster, user string) *witness {
	t.Helper()
	config, err := cluster.User(user)
	line.Must(t, err)
	w := &witness{}
	w.Kubeconfig = rig.Between(t, config, func(forward *httputil.ReverseProxy) http.Handler {
		forward.ModifyResponse = w.note
		return forward
	})
	return w
}

// note reads a request as the API server's authorization does.
func (w *witness) note(response *http.Response) error {
	info, err := requests.NewRequestInfo(response.Request)
	if err != nil || !info.IsResourceRequest {
		return err
	}
	q := question{
		namespace: info.Namespace, resource: strings.TrimPrefix(info.APIGroup+"/"+info.Resource, "/"), name: info.Name, verb: info.Verb,
		refused: response.StatusCode == http.StatusForbidden,
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, q)
	if response.Request.URL.Query().Get("sendInitialEvents") == "true" {
		q.verb = "list" // a list as a stream; API servers that cannot stream are asked for the list
		w.asked = append(w.asked, q)
	}
	return nil
}

// unused returns an error that names the grants without which nothing would have been refused.
func (w *witness) unused(granted map[string][]string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var left []error
	for scope, lines := range granted {
		for _, line := range lines {
			what, verbs, _ := strings.Cut(line, " ")
			for verb := range strings.SplitSeq(verbs, ",") {
				if !slices.ContainsFunc(w.asked, func(q question) bool { return q.needs(scope, what, verb) }) {
					left = append(left, fmt.Errorf("granted in %q and never used: %s %s", scope, what, verb))
				}
			}
		}
	}
	return errors.Join(left...)
}

// needs reports whether the answer to q was a grant's doing. Reroll's own namespace has grants of its own.
func (q question) needs(scope, what, verb string) bool {
	if q.refused || q.verb != verb || what != q.resource && what != q.resource+"/"+q.name {
		return false
	}
	if scope == "" {
		return q.namespace != namespace
	}
	return q.namespace == scope
}

// refused returns the refused requests, each once and sorted.
func (w *witness) refused() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var refused []string
	for _, q := range w.asked {
		if !q.refused {
			continue
		}
		text := q.resource + " " + q.verb
		if q.name != "" {
			text = q.resource + "/" + q.name + " " + q.verb
		}
		if q.namespace != "" {
			text = q.namespace + ": " + text
		}
		refused = append(refused, text)
	}
	slices.Sort(refused)
	return slices.Compact(refused)
}
