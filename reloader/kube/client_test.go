package kube

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// TestKubeconfigBeforeThePodsOwnCluster: a kubeconfig, by flag or environment, wins over the cluster of the pod.
func TestKubeconfigBeforeThePodsOwnCluster(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	must(t, os.WriteFile(file, []byte(`{"current-context":"c","contexts":[{"name":"c","context":{"cluster":"c"}}],
		"clusters":[{"name":"c","cluster":{"server":"https://elsewhere"}}]}`), 0o600))
	inCluster := func() (*rest.Config, error) { return &rest.Config{Host: "https://here"}, nil }
	for name, test := range map[string]struct {
		environment string
		options     Options
		want        string
	}{
		"neither":         {want: "https://here"},
		"the environment": {environment: file, want: "https://elsewhere"},
		"the flag":        {options: Options{Kubeconfig: file}, want: "https://elsewhere"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", test.environment)
			config, _, err := load(test.options, inCluster)
			if err != nil || config.Host != test.want {
				t.Errorf("%+v, %v, want %s", config, err, test.want)
			}
		})
	}
}

// TestNoKubeconfig: without a kubeconfig and outside of a pod, the error names the flag in one line.
func TestNoKubeconfig(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	_, err := Connect(t.Context(), Options{})
	if err == nil || !strings.Contains(err.Error(), "--kubeconfig") || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v", err)
	}
}

// TestImpersonationOfTheKubeconfig: every client honours a kubeconfig whose user impersonates another. Otherwise a command would act with the
// rights of the user who impersonates.
func TestImpersonationOfTheKubeconfig(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, fmt.Sprint(r.Header["Impersonate-User"], r.Header["Impersonate-Group"]))
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","uid":"1","resourceVersion":"1"}}`)
	}))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, fmt.Appendf(nil, `{"current-context":"c","contexts":[{"name":"c","context":{"cluster":"c","user":"c"}}],"clusters":[{"name":"c","cluster":{"server":%q}}],
		"users":[{"name":"c","user":{"as":"nobody@example.com","as-groups":["guests"]}}]}`, server.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	o := Options{Kubeconfig: file, Namespace: "reroll"}
	cluster, err := Connect(t.Context(), o)
	must(t, err)
	config, err := Config(o)
	must(t, err)
	client, err := kubernetes.NewForConfig(config)
	must(t, err)
	maps := metav1.SchemeGroupVersion.WithResource("configmaps")
	for who, ask := range map[string]func() error{
		"typed": func() error {
			_, err := cluster.client.CoreV1().ConfigMaps("a").Get(t.Context(), "a", metav1.GetOptions{})
			return err
		},
		"vital": func() error { return cluster.Healthy(t.Context()) },
		"metadata": func() error {
			_, err := cluster.metadata.Resource(maps).Get(t.Context(), "a", metav1.GetOptions{})
			return err
		},
		"dynamic": func() error {
			_, err := cluster.dynamic.Resource(maps).Get(t.Context(), "a", metav1.GetOptions{})
			return err
		},
		"canary": func() error {
			_, err := cluster.TouchCanary(t.Context(), server.URL, reloader.ConfigMap, "id", false)
			return err
		},
		"Config": func() error {
			_, err := client.CoreV1().ConfigMaps("a").Get(t.Context(), "a", metav1.GetOptions{})
			return err
		},
	} {
		seen = nil
		if err := ask(); err != nil || len(seen) != 1 || seen[0] != "[nobody@example.com] [guests]" {
			t.Errorf("%s: the request impersonates %v, want that of the file: %v", who, seen, err)
		}
	}
}

// TestRequestMetrics: requests are counted in every registry.
func TestRequestMetrics(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodDelete {
			w.WriteHeader(http.StatusForbidden)
		}
		_, _ = w.Write([]byte(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"app"}}`))
	}))
	defer server.Close()
	registry := prometheus.NewRegistry()
	RegisterRequestMetrics(registry)
	RegisterRequestMetrics(registry)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	must(t, err)
	if _, err := client.CoreV1().ConfigMaps("shop").Get(t.Context(), "app", metav1.GetOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := client.CoreV1().ConfigMaps("shop").Delete(t.Context(), "app", metav1.DeleteOptions{}); err == nil {
		t.Fatal("the request that is refused succeeds")
	}
	host, m := strings.TrimPrefix(server.URL, "http://"), measureRequests()
	if got, refused := testutil.ToFloat64(m.requests.WithLabelValues("200", "GET", host)), testutil.ToFloat64(m.requests.WithLabelValues("403", "DELETE", host)); got != 1 || refused != 1 {
		t.Errorf("%v answers and %v refusals, want one each", got, refused)
	}
	if n, err := testutil.GatherAndCount(registry, "rest_client_request_duration_seconds"); err != nil || n < 2 {
		t.Errorf("%d series of durations, %v", n, err)
	}
}

// TestServing: of the pods of a namespace, one that is ready and whose container says where its API is.
func TestServing(t *testing.T) {
	pod := func(name, container, port string, ready corev1.ConditionStatus) corev1.Pod {
		return corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: container, Ports: []corev1.ContainerPort{{Name: "metrics", ContainerPort: 9090}, {Name: port, ContainerPort: 8080}}}}},
			Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}},
		}
	}
	pods := []corev1.Pod{
		pod("a", "nats", "api", corev1.ConditionTrue), pod("b", "reroll", "ingest", corev1.ConditionTrue),
		pod("c", "reroll", "api", corev1.ConditionFalse), pod("e", "reroll", "api", corev1.ConditionTrue), pod("d", "reroll", "api", corev1.ConditionTrue),
	}
	for n, want := range map[int]string{0: "", 2: "", 3: "c", 4: "e", 5: "d"} {
		if name, port := serving(slices.Clone(pods[:n])); name != want || want != "" && port != 8080 {
			t.Errorf("of the first %d: %q at port %d, want %q", n, name, port, want)
		}
	}
}

// TestPodsOfAnEndedTerm: a process that leads no more annotates no pod, runs no command, although that begins with a GET, and calls none.
func TestPodsOfAnEndedTerm(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("request %s %s", r.Method, r.URL) }))
	t.Cleanup(server.Close)
	c := newCluster(&connection{config: &rest.Config{Host: server.URL}})
	must(t, c.makeClients())
	c.fence.closeAt(time.Now())
	pod := workload.RunningPod{Name: "web-a"}
	_, called := c.Servers(t.Context())
	for what, err := range map[string]error{
		"refresh": c.Refresh(t.Context(), pod, "1"), "exec": c.Exec(t.Context(), pod, "main", []string{"reload"}), "call": called,
	} {
		if !errors.Is(err, ErrLeadershipLost) {
			t.Errorf("%s: error %v", what, err)
		}
	}
}
