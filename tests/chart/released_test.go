//go:build nightly

package chart_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	rig "github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/natsserver"
	"github.com/reroll-dev/reroll/tests/pki"
	"github.com/reroll-dev/reroll/tests/port"
)

// released are the processes of a release, each started once.
type released struct {
	processes []*program
	// ingest, api and admits are the addresses of those who take audit events, answer and admit; the first and the last may be empty.
	ingest, api, admits string
	// cluster is what its cluster is called.
	cluster string
	// certified says that the process which takes audit events shows the certificate that it made.
	certified bool
}

// ingestToken is the one of the API server, where values ask for tokens.
const ingestToken = "0123456789abcdef0123456789abcdef" //nolint:gosec // of this test alone

func newReleased(t *testing.T, cluster *rig.Cluster, objects []runtime.Object) *released {
	t.Helper()
	free, err := port.Addresses(2)
	line.Must(t, err)
	r := &released{}
	for _, w := range workloads(t, objects) {
		p := &program{}
		if *w.pod.Spec.AutomountServiceAccountToken {
			p.granted = grantsOf(objects, w.pod.Spec.ServiceAccountName)
			delete(p.granted, "billing") // it has the role of shop, and nothing there has opted in
			p.witness = newWitness(t, cluster, accountUser+w.pod.Spec.ServiceAccountName)
		}
		p.configure(t, w, objects, free[0], free[1])
		if slices.Contains(p.arguments, "--ingest-address="+free[0]) {
			r.ingest, r.certified = free[0], p.certified
		}
		if slices.Contains(p.arguments, "--set=admission.address="+free[1]) {
			r.admits = free[1]
		}
		for _, argument := range p.arguments {
			if name, ok := strings.CutPrefix(argument, "--cluster-name="); ok {
				r.cluster = name
			}
		}
		if strings.Contains(p.arguments[2], "api") {
			r.api = strings.TrimPrefix(p.API, "http://")
		}
		r.processes = append(r.processes, p)
	}
	return r
}

// register makes the chart's webhook, which is asked here instead of at a Service.
func (r *released) register(t *testing.T, cluster *rig.Cluster, values []string) {
	t.Helper()
	create(t, cluster, append(values, "--show-only", "templates/admission.yaml")...)
	if r.admits == "" {
		return
	}
	cluster.MustKubectl(t, "patch", "mutatingwebhookconfiguration/example-reroll-"+namespace, "--type=json",
		`--patch=[{"op":"replace","path":"/webhooks/0/clientConfig","value":{"url":"https://`+r.admits+`"}}]`)
}

// start starts all processes, one after the other. The returned function ends them in order.
func (r *released) start(t *testing.T) (stop func()) {
	t.Helper()
	for _, p := range r.processes {
		line.Must(t, p.Start())
		t.Cleanup(p.Kill)
		line.Must(t, p.WaitReady(t.Context()))
	}
	return func() {
		for _, p := range slices.Backward(r.processes) {
			if err := p.Terminate(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
}

// expectUsed waits until each process has used all that it was granted.
func (r *released) expectUsed(t *testing.T) {
	t.Helper()
	for _, p := range r.processes {
		if p.witness == nil {
			continue
		}
		if err := line.Poll(t.Context(), func(context.Context) error { return p.witness.unused(withoutRare(p.granted)) }); err != nil {
			t.Errorf("%s: %v", p.arguments[2], err)
		}
	}
}

// refused returns the requests of all that were refused.
func (r *released) refused() (all []string) {
	for _, p := range r.processes {
		if p.witness != nil {
			all = append(all, p.witness.refused()...)
		}
	}
	return all
}

// program is one process as the chart starts it, with addresses and files of this machine.
type program struct {
	*line.Reroll
	arguments []string
	// witness sees what it asks the API server for, and granted is what it may; both are nil if it may ask nothing.
	witness *witness
	granted map[string][]string
	// certified says that it makes the certificate of ingest.
	certified bool
}

// configure takes the arguments of a pod, with what is different here.
func (p *program) configure(t *testing.T, of runner, objects []runtime.Object, ingest, admits string) {
	t.Helper()
	pod := line.Pod{Name: of.name + "-0", Namespace: namespace, Spec: of.pod.Spec, Dir: t.TempDir(), Files: func(v corev1.Volume) (map[string]string, error) {
		if v.ConfigMap == nil {
			return map[string]string{"password": natsserver.Password, "tokens": "local:" + ingestToken + "\n"}, nil
		}
		for _, object := range objects {
			if config, ok := object.(*corev1.ConfigMap); ok && config.Name == v.ConfigMap.Name {
				return config.Data, nil
			}
		}
		return nil, fmt.Errorf("there is no ConfigMap %s", v.ConfigMap.Name)
	}}
	given, err := pod.Arguments()
	line.Must(t, err)
	has := func(prefix string) bool {
		return slices.ContainsFunc(given, func(a string) bool { return strings.HasPrefix(a, prefix) })
	}
	// With a certificate in files the webhook asks the API server for nothing that others do not.
	admitsByFiles := has("--set=admission.tlsCert=")
	p.certified = strings.Contains(given[2], "ingest") && !has("--set=ingest.tlsCert=")
	for _, argument := range given {
		if admitsByFiles && strings.HasPrefix(argument, "--components=") {
			argument = strings.TrimSuffix(argument, ",admission")
		}
		if !strings.HasPrefix(argument, "--set=ingest.tls") {
			p.arguments = append(p.arguments, argument)
		}
	}
	if strings.Contains(given[2], "ingest") {
		p.arguments = append(p.arguments, "--ingest-address="+ingest, fmt.Sprintf("--set=ingest.insecureHTTP=%t", !p.certified))
	}
	if strings.Contains(given[2], "dispatch") {
		p.arguments = append(p.arguments, "--set=ingest.canaryInterval=5s")
	}
	if has("--set=admission.") && !admitsByFiles {
		// It is renewed while the test runs.
		p.arguments = append(p.arguments, "--set=admission.address="+admits, "--set=admission.certificateLifetime=20s")
	}
	if p.witness != nil {
		p.arguments = append(p.arguments, "--kubeconfig="+p.witness.kubeconfig)
	}
	p.Reroll, err = line.NewProcess(t.Context(), pod.Environment(), p.arguments...)
	line.Must(t, err)
}

// change writes a config of the shop, and posts the audit event of it to anyone who takes any.
func (r *released) change(t *testing.T, cluster *rig.Cluster, what, content string) {
	t.Helper()
	field := map[string]string{"configmaps": "data", "secrets": "stringData"}[path.Dir(what)]
	cluster.MustKubectl(t, "patch", what, "--namespace=shop", "--type=merge", fmt.Sprintf(`--patch={%q:{"eu":%q}}`, field, content))
	if r.ingest == "" {
		return
	}
	client, scheme := http.DefaultClient, "http://"
	if r.certified {
		client, scheme = ingestClient(t, cluster, r.cluster), "https://"
	}
	resource, name, _ := strings.Cut(what, "/")
	now := time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")
	body := fmt.Sprintf(`{"kind":"EventList","apiVersion":"audit.k8s.io/v1","items":[{"level":"Metadata","auditID":"%s-%d","stage":"ResponseComplete","verb":"patch",
		"user":{"username":"alice"},"objectRef":{"resource":%q,"namespace":"shop","name":%q,"apiVersion":"v1"},"responseStatus":{"code":200},
		"requestReceivedTimestamp":%q,"stageTimestamp":%q}]}`, name, time.Now().UnixNano(), resource, name, now, now)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, scheme+r.ingest+"/v1/audit/"+r.cluster, strings.NewReader(body))
	line.Must(t, err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+ingestToken)
	response, err := client.Do(request)
	line.Must(t, err)
	if _ = response.Body.Close(); response.StatusCode != http.StatusNoContent {
		t.Fatalf("an audit event is answered %s", response.Status)
	}
}

// ingestClient is an API server's: it trusts the CA of the Secret that the program keeps, and shows a certificate that the CA has signed.
func ingestClient(t *testing.T, cluster *rig.Cluster, name string) *http.Client {
	t.Helper()
	var secret *corev1.Secret
	line.Eventually(t, "the CA of ingest", func(ctx context.Context) (err error) {
		secret, err = cluster.Client().CoreV1().Secrets(namespace).Get(ctx, release+"-reroll-ingest-tls", metav1.GetOptions{})
		return err
	})
	dir := t.TempDir()
	for _, file := range []string{"ca.crt", "ca.key"} {
		line.Must(t, os.WriteFile(filepath.Join(dir, file), secret.Data[file], 0o600))
	}
	ca, err := pki.ReadCA(filepath.Join(dir, "ca.crt"), filepath.Join(dir, "ca.key"))
	line.Must(t, err)
	pair, err := ca.Client(name + ".audit.reroll.dev")
	line.Must(t, err)
	shown, err := tls.X509KeyPair(pair.CertPEM, pair.KeyPEM)
	line.Must(t, err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca.CertPEM())
	transport := &http.Transport{TLSClientConfig: &tls.Config{
		RootCAs: roots, ServerName: release + "-reroll-ingest." + namespace + ".svc", Certificates: []tls.Certificate{shown},
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}
