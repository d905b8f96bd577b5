//go:build nightly

package chart_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/reroll-dev/reroll/api"
	"github.com/reroll-dev/reroll/api/auth"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/kube"
	"github.com/reroll-dev/reroll/reloader/mark"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// exercise does all that a process does with its cluster. What comes of it is tested elsewhere; here it only must not be refused.
func (u usage) exercise(t *testing.T, w *witness, admin kubernetes.Interface) {
	t.Helper()
	u.judge(t, w)
	if u.role == "api" {
		return
	}
	o := u.options
	o.Kubeconfig, o.Namespace, o.QPS, o.Burst = w.Kubeconfig, namespace, 500, 500
	o.KeepAnnotation = func(string) bool { return true }
	c, err := kube.Connect(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if u.role == "admission" {
		u.admit(t, c)
		return
	}
	u.begin(t, c, admin)
	for _, ns := range u.namespaces {
		u.read(t, c, ns)
		for _, kind := range u.kinds {
			u.roll(t, c, admin, reloader.WorkloadRef{Kind: kind, Namespace: ns, Name: "app"})
		}
	}
	if u.lead {
		err := c.Lead(t.Context(), kube.LeaseOptions{Identity: "one"}, func(context.Context, context.Context) error { return nil })
		if err != nil {
			t.Error(err)
		}
	}
}

// admit reads what workloads are marked for.
func (u usage) admit(t *testing.T, c *kube.Cluster) {
	t.Helper()
	if _, err := c.DigestKeys(t.Context()); err != nil {
		t.Error(err)
	}
	for _, ns := range u.namespaces {
		for _, config := range u.configs {
			config.Namespace = ns
			if _, err := c.Get(t.Context(), config); err != nil {
				t.Error(err)
			}
		}
	}
}

// touchCanary looks whether audit events come in.
func (u usage) touchCanary(t *testing.T, c *kube.Cluster) {
	t.Helper()
	if u.options.DryRun {
		return
	}
	addresses, err := c.CanaryAddresses(t.Context())
	if err != nil || len(addresses) != 1 {
		t.Errorf("API servers %q, %v", addresses, err)
	}
	for _, address := range addresses {
		for _, config := range u.configs {
			if config.Kind == reloader.SecretProviderClass {
				continue
			}
			if _, err := c.TouchCanary(t.Context(), address, config.Kind, "canary", false); err != nil {
				t.Error(err)
			}
		}
	}
}

// judge asks who a client of the API is and what they may do.
func (u usage) judge(t *testing.T, w *witness) {
	t.Helper()
	if !u.clients || u.role == "dispatch" {
		return
	}
	config, err := kube.Config(kube.Options{Kubeconfig: w.Kubeconfig})
	if err != nil {
		t.Fatal(err)
	}
	gate, err := auth.New(auth.Options{API: config})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/self", nil)
	r.Header.Set("Authorization", "Bearer made-up")
	if _, ok, err := gate.Authenticate(r); ok || err != nil {
		t.Errorf("a made-up token: %t, %v", ok, err)
	}
	if ok, err := gate.Allowed(t.Context(), api.User{Name: "alice"}, api.Deed{Verb: "list", Resource: "changes"}); ok || err != nil {
		t.Errorf("somebody without rights: %t, %v", ok, err)
	}
}

// begin does what comes once.
func (u usage) begin(t *testing.T, c *kube.Cluster, admin kubernetes.Interface) {
	t.Helper()
	if _, err := c.DigestKeys(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := c.OtherReloaders(t.Context()); err != nil {
		t.Error(err)
	}
	if !u.options.DryRun && slices.Contains(u.kinds, "Job") {
		if err := c.RecoverJobs(t.Context()); err != nil {
			t.Error(err)
		}
	}
	// A watch that is refused would be tried again for ever.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	if err := c.Watch(ctx, func(*workload.Workload) {}, func(reloader.WorkloadRef) {}); err != nil {
		t.Error(err)
	}
	if err := c.WatchControl(ctx, func(map[string]string) {}); err != nil {
		t.Error(err)
	}
	u.keepLedger(ctx, t, c, admin)
	u.touchCanary(t, c)
	if !u.watch {
		return
	}
	if err := c.WatchConfigs(ctx, func(kube.Touch) {}); err != nil {
		t.Error(err)
	}
}

// keepLedger notes something of a workload, something else, and nothing any more. A ConfigMap without the ledger's label is in the way.
func (u usage) keepLedger(ctx context.Context, t *testing.T, c *kube.Cluster, admin kubernetes.Interface) {
	t.Helper()
	l := kube.NewLedger(c)
	_, _, err := l.Load(ctx)
	if err := errors.Join(err, l.Watch(ctx)); err != nil {
		t.Error(err)
	}
	if u.options.DryRun {
		return
	}
	other := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: kube.LedgerName + "-shop.0"}}
	if _, err := admin.CoreV1().ConfigMaps(namespace).Create(ctx, other, metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
	app := reloader.WorkloadRef{Kind: "Deployment", Namespace: "shop", Name: "app"}
	for _, entry := range []string{"one", "two", ""} {
		if err := l.Put(ctx, app.Namespace, map[reloader.WorkloadRef]string{app: entry}); err != nil {
			t.Error(err)
		}
	}
}

// read looks at the configs of a namespace.
func (u usage) read(t *testing.T, c *kube.Cluster, ns string) {
	t.Helper()
	for _, config := range u.configs {
		config.Namespace = ns
		_, errMeta := c.Meta(t.Context(), config)
		_, err := c.Get(t.Context(), config)
		if errMeta != nil || err != nil {
			t.Errorf("%s: %v, %v", config, errMeta, err)
		}
	}
	for _, kind := range u.listed {
		if _, err := c.List(t.Context(), kind, ns); err != nil {
			t.Errorf("list %ss: %v", kind, err)
		}
	}
	if u.deletes {
		if _, err := c.Terminating(t.Context(), ns); err != nil {
			t.Error(err)
		}
	}
}

// roll reads a workload and, except in a dry run, rolls it twice and tells about it.
func (u usage) roll(t *testing.T, c *kube.Cluster, admin kubernetes.Interface, ref reloader.WorkloadRef) {
	t.Helper()
	w, err := c.Read(t.Context(), ref)
	if err != nil {
		t.Error(err)
		return
	}
	if _, err := c.Pods(t.Context(), w); err != nil {
		t.Error(err)
	}
	if u.options.DryRun {
		return
	}
	if ref.Kind == "Job" {
		leaveManifest(t, admin, w)
	}
	r := u.rollOf(t, w)
	for range 2 {
		// The second one finds that another one was faster.
		if _, err := c.Roll(t.Context(), w, r); err != nil && !apierrors.IsConflict(err) && !apierrors.IsInvalid(err) {
			t.Errorf("%s: %v", ref, err)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end() // what waits is still sent
	a := kube.NewAnnouncer(c, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	a.Complain(w, "told by "+u.values)
	if err := a.Run(ended); err != nil {
		t.Error(err)
	}
}

// leaveManifest keeps what an earlier attempt at the Job would have left behind.
func leaveManifest(t *testing.T, admin kubernetes.Interface, w *workload.Workload) {
	t.Helper()
	_, err := admin.CoreV1().Secrets(namespace).Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "reroll-job-" + string(w.UID)}, Type: kube.ManifestType,
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// rollOf returns a roll of w with a mark that no other usage writes.
func (u usage) rollOf(t *testing.T, w *workload.Workload) mark.Roll {
	t.Helper()
	config := reloader.Config{Kind: reloader.ConfigMap, Namespace: w.Namespace, Name: "prices"}
	written, err := mark.EnvVars.Marks(w, []mark.Entry{{Config: config, Value: u.values, At: time.Unix(1, 0)}})
	if err != nil {
		t.Fatal(err)
	}
	return mark.Roll{Name: "abcdefgh23456723", Hash: u.values, Marks: written, Annotations: map[string]any{"reroll.dev/applied": u.values}}
}
