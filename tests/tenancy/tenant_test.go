package tenancy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/reroll-dev/reroll/tests/line"
)

// account makes a ServiceAccount and returns its token, which is for audiences; for the API server if there are none.
func account(ctx context.Context, ns, name string, audiences ...string) (string, error) {
	accounts := shared.Kube.Client().CoreV1().ServiceAccounts(ns)
	if _, err := accounts.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		return "", err
	}
	answer, err := accounts.CreateToken(ctx, name, &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: audiences}}, metav1.CreateOptions{})
	return answer.Status.Token, err
}

const testTime = 2 * time.Minute

// tenant is a user who may do everything in the namespace own, and nothing in the namespace theirs, which is another's.
type tenant struct {
	t           *testing.T
	ctx         context.Context
	token       string
	client      kubernetes.Interface
	own, theirs string
}

func newTenant(t *testing.T) *tenant {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTime)
	t.Cleanup(cancel)
	who := &tenant{t: t, ctx: ctx, own: shared.Kube.Namespace(t), theirs: shared.Kube.Namespace(t)}
	var err error
	who.token, err = account(ctx, who.own, "tenant")
	who.must(err)
	config := rest.AnonymousClientConfig(shared.Kube.RESTConfig())
	config.BearerToken, config.QPS = who.token, -1
	who.client = kubernetes.NewForConfigOrDie(config)
	_, err = shared.Kube.Kubectl(ctx, "--namespace="+who.own, "create", "rolebinding", "tenant", "--clusterrole=cluster-admin", "--serviceaccount="+who.own+":tenant")
	who.must(err)
	who.await(func() error { // the API server learns of new rights late
		_, err := who.client.CoreV1().Secrets(who.own).List(ctx, metav1.ListOptions{})
		return err
	})
	if _, err := who.client.CoreV1().Secrets(who.theirs).List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Fatalf("the tenant may read what belongs to others anyway: %v", err)
	}
	who.config(who.client, who.own)
	return who
}

func (who *tenant) must(err error) {
	who.t.Helper()
	if err != nil {
		log := shared.Reroll.Log()
		who.t.Fatalf("%v\nreroll's log:\n%s", err, log[max(0, len(log)-4000):])
	}
}

func (who *tenant) await(check func() error) {
	who.t.Helper()
	who.must(line.Poll(who.ctx, func(context.Context) error { return check() }))
}

// ask sends a request to the REST API with a token, again while it is told to ask less often.
func (who *tenant) ask(token, method, path string, body any) (code int, answer string) {
	who.t.Helper()
	return who.askAt(shared.Reroll.API, token, method, path, body)
}

// askAt is ask at another API.
func (who *tenant) askAt(url, token, method, path string, body any) (code int, answer string) {
	who.t.Helper()
	var sent []byte
	if body != nil {
		var err error
		sent, err = json.Marshal(body)
		who.must(err)
	}
	for {
		request, err := http.NewRequestWithContext(who.ctx, method, url+path, bytes.NewReader(sent))
		who.must(err)
		request.Header.Set("Authorization", "Bearer "+token)
		request.Header.Set("Content-Type", "application/json")
		response, err := http.DefaultClient.Do(request)
		who.must(err)
		said, err := io.ReadAll(response.Body)
		who.must(err)
		who.must(response.Body.Close())
		if response.StatusCode != http.StatusTooManyRequests {
			return response.StatusCode, string(said)
		}
		select {
		case <-time.After(time.Second):
		case <-who.ctx.Done():
			who.must(who.ctx.Err())
		}
	}
}

// read reads a path of the REST API with a token.
func (who *tenant) read(token, path string, into any) error {
	who.t.Helper()
	code, answer := who.ask(token, http.MethodGet, path, nil)
	if code != http.StatusOK {
		return fmt.Errorf("GET %s: %d %s", path, code, answer)
	}
	return json.Unmarshal([]byte(answer), into)
}

// reloads returns the reloads of a namespace as the warden sees them, and changes its changes.
func (who *tenant) reloads(ns string) []line.Reload {
	who.t.Helper()
	var page struct{ Items []line.Reload }
	who.must(who.read(warden, "/api/v1/reloads?limit=500&namespace="+ns, &page))
	return page.Items
}

func (who *tenant) changes(ns string) []line.Change {
	who.t.Helper()
	var page struct{ Items []line.Change }
	who.must(who.read(warden, "/api/v1/changes?limit=500&namespace="+ns, &page))
	return page.Items
}
