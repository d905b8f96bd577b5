//go:build nightly

package chart_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	rig "github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

var builtIn = []string{"Deployment", "StatefulSet", "DaemonSet", "CronJob", "Job"}

// accountUser precedes the name of an account of the release in that of its user.
const accountUser = "system:serviceaccount:" + namespace + ":"

// startRig returns an API server with the namespaces of the tests.
func startRig(t *testing.T) *rig.Cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	dir := t.TempDir()
	const policy = `{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [{"level": "Metadata", "userGroups": ["` + accounts + `"]}]}`
	line.Must(t, os.WriteFile(filepath.Join(dir, "policy.yaml"), []byte(policy), 0o600))
	cluster, err := rig.Start(ctx, rig.Options{
		ControlPlaneOnly: true, Dir: filepath.Join(dir, "cluster"),
		APIServerFlags: []string{"--audit-policy-file=" + filepath.Join(dir, "policy.yaml"), "--audit-log-path=" + filepath.Join(dir, "audit.log")},
	})
	line.Must(t, err)
	t.Cleanup(cluster.Stop)
	for _, name := range []string{namespace, "shop", "billing"} {
		kubectl(t, cluster, "create", "namespace", name)
	}
	for _, name := range []string{"shop", "billing"} {
		kubectl(t, cluster, "create", "--namespace="+name, "--filename=testdata/objects.yaml")
	}
	return cluster
}

func kubectl(t *testing.T, cluster *rig.Cluster, args ...string) {
	t.Helper()
	_, err := cluster.Kubectl(t.Context(), args...)
	line.Must(t, err)
}

// serveEverything adds the kinds of Argo, OpenShift and the Secrets Store CSI driver, with an object of each.
func serveEverything(t *testing.T, cluster *rig.Cluster) {
	t.Helper()
	kubectl(t, cluster, "create", "--filename=../testdata/crds")
	kubectl(t, cluster, "wait", "--for=condition=Established", "crd", "--all")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	// What is established may need a moment more until it is served.
	err := line.Poll(ctx, func(ctx context.Context) error {
		_, err := cluster.Kubectl(ctx, "apply", "--namespace=shop", "--filename=testdata/optional-objects.yaml")
		return err
	})
	line.Must(t, err)
}

// bind installs the chart's roles with some values, and more arguments of helm.
func bind(t *testing.T, cluster *rig.Cluster, values string, more ...string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "rbac.yaml")
	args := append([]string{"--values", filepath.Join("testdata", values, "values.yaml"), "--show-only", "templates/rbac.yaml"}, more...)
	line.Must(t, os.WriteFile(file, []byte(render(t, args...)), 0o600))
	kubectl(t, cluster, "create", "--filename="+file)
}

// accounts is the group of all users of the release.
const accounts = "system:serviceaccounts"

// witness finds in the API server's audit log what a user has asked for.
type witness struct{ log, user, kubeconfig string }

func newWitness(t *testing.T, cluster *rig.Cluster, user string) *witness {
	t.Helper()
	kubeconfig, err := cluster.UserKubeconfig(user, accounts)
	line.Must(t, err)
	return &witness{filepath.Join(filepath.Dir(cluster.Kubeconfig()), "..", "audit.log"), user, kubeconfig}
}

// question is one request about a resource, and whether it was refused.
type question struct {
	namespace, resource, name, verb string
	refused                         bool
}

func (w *witness) asked() (all []question) {
	text, _ := os.ReadFile(w.log) // without it nothing was asked
	for line := range bytes.Lines(text) {
		var e auditv1.Event
		if json.Unmarshal(line, &e) != nil || e.User.Username != w.user || e.ObjectRef == nil || e.ResponseStatus == nil {
			continue
		}
		q := question{
			e.ObjectRef.Namespace, strings.TrimPrefix(e.ObjectRef.APIGroup+"/"+e.ObjectRef.Resource, "/"), e.ObjectRef.Name, e.Verb,
			e.ResponseStatus.Code == http.StatusForbidden,
		}
		if all = append(all, q); strings.Contains(e.RequestURI, "sendInitialEvents=true") {
			q.verb = "list" // a list as a stream; API servers that cannot stream are asked for the list
			all = append(all, q)
		}
	}
	return all
}

// unused returns an error that names the grants without which nothing would have been refused.
func (w *witness) unused(granted map[string][]string) error {
	asked := w.asked()
	var left []error
	for scope, lines := range granted {
		for _, line := range lines {
			what, verbs, _ := strings.Cut(line, " ")
			for verb := range strings.SplitSeq(verbs, ",") {
				if !slices.ContainsFunc(asked, func(q question) bool { return q.needs(scope, what, verb) }) {
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
func (w *witness) refused() (refused []string) {
	for _, q := range w.asked() {
		if !q.refused {
			continue
		}
		text := strings.TrimSuffix(q.resource+"/"+q.name, "/") + " " + q.verb
		if q.namespace != "" {
			text = q.namespace + ": " + text
		}
		refused = append(refused, text)
	}
	slices.Sort(refused)
	return slices.Compact(refused)
}
