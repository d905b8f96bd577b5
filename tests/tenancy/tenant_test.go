package tenancy

import (
	"context"
	"encoding/json"
	"errors"
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

	"github.com/reroll-dev/reroll/tests/kube"
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

// tenant is a user who may do everything in the namespace own, and nothing in the namespace theirs, which is another's.
type tenant struct {
	*line.Room
	token       string
	client      kubernetes.Interface
	own, theirs string
}

func newTenant(t *testing.T) *tenant {
	t.Helper()
	who := &tenant{Room: line.NewRoom(t, shared), theirs: shared.Kube.Namespace(t)}
	who.own = who.NS
	var err error
	who.token, err = account(t.Context(), who.own, "tenant")
	who.Must(err)
	config := rest.AnonymousClientConfig(shared.Kube.RESTConfig())
	config.BearerToken, config.QPS = who.token, -1
	who.client = kubernetes.NewForConfigOrDie(config)
	who.Kubectl("create", "rolebinding", "tenant", "--clusterrole=cluster-admin", "--serviceaccount="+who.own+":tenant")
	who.Await("it to come", func(context.Context) error { // the API server learns of new rights late
		_, err := who.client.CoreV1().Secrets(who.own).List(t.Context(), metav1.ListOptions{})
		return err
	})
	if _, err := who.client.CoreV1().Secrets(who.theirs).List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Fatalf("the tenant may read what belongs to others anyway: %v", err)
	}
	who.config(who.client, who.own)
	return who
}

// ask reads a path of the REST API with a token, again while it is told to ask less often.
func (who *tenant) ask(token, path string) (code int, answer string) {
	who.T.Helper()
	who.Await("an answer", func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, shared.Reroll.API+path, nil)
		who.Must(err)
		request.Header.Set("Authorization", "Bearer "+token)
		response, err := http.DefaultClient.Do(request)
		who.Must(err)
		said, err := io.ReadAll(response.Body)
		who.Must(errors.Join(err, response.Body.Close()))
		if code, answer = response.StatusCode, string(said); code == http.StatusTooManyRequests {
			return errors.New(answer)
		}
		return nil
	})
	return code, answer
}

// read reads a path of the REST API with a token.
func (who *tenant) read(token, path string, into any) error {
	who.T.Helper()
	code, answer := who.ask(token, path)
	if code != http.StatusOK {
		return fmt.Errorf("GET %s: %d %s", path, code, answer)
	}
	return json.Unmarshal([]byte(answer), into)
}

// reloads returns the reloads of a namespace as the warden sees them, and changes its changes.
func (who *tenant) reloads(ns string) []line.Reload {
	who.T.Helper()
	var page struct{ Items []line.Reload }
	who.Must(who.read(warden, "/api/v1/reloads?limit=500&namespace="+ns, &page))
	return page.Items
}

func (who *tenant) changes(ns string) []line.Change {
	who.T.Helper()
	var page struct{ Items []line.Change }
	who.Must(who.read(warden, "/api/v1/changes?limit=500&namespace="+ns, &page))
	return page.Items
}

// shared is the line of all tests, each of which has namespaces of its own there. Nothing acts on objects but Reroll, which is all that is tried.
var shared *line.Line

// warden is the token of a user who may do everything, to see what is on record.
var warden string

func TestMain(m *testing.M) {
	line.Main(m, &shared, line.Options{
		Kube:  kube.Options{ControlPlaneOnly: true, Audit: &kube.Audit{InitialBackoff: time.Second}},
		Flags: []string{"--set", "debounce.window=100ms", "--set", "api.auth=token"},
	}, func(ctx context.Context, l *line.Line) (err error) {
		if warden, err = account(ctx, "default", "warden"); err == nil {
			_, err = l.Kube.Kubectl(ctx, "create", "clusterrolebinding", "warden", "--clusterrole=cluster-admin", "--serviceaccount=default:warden")
		}
		return err
	})
}
