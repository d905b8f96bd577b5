// Package torment has the real binary suffer on a real API server: one namespace of workloads that are made to hurt next to ordinary ones, and a
// change of very many Secrets at once.
package torment

import (
	"context"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// ordinary is the number of ordinary workloads, spread over namespaces.
const ordinary, namespaces = 40, 5

// memoryBound is what docs/production.md states.
const memoryBound = 1 << 30

// site is a run under way.
type site struct {
	t      *testing.T
	l      *line.Line
	rolls  *line.Rolls
	edits  int
	memory int64
}

// TestTenant: next to a namespace of workloads that are made to hurt every ordinary workload rolls once for each edit, also after a restart.
func TestTenant(t *testing.T) {
	l, err := line.Start(t.Context(), line.Options{Kube: kube.Options{ControlPlaneOnly: true}})
	line.Must(t, err)
	t.Cleanup(l.Stop)
	s := &site{t: t, l: l}
	s.createOrdinary()
	for i := range namespaces {
		s.room(placeOf(i)).Settled(ordinary / namespaces)
	}
	s.rolls, err = line.WatchRolls(t.Context(), l.Kube.Client(), "")
	line.Must(s.t, err)
	t.Cleanup(s.rolls.Stop)

	h := &hostile{client: l.Kube.Client(), objects: dynamic.NewForConfigOrDie(l.Kube.RESTConfig())}
	line.Must(s.t, h.createConfigs(t.Context()))
	line.Must(s.t, h.createWorkloads(t.Context()))
	asked := s.silentWebhook()
	ctx, stop := context.WithCancel(t.Context())
	failure := make(chan error, 1)
	go func() { failure <- h.torment(ctx) }()
	line.Eventually(t, "the silent webhook to be asked", func(context.Context) error {
		if asked.Load() == 0 {
			return fmt.Errorf("it is not asked")
		}
		return nil
	})
	s.round()
	s.remember()
	s.room(placeOf(0)).Restart()
	s.round()
	stop()
	line.Must(s.t, <-failure)

	for name, at := range s.rolls.Seen() {
		if strings.HasPrefix(name, "team-") && len(at) > s.edits {
			t.Errorf("%s rolled %d times for %d edits", name, len(at), s.edits)
		}
	}
	s.remember()
	if s.memory > memoryBound {
		t.Errorf("%d MB resident, more than %d", s.memory>>20, memoryBound>>20)
	}
}

// round edits the config of every ordinary workload and waits until all have rolled.
func (s *site) round() {
	s.t.Helper()
	s.editAll()
	line.Must(s.t, s.rolls.Wait(s.t.Context(), "team-", ordinary, s.edits))
}

// remember takes down how much memory the process has had resident at most.
func (s *site) remember() {
	s.t.Helper()
	_, most, err := s.l.Reroll.Memory()
	line.Must(s.t, err)
	s.memory = max(s.memory, most)
}

const (
	// parallel is the number of requests that are under way at a time while a world is created.
	parallel = 32
	// pace is the time between two edits of ordinary configs.
	pace = 50 * time.Millisecond
)

// place is the namespace and the name of a workload, and of the config of an ordinary one.
type place struct{ namespace, name string }

func placeOf(i int) place {
	return place{fmt.Sprintf("team-%d", i%namespaces), fmt.Sprintf("web-%d", i)}
}

// room is the namespace of an ordinary workload.
func (s *site) room(p place) *line.Room { return &line.Room{T: s.t, Line: s.l, NS: p.namespace} }

// createOrdinary creates the namespaces, configs and workloads. Every second one uses a Secret, and every second pair our own annotation.
func (s *site) createOrdinary() {
	for i := range namespaces {
		line.Must(s.t, createNamespace(s.t.Context(), s.l.Kube.Client(), placeOf(i).namespace))
	}
	for i := range ordinary {
		p := placeOf(i)
		from := line.FromConfigMap(p.name)
		if i%2 == 0 {
			s.room(p).Config(p.name, "0")
		} else {
			from = line.FromSecret(p.name)
			s.room(p).Secret(p.name, "0")
		}
		annotation := []string{"reloader.stakater.com/auto", "reroll.dev/auto"}[i/2%2]
		s.room(p).Deploy(p.name, map[string]string{annotation: "true"}, from)
	}
}

func createNamespace(ctx context.Context, client kubernetes.Interface, name string) error {
	_, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	return err
}

// editAll edits the config of every ordinary workload once.
func (s *site) editAll() {
	s.edits++
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for i := range ordinary {
		<-tick.C
		if p := placeOf(i); i%2 == 0 {
			s.room(p).Edit(p.name, fmt.Sprint(s.edits))
		} else {
			s.room(p).EditSecret(p.name, fmt.Sprint(s.edits))
		}
	}
}

// hangs is the label of the objects that the silent webhook is asked about.
const hangs = "hangs"

// silentWebhook has the API server ask a webhook that never answers about every change of the tenant's workloads that have the label, for thirty
// seconds, the longest that Kubernetes lets it take. It returns how often it was asked.
func (s *site) silentWebhook() *atomic.Int64 {
	s.t.Helper()
	asked, ended := &atomic.Int64{}, make(chan struct{})
	server := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		select {
		case <-r.Context().Done():
		case <-ended:
		}
	}))
	s.t.Cleanup(func() { close(ended); server.Close() })
	fail, none, longest := admissionv1.Fail, admissionv1.SideEffectClassNone, int32(30)
	rule := func(group, resource string, operations ...admissionv1.OperationType) admissionv1.RuleWithOperations {
		return admissionv1.RuleWithOperations{Operations: operations, Rule: admissionv1.Rule{
			APIGroups: []string{group}, APIVersions: []string{"v1"}, Resources: []string{resource},
		}}
	}
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	_, err := s.l.Kube.Client().AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(s.t.Context(), &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "silent"},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "silent.example.com", ClientConfig: admissionv1.WebhookClientConfig{URL: &server.URL, CABundle: ca},
			Rules: []admissionv1.RuleWithOperations{
				rule("apps", "deployments", admissionv1.Update),
				rule("batch", "jobs", admissionv1.Create, admissionv1.Delete),
			},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: tenant}},
			ObjectSelector:    &metav1.LabelSelector{MatchLabels: map[string]string{hangs: "true"}},
			FailurePolicy:     &fail, SideEffects: &none, TimeoutSeconds: &longest, AdmissionReviewVersions: []string{"v1"},
		}},
	}, metav1.CreateOptions{})
	line.Must(s.t, err)
	return asked
}
