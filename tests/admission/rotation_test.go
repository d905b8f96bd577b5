package admission

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/port"
)

// TestRotation: while certificates are replaced, no request of the API server goes astray, and a second process, which does
// nothing but keep marks, shows what is trusted as well.
func TestRotation(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.apply(s.configFile("app", "one"))
	second := s.alone()
	leaves, asked := map[string]bool{}, 0
	s.Await("it to come", func(context.Context) error {
		if err := s.marked(); errors.Is(err, errGaveUp) {
			return err
		} else if err != nil {
			return line.Stop(fmt.Errorf("request %d: %w", asked, err))
		}
		asked++
		leaf, err := s.shown(second, s.registered().CABundle)
		if err != nil {
			return line.Stop(err)
		}
		if leaves[leaf] = true; len(leaves) < 3 {
			return fmt.Errorf("%d requests saw %d certificates", asked, len(leaves))
		}
		return nil
	})
	t.Logf("%d requests saw %d certificates", asked, len(leaves))
}

// errGaveUp is the error of a request for which the webhook was asked, and had too little time: the machine is busy, and nothing went astray.
var errGaveUp = errors.New("the webhook says that it could not do it in time")

// errAstray is the error of a request that was allowed without marks.
var errAstray = errors.New("it went astray")

// warnings collects those of one request.
type warnings []string

// HandleWarningHeader takes one.
func (w *warnings) HandleWarningHeader(_ int, _, text string) { *w = append(*w, text) }

// marked returns nil if a Deployment that gets a new image, as a dry run, has its mark.
func (s *site) marked() error {
	var warned warnings
	config := shared.Kube.RESTConfig()
	config.WarningHandler = &warned
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	var deployment appsv1.Deployment
	if err := yaml.Unmarshal([]byte(manifest("", "marked", "app", "1", auto)), &deployment); err != nil {
		return err
	}
	if _, err := client.AppsV1().Deployments(s.NS).Create(s.Ctx(), &deployment, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	deployment.Spec.Template.Spec.Containers[0].Image = "example.com/web:2"
	made, err := client.AppsV1().Deployments(s.NS).Update(s.Ctx(), &deployment, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		return err
	}
	n := len(made.Spec.Template.Spec.Containers[0].Env)
	if n != 3 && strings.Contains(strings.Join(warned, " "), "reroll: ") {
		return errGaveUp
	}
	if n != 3 {
		return fmt.Errorf("%w: %d variables", errAstray, n)
	}
	return nil
}

// registered is how the API server calls the webhook.
func (s *site) registered() admissionregistrationv1.WebhookClientConfig {
	s.T.Helper()
	found, err := s.Client().AdmissionregistrationV1().MutatingWebhookConfigurations().Get(s.Ctx(), configuration, metav1.GetOptions{})
	s.Must(err)
	return found.Webhooks[0].ClientConfig
}

// path returns the path at which the API server calls.
func (s *site) path() string {
	s.T.Helper()
	called, err := url.Parse(*s.registered().URL)
	s.Must(err)
	return called.Path
}

// shown returns the certificate that is shown at an address, if a bundle vouches for it.
func (s *site) shown(address string, bundle []byte) (string, error) {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(bundle)
	dialer := tls.Dialer{Config: &tls.Config{RootCAs: pool}}
	connection, err := dialer.DialContext(s.Ctx(), "tcp", address)
	if err != nil {
		return "", fmt.Errorf("the second process: %w", err)
	}
	defer connection.Close() //nolint:errcheck // nothing was sent
	return string(connection.(*tls.Conn).ConnectionState().PeerCertificates[0].Raw), nil
}

// alone starts a process that has the webhook and nothing else, and returns the webhook's address once it is ready.
func (s *site) alone() string {
	s.T.Helper()
	addresses, err := port.Addresses(1)
	s.Must(err)
	r, err := line.NewProcess(s.Ctx(), nil, append([]string{"serve", "--components=admission", "--kubeconfig", shared.Kube.Kubeconfig(), "--set=namespace=default"}, admissionFlags(addresses[0])...)...)
	s.Must(err)
	s.Must(r.Start())
	s.T.Cleanup(func() {
		if err := r.Terminate(context.Background()); err != nil {
			s.T.Errorf("the second process ended badly: %v", err)
		}
	})
	s.Must(r.WaitReady(s.Ctx()))
	return addresses[0]
}
