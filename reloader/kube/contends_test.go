package kube

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

func TestContends(t *testing.T) {
	set := func(name, value string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			env := &p.Spec.Containers[0].Env
			*env = append(*env, corev1.EnvVar{Name: name, Value: value})
		}
	}
	from := func(name string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			env := &p.Spec.Containers[0].Env
			*env = append(*env, corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{Key: "k"}}})
		}
	}
	phase := func(phase corev1.PodPhase) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Status.Phase = phase } }
	envFrom := func(p *corev1.Pod) { p.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{Prefix: "REROLL_"}} }
	for name, c := range map[string]struct {
		reason string
		args   [][]string
		edit   func(*corev1.Pod)
		want   bool
		err    error
	}{
		"one process":      {"it has nobody to contend with", [][]string{{"serve", "--cluster-name=local"}}, nil, false, nil},
		"several":          {"one of them leads", [][]string{{"serve", "--enable-ha"}, {"serve", "--enable-ha"}}, nil, true, nil},
		"roles":            {"dispatchers lead, whoever else is there", [][]string{{"ingest"}, {"api"}, {"dispatch", "--enable-ha=true"}}, nil, true, nil},
		"a dry run":        {"it writes no Lease", [][]string{{"dispatch", "--enable-ha", "--dry-run"}}, nil, false, nil},
		"another reloader": {"it is not ours", [][]string{{"--enable-ha"}, {"serve"}}, nil, false, nil},
		"no dispatcher":    {"nobody knows", [][]string{{"api"}, {"ingest"}}, nil, false, ErrNoDispatcher},
		"nothing":          {"nobody knows", nil, nil, false, ErrNoDispatcher},

		"other words":        {"T is true too", [][]string{{"dispatch", "--enable-ha=T"}}, nil, true, nil},
		"said not to be":     {"0 is false", [][]string{{"dispatch", "--enable-ha=0"}}, nil, false, nil},
		"the last word":      {"as of all flags the last one counts", [][]string{{"dispatch", "--enable-ha=false", "--enable-ha"}}, nil, true, nil},
		"a reference":        {"the value is elsewhere", [][]string{{"dispatch", "--enable-ha=$(HA)"}}, nil, false, ErrNotSaid},
		"no dry run":         {"it leads", [][]string{{"dispatch", "--enable-ha", "--dry-run=false"}}, nil, true, nil},
		"a variable":         {"it is as good as a flag", [][]string{{"dispatch"}}, set("REROLL_ENABLE_HA", "true"), true, nil},
		"a false one":        {"it is as good as a flag", [][]string{{"dispatch"}}, set("REROLL_ENABLE_HA", "false"), false, nil},
		"a flag over it":     {"flags win", [][]string{{"dispatch", "--enable-ha"}}, set("REROLL_ENABLE_HA", "false"), true, nil},
		"a dry run by it":    {"it writes no Lease", [][]string{{"dispatch", "--enable-ha"}}, set("REROLL_DRY_RUN", "1"), false, nil},
		"from elsewhere":     {"the value is elsewhere", [][]string{{"dispatch"}}, from("REROLL_ENABLE_HA"), false, ErrNotSaid},
		"a dry run from":     {"the value is elsewhere", [][]string{{"dispatch", "--enable-ha"}}, from("REROLL_DRY_RUN"), false, ErrNotSaid},
		"an own secret from": {"it is another setting", [][]string{{"dispatch"}}, from("REROLL_NATS_URL"), false, nil},
		"all from elsewhere": {"it may be among them", [][]string{{"dispatch"}}, envFrom, false, ErrNotSaid},
		"a file":             {"it may say so", [][]string{{"dispatch", "--config=/etc/reroll.yaml"}}, nil, false, ErrNotSaid},
		"a file, two words":  {"it may say so", [][]string{{"dispatch", "--config", "/etc/reroll.yaml"}}, nil, false, ErrNotSaid},
		"a file by variable": {"it may say so", [][]string{{"dispatch"}}, set("REROLL_CONFIG", "/etc/reroll.yaml"), false, ErrNotSaid},
		"a file from":        {"it may say so", [][]string{{"dispatch"}}, from("REROLL_CONFIG"), false, ErrNotSaid},
		"no file":            {"an empty name is none", [][]string{{"dispatch", "--config="}}, set("REROLL_CONFIG", "/etc/reroll.yaml"), false, nil},
		"flags over a file":  {"flags win", [][]string{{"dispatch", "--config=x", "--enable-ha", "--dry-run=false"}}, nil, true, nil},
		"not by a file":      {"flags win", [][]string{{"dispatch", "--config=x", "--enable-ha=false"}}, nil, false, nil},
		"one says so":        {"which is enough", [][]string{{"dispatch", "--config=x"}, {"dispatch", "--enable-ha", "--dry-run=false"}}, nil, true, nil},

		"of before": {"it has failed", [][]string{{"serve", "--enable-ha"}}, phase(corev1.PodFailed), false, ErrNoDispatcher},
		"a Job's":   {"it is done", [][]string{{"serve", "--enable-ha"}}, phase(corev1.PodSucceeded), false, ErrNoDispatcher},
		"going": {"it is replaced", [][]string{{"serve", "--enable-ha"}}, func(p *corev1.Pod) {
			now := metav1.Now()
			p.DeletionTimestamp, p.Finalizers = &now, []string{"test/wait"}
		}, false, ErrNoDispatcher},
		"starting": {"it will", [][]string{{"serve", "--enable-ha"}}, phase(corev1.PodPending), true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset()
			elsewhere := pod("elsewhere", "x", "dispatch", "--enable-ha")
			if err := client.Tracker().Add(elsewhere); err != nil {
				t.Fatal(err)
			}
			for i, args := range c.args {
				p := pod("ops", string(rune('a'+i)), args...)
				if c.edit != nil {
					c.edit(p)
				}
				if err := client.Tracker().Add(p); err != nil {
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
