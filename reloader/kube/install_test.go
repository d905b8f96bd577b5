package kube

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
)

// ingestService is one as the chart makes it.
func ingestService(release, name string) *corev1.Service {
	metadata := metav1.ObjectMeta{
		Namespace: "ops", Name: name, Annotations: map[string]string{"reroll.dev/cluster": "east"},
		Labels: map[string]string{"app.kubernetes.io/part-of": "reroll", "app.kubernetes.io/instance": release},
	}
	return &corev1.Service{ObjectMeta: metadata, Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeClusterIP, ClusterIP: "10.96.0.50", Ports: []corev1.ServicePort{{Name: "ingest", Port: 9443}},
	}}
}

func ingestSecret(by string) *corev1.Secret {
	metadata := metav1.ObjectMeta{Namespace: "ops", Name: "reroll-ingest-tls", Labels: map[string]string{managedLabel: by}}
	return &corev1.Secret{ObjectMeta: metadata, Data: map[string][]byte{"ca.crt": []byte("A")}}
}

func TestFindIngest(t *testing.T) {
	headless := ingestService("reroll", "reroll")
	headless.Spec.ClusterIP, headless.Spec.Ports[0].Name = corev1.ClusterIPNone, "metrics"
	balanced := ingestService("reroll", "reroll-ingest")
	balanced.Spec.Type, balanced.Spec.Ports[0].NodePort = corev1.ServiceTypeLoadBalancer, 30943
	balanced.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: "lb.example"}, {IP: "192.0.2.1"}}

	one := Ingest{
		Release: "reroll", Namespace: "ops", Service: "reroll-ingest", Cluster: "east", Type: corev1.ServiceTypeClusterIP, ClusterIP: "10.96.0.50", Port: 9443,
		Secret: "reroll-ingest-tls",
	}
	with := func(change func(*Ingest)) Ingest {
		other := one
		change(&other)
		return other
	}
	for name, c := range map[string]struct {
		objects []runtime.Object
		want    Ingest
		err     string
	}{
		"nothing":     {nil, Ingest{}, "namespace ops: no release of Reroll takes audit events there"},
		"two":         {[]runtime.Object{ingestService("b", "b-ingest"), ingestService("a", "a-ingest")}, Ingest{}, "several releases of Reroll: a, b"},
		"the Service": {[]runtime.Object{ingestService("reroll", "reroll-ingest"), headless}, one, ""},
		"load balancer": {[]runtime.Object{balanced}, with(func(i *Ingest) {
			i.Type, i.NodePort, i.Balancers = "LoadBalancer", 30943, []string{"lb.example", "192.0.2.1"}
		}), ""},
		"its own CA": {
			[]runtime.Object{ingestService("reroll", "reroll-ingest"), ingestSecret(managedValue)},
			with(func(i *Ingest) { i.Data = map[string][]byte{"ca.crt": []byte("A")} }), "",
		},
		"a certificate of others": {[]runtime.Object{ingestService("reroll", "reroll-ingest"), ingestSecret("Helm")}, one, ""},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := newCluster(&connection{client: fake.NewClientset(c.objects...), Namespace: "ops"})
			got, err := cluster.FindIngest(t.Context())
			if (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Fatalf("error %v, want %q", err, c.err)
			}
			if diff := cmp.Diff(c.want, got); c.err == "" && diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
