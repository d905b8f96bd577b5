package torment

import (
	"context"
	"errors"
	"fmt"
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

// storm is a change of very many Secrets at once under a rate limit. Workloads, an even number, use a Secret of their own and one that they share
// with a neighbour. The window is long enough for a busy machine to look at all Secrets in it.
type storm struct{ workloads, perMinute int }

const (
	stormed    = "storm"
	stormWait  = 3 * time.Second
	bystanders = 20 // workloads that use a ConfigMap that does not change
	// late is how much later than it happened a roll may be seen: the API server tells watchers of it when it has time.
	late = 3 * time.Second
)

func (o storm) secrets() int            { return o.workloads * 3 / 2 }
func (o storm) uses(workload int) []int { return []int{workload, o.workloads + workload/2} }

// least is how long the limit alone takes: a tenth of a minute's rolls come at once.
func (o storm) least() time.Duration {
	return time.Duration(float64(o.workloads-o.perMinute/10) / float64(o.perMinute) * float64(time.Minute))
}

// TestStorm: each workload that depends on what has changed rolls once, and what still waits for the rate limit can be seen.
func TestStorm(t *testing.T) {
	o, ctx := storm{workloads: 200, perMinute: 600}, t.Context()
	l, err := line.Start(ctx, line.Options{
		Kube:  kube.Options{ControlPlaneOnly: true},
		Flags: []string{"--set", "rolloutLimits.reloadsPerMinute=" + strconv.Itoa(o.perMinute), "--set", "debounce.window=" + stormWait.String()},
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
		settled, open, err := l.Reroll.Settled(ctx, stormed)
		if err == nil && (len(settled) != o.workloads+bystanders || open > 0) {
			err = fmt.Errorf("%d workloads have their baselines, and %d have not", len(settled), open)
		}
		return err
	})
	rolls, err := line.WatchRolls(ctx, client, stormed)
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
		h, err := l.Reroll.Hold(ctx, stormed, fmt.Sprint("web-", o.workloads-1)) // its Secrets changed last
		if until := time.Until(h.Due); err != nil || h.Reason != "RateLimited" || until <= 0 || until > o.least()+late+stormWait {
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
	if err := edit(ctx, client.CoreV1().ConfigMaps(stormed).Patch, "calm", `{"data":{"k":"1"}}`); err != nil {
		t.Fatal(err)
	}
	if err := rolls.Wait(ctx, "", o.workloads+bystanders, 1); err != nil {
		t.Fatal(err)
	}
	for name, at := range rolls.Seen() {
		if len(at) != 1 {
			t.Errorf("%s rolled %d times", name, len(at))
		}
	}
}

func (o storm) create(ctx context.Context, client kubernetes.Interface) error {
	core, deployments := client.CoreV1(), client.AppsV1().Deployments(stormed)
	if _, err := core.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: stormed}}, metav1.CreateOptions{}); err != nil {
		return err
	}
	calm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "calm"}, Data: map[string]string{"k": "0"}}
	if _, err := core.ConfigMaps(stormed).Create(ctx, calm, metav1.CreateOptions{}); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for i := range o.secrets() {
		g.Go(func() error {
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("secret-", i)}, StringData: map[string]string{"k": "0"}}
			_, err := core.Secrets(stormed).Create(ctx, secret, metav1.CreateOptions{})
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
			d := line.Deployment(stormed, fmt.Sprint("web-", i), map[string]string{"reloader.stakater.com/auto": "true"}, from...)
			_, err := deployments.Create(ctx, d, metav1.CreateOptions{})
			return err
		})
	}
	return g.Wait()
}

// strike changes every Secret, those of neighbours one after the other.
func (o storm) strike(ctx context.Context, client kubernetes.Interface) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for pair := range o.workloads / 2 {
		for _, s := range []int{2 * pair, 2*pair + 1, o.workloads + pair} {
			g.Go(func() error {
				return edit(ctx, client.CoreV1().Secrets(stormed).Patch, fmt.Sprint("secret-", s), `{"data":{"k":"MQ=="}}`)
			})
		}
	}
	return g.Wait()
}

func edit[T any](ctx context.Context, patch func(context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string) (T, error), name, body string) error {
	_, err := patch(ctx, name, types.MergePatchType, []byte(body), metav1.PatchOptions{})
	return err
}
