package admission

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/port"
)

const (
	document = "../../docs/admission.md"
	// folder is where the document puts files, and known whom it gives a certificate to: the Service of the webhook.
	folder = "/etc/kubernetes/reroll"
	known  = "reroll-admission.reroll.svc"
	// unknown is the name of another Service that leads to the same port, for which the API server has no certificate.
	unknown = "stranger.reroll.svc"
)

// TestClientCertificate: an API server that is started as the document says shows its certificate to a webhook that asks for one, and gets marks.
// Without a certificate the webhook tells it nothing, and nobody is kept from writing.
func TestClientCertificate(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	addresses, err := port.Addresses(2)
	s.must(err)
	serving, clients := s.authority("serving"), s.authority("clients")
	dir := t.TempDir()
	pair, err := clients.Client("apiserver")
	s.must(err)
	s.write(dir, map[string][]byte{"admission-client.crt": pair.CertPEM, "admission-client.key": pair.KeyPEM, "clients.crt": clients.CertPEM()})
	pair, err = serving.Server("reroll", known, unknown)
	s.must(err)
	s.write(dir, map[string][]byte{"tls.crt": pair.CertPEM, "tls.key": pair.KeyPEM})
	cluster, err := kube.Start(s.ctx, kube.Options{ControlPlaneOnly: true, APIServerFlags: []string{s.documented(dir, addresses[0])}})
	s.must(err)
	defer cluster.Stop()
	s.settle(cluster, addresses[0])
	s.aloneIn(
		cluster, addresses[1], "--admission-address", addresses[0], "--admission-tls-cert", filepath.Join(dir, "tls.crt"),
		"--admission-tls-key", filepath.Join(dir, "tls.key"), "--admission-tls-client-ca", filepath.Join(dir, "clients.crt"),
	)

	s.asks(cluster, known, addresses[0], serving.CertPEM())
	s.await(func() error { return s.markedIn(cluster) })

	s.asks(cluster, unknown, addresses[0], serving.CertPEM())
	s.await(func() error {
		if err := s.markedIn(cluster); !errors.Is(err, errAstray) {
			return line.Stop(fmt.Errorf("without a certificate the request is marked, or not allowed: %v", err))
		}
		passed, err := cluster.Metric(s.ctx, "apiserver_admission_webhook_fail_open_count", `name="`+unknown+`"`)
		if err == nil && passed == 0 {
			err = errors.New("the webhook is not asked")
		}
		return err
	})
	if got, err := cluster.Metric(s.ctx, "apiserver_admission_webhook_fail_open_count", `name="`+known+`"`); err != nil || got > 0 {
		t.Errorf("%v requests with the certificate went astray: %v", got, err)
	}
}

func (s *site) write(dir string, files map[string][]byte) {
	s.t.Helper()
	for name, content := range files {
		s.must(os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
}

// documented writes the files of the document into dir, and returns the flag of the document that names the first. The user is called by the
// port as well, which is another one than 443 here.
func (s *site) documented(dir, address string) string {
	s.t.Helper()
	content, err := os.ReadFile(document)
	s.must(err)
	_, port, err := net.SplitHostPort(address)
	s.must(err)
	replace := strings.NewReplacer(folder, dir, known, known+":"+port).Replace
	files := regexp.MustCompile("(?ms)^```yaml\n# "+folder+"/(\\S+)\n(.*?)^```$").FindAllStringSubmatch(string(content), -1)
	if len(files) != 2 {
		s.t.Fatalf("%s has %d files for the API server, want 2", document, len(files))
	}
	for _, file := range files {
		s.write(dir, map[string][]byte{file[1]: []byte(replace(file[2]))})
	}
	flag := regexp.MustCompile("`(--admission-control-config-file=[^`]+)`").FindSubmatch(content)
	if flag == nil {
		s.t.Fatalf("%s does not say the flag of the API server", document)
	}
	return replace(string(flag[1]))
}

// settle makes what the webhook reads in a new cluster, and the two Services, which lead to an address of this machine.
func (s *site) settle(cluster *kube.Cluster, address string) {
	s.t.Helper()
	client := cluster.Client().CoreV1()
	for _, name := range []string{s.ns, "reroll"} {
		_, err := client.Namespaces().Create(s.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		s.must(err)
	}
	_, err := client.ConfigMaps(s.ns).Create(s.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "app"}, Data: map[string]string{"key": "one"}}, metav1.CreateOptions{})
	s.must(err)
	key, err := s.client.CoreV1().Secrets("default").Get(s.ctx, "reroll-digest-key", metav1.GetOptions{})
	s.must(err)
	key.ObjectMeta = metav1.ObjectMeta{Name: key.Name, Labels: key.Labels, Annotations: key.Annotations}
	_, err = client.Secrets("default").Create(s.ctx, key, metav1.CreateOptions{})
	s.must(err)
	for _, host := range []string{known, unknown} {
		name, _, _ := strings.Cut(host, ".")
		_, err := client.Services("reroll").Create(s.ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeExternalName, ExternalName: "localhost", Ports: []corev1.ServicePort{{Port: portOf(s, address)}},
		}}, metav1.CreateOptions{})
		s.must(err)
	}
}

func portOf(s *site, address string) int32 {
	s.t.Helper()
	_, port, err := net.SplitHostPort(address)
	s.must(err)
	n, err := strconv.ParseInt(port, 10, 32)
	s.must(err)
	return int32(n)
}

// asks has the API server of a cluster ask a Service, and nobody else, as the chart registers it. The webhook has the name of the Service.
func (s *site) asks(cluster *kube.Cluster, host, address string, bundle []byte) {
	s.t.Helper()
	of, err := s.client.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(s.ctx, configuration, metav1.GetOptions{})
	s.must(err)
	name, _, _ := strings.Cut(host, ".")
	path, number := "/v1/admit", portOf(s, address)
	of.ObjectMeta = metav1.ObjectMeta{Name: configuration}
	of.Webhooks[0].Name = host
	of.Webhooks[0].ClientConfig = admissionregistrationv1.WebhookClientConfig{CABundle: bundle, Service: &admissionregistrationv1.ServiceReference{
		Name: name, Namespace: "reroll", Path: &path, Port: &number,
	}}
	client := cluster.Client().AdmissionregistrationV1().MutatingWebhookConfigurations()
	if err := client.Delete(s.ctx, configuration, metav1.DeleteOptions{}); err == nil {
		s.await(func() error {
			if err := s.markedIn(cluster); !errors.Is(err, errAstray) {
				return fmt.Errorf("the webhook is still asked: %v", err)
			}
			return nil
		})
	}
	_, err = client.Create(s.ctx, of, metav1.CreateOptions{})
	s.must(err)
}
