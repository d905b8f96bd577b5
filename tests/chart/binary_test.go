//go:build nightly

package chart_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/reroll-dev/reroll/reloader"
	rig "github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/natsserver"
	"github.com/reroll-dev/reroll/tests/port"
)

// binaryCase are values under which the program itself is run.
type binaryCase struct {
	// set is given to helm besides the values of the folder, which may be none; templates are those with rights, besides rbac.yaml.
	folder, set string
	templates   []string
	// prepare is what the cluster needs besides.
	prepare func(t *testing.T, cluster *rig.Cluster)
	// kinds are those that roll, configs what they roll for, refused the requests that the program makes in vain, and copes with.
	kinds, configs, refused []string
}

var both = []string{"configmaps/prices", "secrets/password"}

// binaryCases are whole releases: all processes of each run.
func binaryCases(t *testing.T) map[string]binaryCase {
	return map[string]binaryCase{
		"default": {folder: "default", kinds: builtIn, configs: both},
		"namespaced": {
			folder: "namespaced", kinds: []string{"Deployment", "StatefulSet", "DaemonSet", "CronJob"}, configs: both[:1],
			refused: []string{
				"apps/deployments list", "configmaps list", "default: discovery.k8s.io/endpointslices/kubernetes get",
				"kube-system: namespaces/kube-system get",
			},
		},
		"admission": {
			folder: "admission", prepare: serveSelected,
			kinds: []string{"Deployment", "StatefulSet", "DaemonSet", "CronJob", "Rollout", "DeploymentConfig"}, configs: both,
		},
		"roles": {
			folder: "default", set: "mode=split,admission.enabled=true,nats.url=" + natsserver.Start(t).ClientURL(),
			kinds: builtIn, configs: both, refused: []string{"kube-system: namespaces/kube-system get"},
		},
		"audit":   {folder: "audit", kinds: builtIn, configs: both, refused: []string{"shop: secrets list"}},
		"watched": {folder: "watched", set: "nats.url=,nats.existingSecret=,config.nats=null", kinds: builtIn, configs: both},
	}
}

// serveSelected adds the kinds that API servers may lack, and the labels that the values ask for.
func serveSelected(t *testing.T, cluster *rig.Cluster) {
	t.Helper()
	serveEverything(t, cluster)
	kubectl(t, cluster, "label", "namespace", "shop", "env=prod", "team=a")
	kubectl(t, cluster, "annotate", "--namespace=shop", "rollouts,deploymentconfigs", "--all",
		"configmap.reloader.stakater.com/reload=prices", "secret.reloader.stakater.com/reload=password")
}

// TestBinaryWorksWithItsRights runs the program itself with the arguments that the chart gives it and under the chart's own accounts. It is told
// of changes by posts to its ingest, or watches them where it has none, rolls a workload of every kind, keeps marks that somebody drops where it admits, and is started twice.
func TestBinaryWorksWithItsRights(t *testing.T) {
	for name, c := range binaryCases(t) {
		t.Run(name, func(t *testing.T) { c.run(t, startRig(t)) })
	}
}

// optIn has every workload of the shop ask to be rolled for both configs.
func optIn(t *testing.T, cluster *rig.Cluster) {
	t.Helper()
	kubectl(t, cluster, "annotate", "--namespace=shop", "deployments,statefulsets,daemonsets,cronjobs,jobs", "--all",
		"configmap.reloader.stakater.com/reload=prices", "secret.reloader.stakater.com/reload=password")
}

func (c binaryCase) run(t *testing.T, cluster *rig.Cluster) {
	optIn(t, cluster)
	if c.prepare != nil {
		c.prepare(t, cluster)
	}
	var more []string
	if c.set != "" {
		more = []string{"--set", c.set}
	}
	bindMore(t, cluster, c.folder, more, c.templates...)
	r := newReleased(t, cluster, rendered(t, c.folder, more...))
	if r.admits != "" || c.folder == "namespaced" { // there the dispatcher keeps the path of a webhook that has its certificate in files
		r.register(t, cluster, append([]string{"--values", filepath.Join("testdata", c.folder, "values.yaml")}, more...))
	}
	for round := range 2 {
		stop := r.start(t)
		for _, what := range c.configs {
			r.change(t, cluster, what, fmt.Sprintf("round %d", round))
		}
		r.waitRolls(t, c.kinds, len(c.configs)*(round+1))
		if r.admits != "" {
			expectKept(t, cluster, round)
		}
		if round == 1 {
			r.expectUsed(t)
		}
		stop()
	}
	refused := r.refused()
	if strings.Contains(fmt.Sprint(c.refused), "secrets list") && !slices.Contains(refused, "shop: secrets list") {
		refused = append(refused, "shop: secrets list") // a sweep that is due asks whether it may list; none was due yet
	}
	if diff := gocmp.Diff(c.refused, refused); diff != "" {
		t.Errorf("requests that were refused (-want +got):\n%s", diff)
	}
}

// contentOf is the field in which somebody writes the content of a config.
func contentOf(what string) string {
	if strings.HasPrefix(what, "secrets/") {
		return "stringData"
	}
	return "data"
}

// expectKept: marks that somebody drops with a new image are there again before the API server has stored the workload.
func expectKept(t *testing.T, cluster *rig.Cluster, round int) {
	t.Helper()
	const env = "--output=jsonpath={.spec.template.spec.containers[0].env[*].name}"
	kubectl(t, cluster, "patch", "deployment/app", "--namespace=shop", "--type=json", fmt.Sprintf(
		`--patch=[{"op":"remove","path":"/spec/template/spec/containers/0/env"},{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"example.test/main:%d"}]`, round))
	left, err := cluster.Kubectl(t.Context(), "get", "deployment/app", "--namespace=shop", env)
	if err != nil || !strings.Contains(left, "STAKATER_PRICES_CONFIGMAP") || !strings.Contains(left, "STAKATER_PASSWORD_SECRET") {
		t.Errorf("of dropped marks there are %q, %v", left, err)
	}
}

// rare is what the program does only when something comes in between.
var rare = map[string]string{
	"secrets update": "a Job's manifest was left behind",
	namespace + ": secrets/example-reroll-ingest-ca update":  "it is renewed after months",
	namespace + ": secrets/example-reroll-ingest-tls update": "the same",
	"apps/deployments get":                    "somebody else wrote it between the decision and the patch",
	"apps/statefulsets get":                   "the same",
	"apps/daemonsets get":                     "the same",
	"argoproj.io/rollouts get":                "the same",
	"apps.openshift.io/deploymentconfigs get": "the same",
	"pods list":                               "its pods are newer than the content, or its mark is of old",
	"namespaces get":                          "a config was deleted",
	"batch/jobs get":                          "a Job of that name is there already",
	namespace + ": configmaps get":            "somebody else wrote a page of the ledger",
	namespace + ": configmaps delete":         "a page of the ledger is empty",
}

// withoutRare returns the grants that are used whenever a change comes.
func withoutRare(granted map[string][]string) map[string][]string {
	often := map[string][]string{}
	for scope, grants := range granted {
		for _, grant := range grants {
			what, verbs, _ := strings.Cut(grant, " ")
			for verb := range strings.SplitSeq(verbs, ",") {
				if rare[what+" "+verb] == "" && rare[scope+": "+what+" "+verb] == "" {
					often[scope] = append(often[scope], what+" "+verb)
				}
			}
		}
	}
	return often
}

// released are the processes of a release, of which each is started once.
type released struct {
	processes []*program
	// ingest, api and admits are the addresses of those who take audit events, answer and admit; the first and the last may be empty.
	ingest, api, admits string
	// cluster is what its own cluster is called; empty at a hub.
	cluster string
	// certified says that the process which takes audit events shows the certificate that it made.
	certified bool
}

// ingestToken is the one of the API server, where values ask for tokens.
const ingestToken = "0123456789abcdef0123456789abcdef" //nolint:gosec // of this test alone

func newReleased(t *testing.T, cluster *rig.Cluster, objects []runtime.Object) *released {
	t.Helper()
	free, err := port.Addresses(2)
	if err != nil {
		t.Fatal(err)
	}
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
	file := filepath.Join(t.TempDir(), "admission.yaml")
	if err := os.WriteFile(file, []byte(render(t, append(values, "--show-only", "templates/admission.yaml")...)), 0o600); err != nil {
		t.Fatal(err)
	}
	kubectl(t, cluster, "create", "--filename="+file)
	if r.admits == "" {
		return
	}
	kubectl(t, cluster, "patch", "mutatingwebhookconfiguration/example-reroll-"+namespace, "--type=json",
		`--patch=[{"op":"replace","path":"/webhooks/0/clientConfig","value":{"url":"https://`+r.admits+`"}}]`)
}

// start starts all processes, one after the other. The returned function ends them in order.
func (r *released) start(t *testing.T) (stop func()) {
	t.Helper()
	for _, p := range r.processes {
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Kill)
		if err := p.WaitReady(t.Context()); err != nil {
			t.Fatal(err)
		}
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
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	for _, p := range r.processes {
		if p.witness == nil {
			continue
		}
		if err := line.Poll(ctx, func(context.Context) error { return p.witness.unused(withoutRare(p.granted)) }); err != nil {
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
	if err != nil {
		t.Fatal(err)
	}
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
		p.arguments = append(p.arguments, "--kubeconfig="+p.witness.Kubeconfig)
	}
	if p.Reroll, err = line.NewProcess(t.Context(), pod.Environment(), p.arguments...); err != nil {
		t.Fatal(err)
	}
}

// change writes a config of the shop, and posts the audit event of it to anyone who takes any.
func (r *released) change(t *testing.T, cluster *rig.Cluster, what, content string) {
	t.Helper()
	kubectl(t, cluster, "patch", what, "--namespace=shop", "--type=merge", fmt.Sprintf(`--patch={%q:{"eu":%q}}`, contentOf(what), content))
	if r.ingest != "" {
		r.tell(t, cluster, what)
	}
}

// tell posts the audit event of a write.
func (r *released) tell(t *testing.T, cluster *rig.Cluster, what string) {
	t.Helper()
	client, scheme := http.DefaultClient, "http://"
	if r.certified {
		client, scheme = ingestClient(t, cluster, r.cluster), "https://"
	}
	resource, name, _ := strings.Cut(what, "/")
	now := time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")
	body := fmt.Sprintf(`{"kind":"EventList","apiVersion":"audit.k8s.io/v1","items":[{"level":"Metadata","auditID":"%s-%d","stage":"ResponseComplete","verb":"patch",
		"user":{"username":"alice"},"objectRef":{"resource":%q,"namespace":"shop","name":%q,"apiVersion":"v1"},"responseStatus":{"code":200},
		"requestReceivedTimestamp":%q,"stageTimestamp":%q}]}`, name, time.Now().UnixNano(), resource, name, now, now)
	if err := expectStatusBy(t.Context(), client, http.MethodPost, scheme+r.ingest+"/v1/audit/"+r.cluster, body, http.StatusNoContent); err != nil {
		t.Fatal(err)
	}
}

// ingestClient is an API server's: it trusts the CA of the Secret that the program keeps, and shows a certificate that the CA has signed.
func ingestClient(t *testing.T, cluster *rig.Cluster, name string) *http.Client {
	t.Helper()
	var secret *corev1.Secret
	err := line.Poll(t.Context(), func(ctx context.Context) (err error) {
		secret, err = cluster.Client().CoreV1().Secrets(namespace).Get(ctx, release+"-reroll-ingest-ca", metav1.GetOptions{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	ca, err := tls.X509KeyPair(secret.Data["tls.crt"], secret.Data["tls.key"])
	if err != nil {
		t.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{name + ".audit.reroll.dev"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, ca.Leaf, key.Public(), ca.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca.Leaf)
	transport := &http.Transport{TLSClientConfig: &tls.Config{
		RootCAs: roots, ServerName: release + "-reroll-ingest." + namespace + ".svc",
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// waitRolls waits until a workload of each kind was rolled for n changes.
func (r *released) waitRolls(t *testing.T, kinds []string, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	served := line.Reroll{API: "http://" + r.api}
	err := line.Poll(ctx, func(ctx context.Context) error {
		reloads, err := served.Reloads(ctx, "shop")
		if err != nil {
			return err
		}
		causes := map[string]int{}
		for _, one := range reloads {
			if one.Outcome == string(reloader.ReasonReloaded) {
				causes[one.Workload.Kind] += len(one.Causes)
			}
		}
		for _, kind := range kinds {
			if causes[kind] < n {
				return fmt.Errorf("a %s was rolled for %d of %d changes", kind, causes[kind], n)
			}
		}
		return nil
	})
	if err != nil {
		for _, p := range r.processes {
			t.Logf("%s:\n%s", p.arguments[0], p.Log())
		}
		t.Fatal(err)
	}
}

// expectStatusBy sends a request and returns an error unless the answer has that status.
func expectStatusBy(ctx context.Context, client *http.Client, method, url, body string, want int) error {
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+ingestToken)
	response, err := client.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // nothing is read
	if response.StatusCode != want {
		return fmt.Errorf("%s %s: %s", method, url, response.Status)
	}
	return nil
}
