package tenancy

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestRightsEndWithTheNamespace: the REST API tells the tenant nothing of what is elsewhere, not even whether it exists, and the API server takes no write about it.
// The same questions about the tenant's own namespace are answered.
func TestRightsEndWithTheNamespace(t *testing.T) {
	who := newTenant(t)
	who.config(who.owner(), who.theirs)
	who.deploy(who.owner(), who.theirs, "web", map[string]string{"reroll.dev/auto": "true"}, nil)
	who.deploy(who.client, who.own, "web", map[string]string{"reroll.dev/auto": "true"}, nil)
	who.record(who.token, who.own, "web", 1)
	who.record(warden, who.theirs, "web", 1)
	who.rollTheirs(1)
	answered := func(ns string) (paths []string) {
		for _, list := range []string{"changes", "reloads", "workloads", "stats"} {
			paths = append(paths, "/api/v1/"+list+"?namespace="+ns)
		}
		return append(paths, pathOf(ns, "web"))
	}
	own, theirs := answered(who.own), answered(who.theirs)
	who.Await("it to come", func(context.Context) error { return who.read(who.token, own[0], &struct{}{}) })
	for i, path := range theirs {
		code, answer := who.ask(who.token, path)
		if control, said := who.ask(who.token, own[i]); code != http.StatusForbidden || control != http.StatusOK {
			t.Errorf("GET %s: %d %s; of the tenant's own: %d %s", path, code, answer, control, said)
		}
	}
	everything := []string{
		"/api/v1/changes", "/api/v1/events", "/api/v1/events?namespace=" + who.theirs, "/api/v1/clusters",
		"/api/v1/reloads/" + who.reloads(who.theirs)[0].ID, "/api/v1/changes/" + who.changes(who.theirs)[0].ID, "/api/v1/reloads/r-none", "/api/v1/changes/c-none",
	}
	for _, path := range everything {
		if code, answer := who.ask(who.token, path); code != http.StatusForbidden {
			t.Errorf("GET %s: %d %s", path, code, answer)
		}
	}
	_, there := who.ask(who.token, pathOf(who.theirs, "web"))
	if _, absent := who.ask(who.token, pathOf(who.theirs, "absent")); there != strings.ReplaceAll(absent, "absent", "web") {
		t.Errorf("of a workload that exists: %s; of one that does not: %s", there, absent)
	}
	who.noWrites()
}

// noWrites asks for another's roll, try again, freeze and pause with plain writes, which the API server refuses, and for one of the tenant's own.
func (who *tenant) noWrites() {
	who.T.Helper()
	for _, annotation := range []string{"requested", "retry"} {
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"reroll.dev/%s":"1"}}}`, annotation)
		if _, err := who.client.AppsV1().Deployments(who.theirs).Patch(who.Ctx(), "web", types.MergePatchType, patch, metav1.PatchOptions{}); !apierrors.IsForbidden(err) {
			who.T.Errorf("%s of another's workload: %v", annotation, err)
		}
	}
	control := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "reroll-control"}, Data: map[string]string{"control.yaml": "freeze: {}"}}
	if _, err := who.client.CoreV1().ConfigMaps("default").Create(who.Ctx(), control, metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		who.T.Errorf("a freeze: %v", err)
	}
	before := who.deployment(who.own, "web").Generation
	_, err := who.client.AppsV1().Deployments(who.own).Patch(who.Ctx(), "web", types.MergePatchType, []byte(`{"metadata":{"annotations":{"reroll.dev/requested":"1"}}}`), metav1.PatchOptions{})
	who.Must(err)
	who.generations(who.own, before+2, "web") // the annotation is one write, the roll the other
	who.rollTheirs(2)
}

// TestTokensOfNobody: a token that the API server did not make, or made for another service, lets nobody in.
func TestTokensOfNobody(t *testing.T) {
	who := newTenant(t)
	elsewhere, err := account(who.Ctx(), who.own, "elsewhere", "another-service")
	who.Must(err)
	if code, answer := who.ask(who.token, "/api/v1/self"); code != http.StatusOK {
		t.Errorf("the tenant's own: %d %s", code, answer)
	}
	for name, token := range map[string]string{
		"none":             "",
		"no token":         "garbage",
		"a signature":      who.token[:strings.LastIndex(who.token, ".")] + ".AAAA",
		"another audience": elsewhere,
		"too long":         strings.Repeat("x", 20_000),
	} {
		for _, path := range []string{"/api/v1/self", "/api/v1/changes?namespace=" + who.own} {
			if code, answer := who.ask(token, path); code != http.StatusUnauthorized {
				t.Errorf("%s: GET %s: %d %s", name, path, code, answer)
			}
		}
	}
}

// forgedEvent is an audit event of a write that did not happen.
func forgedEvent(n int, verb, resource, ns, name string) string {
	return fmt.Sprintf(`{"kind":"Event","apiVersion":"audit.k8s.io/v1","stage":"ResponseComplete","auditID":"forged-%d","requestURI":"/","verb":%q,`+
		`"user":{"username":"forger"},"objectRef":{"resource":%q,"namespace":%q,"name":%q,"apiVersion":"v1","resourceVersion":"999999999"},`+
		`"responseStatus":{"code":200},"requestReceivedTimestamp":"2030-01-01T00:00:00.000000Z","stageTimestamp":"2030-01-01T00:00:00.000000Z"}`, n, verb, resource, ns, name)
}

// TestForgedEventsRollNothing: anyone who has stolen the certificate with which the API server sends audit events, and tells of writes and deletions
// that did not happen, rolls nothing and puts no change on record. What the owner writes after that rolls once.
func TestForgedEventsRollNothing(t *testing.T) {
	who := newTenant(t)
	who.config(who.owner(), who.theirs)
	who.secret("key", "kept", nil)
	who.deploy(who.owner(), who.theirs, "web", map[string]string{"reroll.dev/auto": "true", "reroll.dev/secrets": "key"}, nil)
	who.record(warden, who.theirs, "web", 2)
	who.rollTheirs(1)
	var events []string
	for _, verb := range []string{"create", "update", "patch", "delete", "deletecollection"} {
		for resource, name := range map[string]string{"configmaps": "app", "secrets": "key"} {
			if verb == "deletecollection" {
				name = ""
			}
			events = append(events, forgedEvent(len(events), verb, resource, who.theirs, name))
		}
	}
	body := `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[` + strings.Join(events, ",") + "]}\n"
	for range 3 {
		code, err := shared.Ship(who.Ctx(), "application/json", "", []byte(body))
		who.Must(err)
		if code < 200 || code > 299 {
			t.Fatalf("forged events are answered %d", code)
		}
	}
	who.rollTheirs(2)
	who.rollTheirs(3)
	seen := map[string]int{}
	for _, c := range who.changes(who.theirs) {
		seen[c.Type+" "+c.Config.Name]++
	}
	delete(seen, "Created app") // which happened
	delete(seen, "Created key")
	if len(seen) != 1 || seen["Updated app"] != 3 {
		t.Errorf("on record are the changes %v", seen)
	}
}

// TestOwnObjectsRollNobodyElse: whatever the tenant writes in their own namespace, a config of the same name that offers itself to all, marks that
// Reroll made elsewhere, or a freeze of Reroll, neither rolls nor holds back a workload of another.
func TestOwnObjectsRollNobodyElse(t *testing.T) {
	who := newTenant(t)
	who.config(who.owner(), who.theirs)
	who.deploy(who.owner(), who.theirs, "web", map[string]string{"reroll.dev/auto": "true", "reroll.dev/configmaps": "app, *"}, nil)
	who.record(warden, who.theirs, "web", 1)
	who.rollTheirs(1)
	marks := who.deployment(who.theirs, "web").Spec.Template.Annotations
	_, err := who.client.CoreV1().ConfigMaps(who.own).Patch(who.Ctx(), "app", "application/merge-patch+json",
		[]byte(`{"metadata":{"annotations":{"reroll.dev/share-with":"*","reroll.dev/followers":"*","reloader.stakater.com/match":"true"}}}`), metav1.PatchOptions{})
	who.Must(err)
	_, err = who.client.CoreV1().ConfigMaps(who.own).Create(who.Ctx(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "reroll-control"},
		Data:       map[string]string{"control.yaml": "freeze: {}\npauses: [{namespace: " + who.theirs + ", until: 2200-01-01T00:00:00Z}]"},
	}, metav1.CreateOptions{})
	who.Must(err)
	who.deploy(who.client, who.own, "web", map[string]string{"reroll.dev/auto": "true"}, marks)
	who.deploy(who.client, who.own, "plain", map[string]string{"reroll.dev/auto": "true"}, nil)
	who.record(who.token, who.own, "web", 1)
	who.record(who.token, who.own, "plain", 1)
	before := who.deployment(who.own, "plain").Generation
	for n := range 3 {
		who.edit(who.client, who.own, fmt.Sprint("by the tenant, ", n))
		who.generations(who.own, before+int64(n)+1, "plain")
		who.rollTheirs(int64(n) + 2)
	}
	for _, r := range who.reloads(who.theirs) {
		for _, c := range r.Causes {
			if c.Config.Namespace != who.theirs {
				t.Errorf("the reload %+v has a cause of the tenant", r)
			}
		}
	}
}
