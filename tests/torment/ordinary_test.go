package torment

import (
	"context"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/reroll-dev/reroll/tests/line"
)

const (
	// parallel is the number of requests that are under way at a time while a world is created.
	parallel = 32
	// pace is the time between two edits of ordinary configs.
	pace = 50 * time.Millisecond
)

// place is the namespace and the name of a workload, and of the config of an ordinary one.
type place struct{ namespace, name string }

func (o options) place(i int) place {
	return place{fmt.Sprintf("team-%d", i%o.Namespaces), fmt.Sprintf("web-%d", i)}
}

// room is the namespace of an ordinary workload.
func (s *site) room(p place) *line.Room { return &line.Room{T: s.t, Line: s.l, NS: p.namespace} }

// createOrdinary creates the namespaces, configs and workloads. Every second one uses a Secret, and every second pair our own annotation.
func (s *site) createOrdinary() {
	for i := range s.Namespaces {
		s.must(createNamespace(s.t.Context(), s.l.Kube.Client(), s.place(i).namespace))
	}
	for i := range s.Ordinary {
		p := s.place(i)
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
	for i := range s.Ordinary {
		<-tick.C
		if p := s.place(i); i%2 == 0 {
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
				rule("apps", "deployments", admissionv1.Update), rule("apps", "statefulsets", admissionv1.Update),
				rule("batch", "jobs", admissionv1.Create, admissionv1.Delete),
			},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: tenant}},
			ObjectSelector:    &metav1.LabelSelector{MatchLabels: map[string]string{hangs: "true"}},
			FailurePolicy:     &fail, SideEffects: &none, TimeoutSeconds: &longest, AdmissionReviewVersions: []string{"v1"},
		}},
	}, metav1.CreateOptions{})
	s.must(err)
	return asked
}
