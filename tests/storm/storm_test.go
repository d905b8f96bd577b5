// Package storm changes very many Secrets at once on a real API server, and watches what Reroll makes of it under a rate limit: each workload
// that depends on them rolls once, never faster than allowed, and what still waits can be seen.
package storm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"golang.org/x/sync/errgroup"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// size is how big a storm is. Workloads, an even number, use a Secret of their own and one that they share with a neighbour.
type size struct{ workloads, perMinute int }

// sizes are by what STORM says. The window is long enough for a busy machine to look at all Secrets in it.
var sizes = map[string]size{"": {200, 600}, "full": {2000, 1200}}

const (
	namespace  = "storm"
	window     = 3 * time.Second
	bystanders = 20 // workloads that use a ConfigMap that does not change
	parallel   = 32 // requests that are under way at a time
	// late is how much later than it happened a roll may be seen: the API server tells watchers of it when it has time.
	late = 3 * time.Second
)

func (o size) secrets() int            { return o.workloads * 3 / 2 }
func (o size) uses(workload int) []int { return []int{workload, o.workloads + workload/2} }

// least is how long the limit alone takes: a tenth of a minute's rolls come at once.
func (o size) least() time.Duration {
	return time.Duration(float64(o.workloads-o.perMinute/10) / float64(o.perMinute) * float64(time.Minute))
}

func TestStorm(t *testing.T) {
	o, ctx := sizes[os.Getenv("STORM")], t.Context()
	l, err := line.Start(ctx, line.Options{
		Kube:  kube.Options{ControlPlaneOnly: true},
		Flags: []string{"--reloads-per-minute", strconv.Itoa(o.perMinute), "--coalesce-window", window.String()},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Stop)
	client := l.Kube.Client()
	if err := o.create(ctx, client); err != nil {
		t.Fatal(err)
	}
	line.Eventually(t, "the baselines", func(ctx context.Context) error {
		settled, open, err := l.Reroll.Settled(ctx, namespace)
		if err == nil && (len(settled) != o.workloads+bystanders || open > 0) {
			err = fmt.Errorf("%d workloads have their baselines, and %d have not", len(settled), open)
		}
		return err
	})
	rolls, err := line.WatchRolls(ctx, client, namespace)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(rolls.Stop)

	began := time.Now()
	if err := o.strike(ctx, client); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d Secrets changed within %s", o.secrets(), time.Since(began))
	line.Eventually(t, "a quarter to be shown as held, and when they are due", func(ctx context.Context) error {
		held, err := l.Reroll.Metric(ctx, "reroll_held_workloads", `reason="RateLimited"`)
		if err != nil || held < float64(o.workloads/4) {
			return errors.Join(fmt.Errorf("%v are held", held), err)
		}
		h, err := l.Reroll.Hold(ctx, namespace, fmt.Sprint("web-", o.workloads-1)) // its Secrets changed last
		if until := time.Until(h.Due); err != nil || h.Reason != "RateLimited" || until <= 0 || until > o.least()+late+window {
			return errors.Join(fmt.Errorf("the last one waits because of %q for %s", h.Reason, until), err)
		}
		return nil
	})
	if err := rolls.Wait(ctx, "", o.workloads, 1); err != nil {
		t.Fatal(err)
	}
	t.Logf("all %d workloads rolled within %s; the limit alone takes %s", o.workloads, time.Since(began), o.least())
	line.Eventually(t, "nothing to be shown as waiting", func(ctx context.Context) error {
		pending, err := l.Reroll.Metric(ctx, "reroll_pending_workloads")
		if err == nil && pending > 0 {
			err = fmt.Errorf("%v wait", pending)
		}
		return err
	})

	// When this has gone the whole way, nothing of the storm is still under way.
	if err := edit(ctx, client.CoreV1().ConfigMaps(namespace).Patch, "calm", `{"data":{"k":"1"}}`); err != nil {
		t.Fatal(err)
	}
	if err := rolls.Wait(ctx, "", o.workloads+bystanders, 1); err != nil {
		t.Fatal(err)
	}
	var all []time.Time
	for name, at := range rolls.Seen() {
		if len(at) != 1 {
			t.Errorf("%s rolled %d times", name, len(at))
		}
		all = append(all, at...)
	}
	slices.SortFunc(all, time.Time.Compare)
	if fast := tooFast(all, o.perMinute); fast != "" {
		t.Error(fast)
	}
}

// tooFast returns the first stretch of time with more rolls in it than the limit lets through: a tenth of what it lets through in a
// minute may come at once, and then so many as time passes. at is in order.
func tooFast(at []time.Time, perMinute int) string {
	rate, burst := float64(perMinute)/60, float64(perMinute)/10
	for i := range at {
		for j := i + 1; j < len(at); j++ {
			took := at[j].Sub(at[i])
			if n := j - i + 1; float64(n) > burst+rate*(took+late).Seconds()+1 {
				return fmt.Sprintf("%d rolls within %s", n, took)
			}
		}
	}
	return ""
}

func (o size) create(ctx context.Context, client kubernetes.Interface) error {
	core, deployments := client.CoreV1(), client.AppsV1().Deployments(namespace)
	if _, err := core.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
		return err
	}
	calm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "calm"}, Data: map[string]string{"k": "0"}}
	if _, err := core.ConfigMaps(namespace).Create(ctx, calm, metav1.CreateOptions{}); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for i := range o.secrets() {
		g.Go(func() error {
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("secret-", i)}, StringData: map[string]string{"k": "0"}}
			_, err := core.Secrets(namespace).Create(ctx, secret, metav1.CreateOptions{})
			return err
		})
	}
	for i := range o.workloads + bystanders {
		from := []corev1.EnvFromSource{line.FromConfigMap("calm")}
		if i < o.workloads {
			from = from[:0]
			for _, s := range o.uses(i) {
				from = append(from, line.FromSecret(fmt.Sprint("secret-", s)))
			}
		}
		g.Go(func() error {
			d := line.Deployment(namespace, fmt.Sprint("web-", i), map[string]string{"reloader.stakater.com/auto": "true"}, from...)
			_, err := deployments.Create(ctx, d, metav1.CreateOptions{})
			return err
		})
	}
	return g.Wait()
}

// strike changes every Secret, those of neighbours one after the other.
func (o size) strike(ctx context.Context, client kubernetes.Interface) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for pair := range o.workloads / 2 {
		for _, s := range []int{2 * pair, 2*pair + 1, o.workloads + pair} {
			g.Go(func() error {
				return edit(ctx, client.CoreV1().Secrets(namespace).Patch, fmt.Sprint("secret-", s), `{"data":{"k":"MQ=="}}`)
			})
		}
	}
	return g.Wait()
}

func edit[T any](ctx context.Context, patch func(context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string) (T, error), name, body string) error {
	_, err := patch(ctx, name, types.MergePatchType, []byte(body), metav1.PatchOptions{})
	return err
}

// TestTooFast: what comes at once, and what comes in time, is no fault.
func TestTooFast(t *testing.T) {
	spread := func(n int, gap time.Duration) (at []time.Time) {
		for i := range n {
			at = append(at, time.Unix(0, 0).Add(time.Duration(i)*gap))
		}
		return at
	}
	for name, c := range map[string]struct {
		at   []time.Time
		fast bool
	}{
		"a burst":                {spread(60, 0), false},
		"a burst that is late":   {spread(90, 0), false},
		"more than a burst":      {spread(92, 0), true},
		"ten a second":           {spread(1000, 100*time.Millisecond), false},
		"twice as many for long": {spread(1000, 50*time.Millisecond), true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tooFast(c.at, 600); (got != "") != c.fast {
				t.Errorf("got %q", got)
			}
		})
	}
}
