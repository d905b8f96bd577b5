//go:build nightly

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// The name of somebody and the address that they work from, which are nobody else's.
const (
	somebody = "somebody-1c9be7a4-of-the-staff"
	desk     = "127.77.31.204"
)

// TestRedactActors has somebody edit configs, pause and reload, and looks for their name and address in everything that Reroll says, sends and
// leaves behind, at the hub as well. With --redact-actors they are nowhere; without, they are found where people look for them, so that the
// search is known to find.
func TestRedactActors(t *testing.T) {
	told := []string{"GET /api/v1/changes?includeBaselines=true", "reroll changes -o wide", "the stream of events", "files of reroll", "files of the hub"}
	for name, flags := range map[string][]string{"redacted": {"--redact-actors"}, "as it is": nil} {
		t.Run(name, func(t *testing.T) {
			found := whereIsSomebody(t, flags...)
			if flags != nil {
				delete(found, "configmaps") // with the document that they wrote
				for _, place := range slices.Sorted(maps.Keys(found)) {
					t.Errorf("%s: %s", place, found[place])
				}
				return
			}
			for _, place := range told {
				if len(found[place]) == 0 {
					t.Errorf("%s does not tell of them: the search proves nothing", place)
				}
			}
			for _, place := range []string{"GET /api/v1/clusters", "configmaps"} {
				if !slices.Contains(found[place], somebody) {
					t.Errorf("%s does not tell who has paused: the search proves nothing", place)
				}
			}
			if !slices.Contains(found["files of reroll"], desk) || !slices.Contains(found["files of the hub"], desk) {
				t.Error("no address is stored: the search proves nothing")
			}
		})
	}
}

// whereIsSomebody returns what is found of somebody who has edited, paused and reloaded, by the place.
func whereIsSomebody(t *testing.T, flags ...string) map[string][]string {
	o := listen(t)
	l := ownLine(t, line.Options{
		Kube:        kube.Options{Audit: &kube.Audit{}},
		Flags:       append([]string{"--coalesce-window", "0s", "--log-level", "debug", "--hub-url", o.hub, "--auth", "token"}, flags...),
		Environment: o.environment(),
	})
	token, client := hire(t, l)
	l.Reroll.API = authenticating(t, l.Reroll.API, token)
	r := newRoom(t, l)
	o.attend(r, flags...)
	r.create(configMap("app", map[string]string{"k": "1"}))
	r.create(secret("password", map[string]string{"k": "1"}))
	r.create(deployment("web", usesEnvFrom("app"), usesSecretVolume("password")))
	r.create(deployment("refused", usesEnvFrom("app"), usesSecretVolume("password")))
	r.waitBaseline("web", 2)
	r.waitBaseline("refused", 2)
	r.refuse("refused")
	_, err := client.CoreV1().ConfigMaps(r.ns).Patch(r.ctx, "app", types.MergePatchType, []byte(`{"data":{"k":"2"}}`), metav1.PatchOptions{})
	r.must(err)
	r.waitRolls("web", 1)
	_, err = client.CoreV1().Secrets(r.ns).Patch(r.ctx, "password", types.MergePatchType, []byte(`{"stringData":{"k":"2"}}`), metav1.PatchOptions{})
	r.must(err)
	r.waitRolls("web", 2)
	_, err = client.CoreV1().ConfigMaps("default").Create(r.ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "reroll-control"},
		Data:       map[string]string{"control.yaml": fmt.Sprintf("pauses: [{namespace: %s, selector: app=nobody, until: 2200-01-01T00:00:00Z, by: %s}]", r.ns, somebody)},
	}, metav1.CreateOptions{})
	r.must(err)
	_, err = client.AppsV1().Deployments(r.ns).Patch(r.ctx, "web", types.MergePatchType, []byte(`{"metadata":{"annotations":{"reroll.dev/requested":"1"}}}`), metav1.PatchOptions{})
	r.must(err)
	r.waitRolls("web", 3)
	r.waitOutcome("refused", "Refused")
	r.waitEvents("web", 2)
	o.waitHeard(r)
	r.waitPaused()

	found := map[string][]string{}
	for place, said := range o.everything(r) {
		if !bytes.Contains(said.text, []byte(said.control)) {
			t.Errorf("%s does not even have %q: the search proves nothing", place, said.control)
		}
		if place != "GET /api/v1/self" { // which tells them their own name
			note(found, place, said.text)
		}
	}
	r.must(l.Reroll.Terminate(r.ctx))
	r.noteFiles(found, "files of reroll", l.DataDir())
	o.endHub()
	r.noteFiles(found, "files of the hub", o.hubDir)
	return found
}

// hire makes somebody an account that may do everything, and returns a token of theirs and a client that they use at their desk.
func hire(t *testing.T, l *line.Line) (string, kubernetes.Interface) {
	t.Helper()
	ctx, admin := t.Context(), l.Kube.Client()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: somebody}}
	_, err := admin.CoreV1().ServiceAccounts("default").Create(ctx, account, metav1.CreateOptions{})
	if err == nil {
		_, err = admin.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "staff"}, RoleRef: rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "cluster-admin"},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "default", Name: somebody}},
		}, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	answer, err := admin.CoreV1().ServiceAccounts("default").CreateToken(ctx, somebody, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(l.Kube.RESTConfig())
	config.BearerToken = answer.Status.Token
	config.Dial = (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(desk)}}).DialContext
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return answer.Status.Token, client
}

// authenticating returns the address of a proxy that shows a token for whoever asks an API.
func authenticating(t *testing.T, api, token string) string {
	t.Helper()
	to, err := url.Parse(api)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(&httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Header.Set("Authorization", "Bearer "+token)
	}})
	t.Cleanup(s.Close)
	t.Cleanup(s.CloseClientConnections) // streams of events would be waited for
	return s.URL
}

// waitPaused waits until the API tells of a pause of the room.
func (r *room) waitPaused() {
	r.t.Helper()
	r.must(line.Poll(r.ctx, func(ctx context.Context) error {
		var body rawJSON
		if err := r.line.Reroll.Get(ctx, "/api/v1/clusters", &body); err != nil || bytes.Contains(body, []byte(r.ns)) {
			return err
		}
		return fmt.Errorf("no pause of %s: %s", r.ns, body)
	}))
}

// note writes down which of name and address are in a text.
func note(found map[string][]string, place string, text []byte) {
	for _, of := range []string{somebody, desk} {
		if len(line.Traces(of, text)) > 0 && !slices.Contains(found[place], of) {
			found[place] = append(found[place], of)
		}
	}
}

// noteFiles does so for the files of a NATS server.
func (r *room) noteFiles(found map[string][]string, place, dir string) {
	r.t.Helper()
	r.eachFile(dir, func(_ string, data []byte) { note(found, place, data) })
}
