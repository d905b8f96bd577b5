package behaviour

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/pki"
)

// program is a server that reads the ConfigMap app when it is asked to, as one with a mounted volume would.
type program struct {
	*room
	mu    sync.Mutex
	reads []string
}

func (p *program) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case r.URL.Path == "/metrics":
		fmt.Fprintf(w, "# TYPE config_reloads_total counter\nconfig_reloads_total{config=\"app\"} %d\n", len(p.reads))
	case r.Method != http.MethodPost || r.URL.RequestURI() != "/-/reload?all=1":
		http.Error(w, "no", http.StatusNotFound)
	default:
		c, err := p.Client().CoreV1().ConfigMaps(p.NS).Get(r.Context(), "app", metav1.GetOptions{})
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		p.reads = append(p.reads, c.Data["k"])
	}
}

// hotManifest has apiVersion and kind of the workload web, and annotations besides its strategy.
const hotManifest = `
apiVersion: %s
kind: %s
metadata:
  name: web
  annotations: {reroll.dev/auto: "true", reroll.dev/strategy: http, reroll.dev/http-reload: "POST :web/-/reload?all=1", %s}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      volumes: [{name: config, configMap: {name: app}}]
      containers: [{name: main, image: registry.example/web, volumeMounts: [{name: config, mountPath: /config}]}]
`

// has returns what the program has read.
func (p *program) has() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.reads)
}

// TestRunningPodsReload: running pods of a workload that asks for it take an edit without a restart; it is on record when each was asked again after
// the time that kubelets take. Each is asked for its owner alone, though all three select it. Where the status of a pod names the loopback, that gets no
// call: the workload restarts, and says why; or it reports that, if it must not restart. Records, Events and metrics count the pods. Which workload would
// restart in spite of its strategy is said before a change.
func TestRunningPodsReload(t *testing.T) {
	s := newRoom(t)
	called := func(result string) float64 {
		n, err := s.Line.Reroll.Metric(s.Ctx(), "reroll_hot_reload_calls_total", `result="`+result+`"`)
		s.Must(err)
		return n
	}
	answered, failed := called("answered"), called("failed")
	s.Config("app", "one")
	s.Config("other", "one")
	s.Deploy("env", map[string]string{"reroll.dev/auto": "true", "reroll.dev/strategy": "http", "reroll.dev/http-reload": "POST :web/"}, line.FromConfigMap("other"))
	programs := map[string]*program{}
	for kind, hashLabel := range map[string]string{"Deployment": "pod-template-hash", "StatefulSet": "controller-revision-hash", "DaemonSet": "controller-revision-hash"} {
		s.KubectlWith(fmt.Sprintf(hotManifest, "apps/v1", kind, `reroll.dev/http-verify: "GET :web/metrics config_reloads_total"`), "apply", "-f", "-")
		owner := metav1.OwnerReference{Kind: kind, Name: "web", UID: types.UID(s.Kubectl("get", kind, "web", "-o", "jsonpath={.metadata.uid}"))}
		programs[kind] = &program{room: s}
		s.Must(line.RunPod(t.Context(), s.Client(), s.NS, hashLabel, strings.ToLower(kind), owner, &http.Server{Handler: programs[kind]}))
	}
	s.Settled(len(programs) + 1)
	reroll := func(args ...string) string { // check fails if anything is wrong
		out, _ := s.Reroll(append(args, "-n", s.NS, "--server", s.Line.Reroll.API)...)
		return out
	}
	for _, args := range [][]string{{"check"}, {"explain", "deploy/env"}, {"impact", "cm/other"}} {
		if out := reroll(args...); !strings.Contains(out, "ConfigMap/"+s.NS+"/other is used as envFrom, so running pods do not see its changes") || strings.Contains(out, "/web") {
			t.Errorf("%s says: %s", args[0], out)
		}
	}

	s.Edit("app", "two")
	for _, last := range s.Reloads("web", len(programs)) {
		if last.Outcome != string(reloader.ReasonVerified) || last.Strategy != "http" || fmt.Sprint(last.Pods) != "{1 1 0 []}" {
			t.Errorf("reload %+v", last)
		}
	}
	s.Quiet()
	for kind, p := range programs {
		if out := reroll("explain", kind+"/web"); !strings.Contains(out, "UpToDate") || !strings.Contains(out, "without a restart (strategy http)") {
			t.Errorf("explain says: %s", out)
		}
		if has := p.has(); !slices.Equal(has, []string{"two", "two"}) || s.Kubectl("get", kind, "web", "-o", "jsonpath={.metadata.generation}") != "1" {
			t.Errorf("the %s has read %q, want twice the edit, or its template has changed", kind, has)
		}
	}
	config, err := s.Client().CoreV1().ConfigMaps(s.NS).Get(s.Ctx(), "app", metav1.GetOptions{})
	s.Must(err)
	pods, err := s.Client().CoreV1().Pods(s.NS).List(s.Ctx(), metav1.ListOptions{})
	s.Must(err)
	for _, pod := range pods.Items {
		if got := pod.Annotations["reroll.dev/refresh"]; got != config.ResourceVersion {
			t.Errorf("pod %s was touched with %q, want the version of the ConfigMap, %q", pod.Name, got, config.ResourceVersion)
		}
	}

	s.Kubectl("delete", "statefulset/web", "daemonset/web")
	forged := pods.Items[slices.IndexFunc(pods.Items, func(p corev1.Pod) bool { return p.Labels["pod-template-hash"] != "" })].DeepCopy()
	forged.Status.PodIP, forged.Status.PodIPs = "127.0.0.1", []corev1.PodIP{{IP: "127.0.0.1"}}
	_, err = s.Client().CoreV1().Pods(s.NS).UpdateStatus(s.Ctx(), forged, metav1.UpdateOptions{})
	s.Must(err)
	s.Edit("app", "three")
	s.Rolled("web", 1)
	if last := s.Reloads("web", 4)[0]; last.Outcome != string(reloader.ReasonReloaded) || !strings.Contains(last.Message, "cannot be that of a pod") {
		t.Errorf("reload %+v", last)
	}
	if has := programs["Deployment"].has(); len(has) != 2 {
		t.Errorf("the program at the loopback has read %q", has)
	}

	s.Kubectl("annotate", "deployment/web", "reroll.dev/http-fallback=none", "reroll.dev/http-verify-")
	s.Must(line.RunPod(t.Context(), s.Client(), s.NS, "pod-template-hash", "second", metav1.OwnerReference{Name: "web"}, &http.Server{Handler: programs["Deployment"]}))
	s.Quiet()
	s.Edit("app", "four")
	if last := s.Reloads("web", 5)[0]; last.Outcome != string(reloader.ReasonReloadFailed) || fmt.Sprint(last.Pods) != "{2 1 1 ["+forged.Name+"]}" {
		t.Errorf("reload %+v", last)
	}
	const fine, bad = "1 asked, 1 answered, 0 failed", "2 asked, 1 answered, 1 failed"
	out := reroll("get", "reloads", "-o", "wide")
	for _, want := range []string{"1/1 pods", fine, "1/2 pods", bad + " (" + forged.Name + ")"} {
		if !strings.Contains(out, want) {
			t.Errorf("get reloads does not say %q: %s", want, out)
		}
	}
	s.Await("Events that count pods", func(ctx context.Context) error {
		events, err := s.Client().CoreV1().Events(s.NS).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=web"})
		if err != nil {
			return err
		}
		var text string
		for _, e := range events.Items {
			text += e.Type + " " + e.Reason + " " + e.InvolvedObject.Kind + ": " + e.Message + "\n"
		}
		for _, want := range []string{"Normal Reloaded DaemonSet: .*; pods: " + fine, "Warning ReloadFail Deployment: .*; pods: " + bad + ` \(` + forged.Name + `\): `} {
			if !regexp.MustCompile(want).MatchString(text) {
				return fmt.Errorf("none says %s: %s", want, text)
			}
		}
		return nil
	})
	if yes, no := called("answered")-answered, called("failed")-failed; yes < 7 || no < 2 {
		t.Errorf("%v calls answered and %v failed", yes, no)
	}
}

// TestRolloutBehindMutualTLS: the running pods of an Argo Rollout, which are those of its ReplicaSets, are asked as those of a Deployment are, with the
// client certificate of a Secret. Without it, as where a service mesh wants mTLS, the Rollout rolls, and says why.
func TestRolloutBehindMutualTLS(t *testing.T) {
	s := newRoom(t)
	p := &program{room: s}
	ca, err := pki.NewCA("shop")
	s.Must(err)
	server, err := ca.Server("web", "web.shop")
	s.Must(err)
	client, err := ca.Client("reroll")
	s.Must(err)
	pair, err := tls.X509KeyPair(server.CertPEM, server.KeyPEM)
	s.Must(err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca.CertPEM())
	mutual := &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: roots}
	_, err = s.Client().CoreV1().Secrets(s.NS).Create(s.Ctx(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "client"}, Data: map[string][]byte{"ca.crt": ca.CertPEM(), "tls.crt": client.CertPEM, "tls.key": client.KeyPEM},
	}, metav1.CreateOptions{})
	s.Must(err)
	s.Config("app", "one")
	s.KubectlWith(fmt.Sprintf(hotManifest, "argoproj.io/v1alpha1", "Rollout", "reroll.dev/http-secret: client"), "apply", "-f", "-")
	for _, name := range []string{"a", "b"} {
		s.Must(line.RunPod(t.Context(), s.Client(), s.NS, "rollouts-pod-template-hash", name, metav1.OwnerReference{Name: "web"}, &http.Server{Handler: p, TLSConfig: mutual}))
	}
	template := func() string { return s.Kubectl("get", "rollout", "web", "-o", "jsonpath={.spec.template}") }
	before := template()
	s.Quiet()

	s.Edit("app", "two")
	if last := s.Reloads("web", 1)[0]; last.Outcome != string(reloader.ReasonCalled) || last.Workload.Kind != "Rollout" || last.Pods.Answered != 2 || last.Pods.Asked != 2 {
		t.Errorf("reload %+v", last)
	}
	if has := p.has(); !slices.Equal(has, []string{"two", "two", "two", "two"}) || template() != before {
		t.Errorf("the programs have read %q, want each twice the edit; the template is %s", has, template())
	}

	s.Kubectl("patch", "secret", "client", "--type=merge", `--patch={"data":{"tls.crt":null,"tls.key":null}}`)
	s.Edit("app", "three")
	if last := s.Reloads("web", 2)[0]; last.Outcome != string(reloader.ReasonReloaded) || !strings.Contains(last.Message, "certificate required") {
		t.Errorf("reload %+v", last)
	}
	if has := p.has(); len(has) != 4 || template() == before {
		t.Errorf("the programs have read %q; the template is %s", has, template())
	}
}
