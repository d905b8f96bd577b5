package kube

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

func TestContends(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		args   [][]string
		want   bool
		err    error
	}{
		"one process":      {"it has nobody to contend with", [][]string{{"serve", "--cluster-name=local"}}, false, nil},
		"several":          {"one of them leads", [][]string{{"serve", "--enable-ha"}, {"serve", "--enable-ha"}}, true, nil},
		"roles":            {"dispatchers lead, whoever else is there", [][]string{{"ingest"}, {"api"}, {"dispatch", "--enable-ha=true"}}, true, nil},
		"a dry run":        {"it writes no Lease", [][]string{{"dispatch", "--enable-ha", "--dry-run"}}, false, nil},
		"another reloader": {"it is not ours", [][]string{{"--enable-ha"}, {"serve"}}, false, nil},
		"no dispatcher":    {"nobody knows", [][]string{{"api"}, {"ingest"}}, false, ErrNoDispatcher},
		"nothing":          {"nobody knows", nil, false, ErrNoDispatcher},
	} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset()
			elsewhere := pod("elsewhere", "x", "dispatch", "--enable-ha")
			if err := client.Tracker().Add(elsewhere); err != nil {
				t.Fatal(err)
			}
			for i, args := range c.args {
				if err := client.Tracker().Add(pod("ops", string(rune('a'+i)), args...)); err != nil {
					t.Fatal(err)
				}
			}
			got, err := (&Cluster{client: client, Namespace: "ops"}).Contends(t.Context())
			if got != c.want || !errors.Is(err, c.err) {
				t.Errorf("%s: %t, %v; want %t, %v", c.reason, got, err, c.want, c.err)
			}
		})
	}
}

func pod(namespace, name string, args ...string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Args: args}}}}
}
