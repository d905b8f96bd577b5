package main

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync/atomic"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/port"
)

// silent is an admission webhook that takes every request and answers none.
type silent struct {
	server *http.Server
	url    string
	ca     []byte
	asked  atomic.Int64
	ended  chan struct{}
	served chan error
}

func startSilent() (*silent, error) {
	ca, err := kube.NewCA("silent")
	if err != nil {
		return nil, err
	}
	pair, err := ca.Server("silent", "127.0.0.1")
	if err != nil {
		return nil, err
	}
	certificate, err := tls.X509KeyPair(pair.CertPEM, pair.KeyPEM)
	if err != nil {
		return nil, err
	}
	addresses, err := port.Addresses(1)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", addresses[0])
	if err != nil {
		return nil, err
	}
	s := &silent{url: "https://" + addresses[0] + "/", ca: ca.CertPEM(), ended: make(chan struct{}), served: make(chan error, 1)}
	s.server = &http.Server{
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}},
		Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			s.asked.Add(1)
			select {
			case <-r.Context().Done():
			case <-s.ended:
			}
		}),
	}
	go func() { s.served <- s.server.ServeTLS(listener, "", "") }()
	return s, nil
}

func (s *silent) stop() {
	close(s.ended)
	_ = s.server.Close()
	<-s.served
}

// hangs is the label of the objects that the webhook is asked about.
const hangs = "hangs"

// register has the API server ask the webhook about every change of the tenant's workloads that have the label. Thirty seconds is the
// longest that Kubernetes lets a webhook take.
func (s *silent) register(ctx context.Context, client kubernetes.Interface) error {
	fail, none, longest := admissionv1.Fail, admissionv1.SideEffectClassNone, int32(30)
	rule := func(group, resource string, operations ...admissionv1.OperationType) admissionv1.RuleWithOperations {
		return admissionv1.RuleWithOperations{Operations: operations, Rule: admissionv1.Rule{
			APIGroups: []string{group}, APIVersions: []string{"v1"}, Resources: []string{resource},
		}}
	}
	_, err := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(ctx, &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "silent"},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "silent.example.com", ClientConfig: admissionv1.WebhookClientConfig{URL: &s.url, CABundle: s.ca},
			Rules: []admissionv1.RuleWithOperations{
				rule("apps", "deployments", admissionv1.Update), rule("apps", "statefulsets", admissionv1.Update),
				rule("batch", "jobs", admissionv1.Create, admissionv1.Delete),
			},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: tenant}},
			ObjectSelector:    &metav1.LabelSelector{MatchLabels: map[string]string{hangs: "true"}},
			FailurePolicy:     &fail, SideEffects: &none, TimeoutSeconds: &longest, AdmissionReviewVersions: []string{"v1"},
		}},
	}, metav1.CreateOptions{})
	return err
}
