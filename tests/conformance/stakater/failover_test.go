//go:build nightly

package stakater_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/natsserver"
	"github.com/reroll-dev/reroll/tests/scenario"
	"github.com/reroll-dev/reroll/tests/world"
)

// failOverTime is how long after a kill another replica may take to lead, as its Lease says and a busy machine delays.
const failOverTime = 30 * time.Second

// workTime is how long it may take from then until what changed meanwhile is rolled: far less than a sweep, which would find it as well.
const workTime = 30 * time.Second

// TestFailOver: of two replicas one works; when it is killed the other does, and what changed meanwhile is rolled once.
func TestFailOver(t *testing.T) {
	nats := natsserver.Start(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	flags := []string{"--enable-ha", "--set=debounce.window=0s"}
	l, err := line.StartRoles(ctx, line.Options{
		Kube: kube.Options{ControlPlaneOnly: true}, Flags: flags, Environment: []string{"POD_NAME=one", "POD_NAMESPACE=default"},
	}, nats.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Stop)
	second, err := l.AddDispatch("POD_NAME=two", "POD_NAMESPACE=default")
	if err != nil {
		t.Fatal(err)
	}
	if err := second.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	if code, answer, err := second.Probe(ctx, "/live"); err != nil || code != http.StatusOK {
		t.Errorf("/live of who waits: %d %q, %v", code, answer, err)
	}
	s, err := scenario.Parse(t.Name(), []byte(oneEdit))
	if err != nil {
		t.Fatal(err)
	}
	w := world.New(t, l, world.Options{})
	scenario.Run(ctx, t, s, w)

	l.Dispatch.Kill()
	killed := time.Now()
	if _, err := w.Patch(ctx, "ConfigMap/app", scenario.PatchTypes["merge"], []byte(`{"data":{"a":"3"}}`)); err != nil {
		t.Fatal(err)
	}
	awaitGeneration(ctx, t, w, 3)
	rolled := time.Now()
	lock, err := l.Kube.Client().CoordinationV1().Leases("default").Get(ctx, "stakater-reloader-lock", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if took := lock.Spec.AcquireTime.Sub(killed); *lock.Spec.HolderIdentity != "two" || took <= 0 || took > failOverTime {
		t.Errorf("%s leads since %s after the kill; want the second within %s", *lock.Spec.HolderIdentity, took.Round(time.Millisecond), failOverTime)
	}
	if took := rolled.Sub(lock.Spec.AcquireTime.Time); took > workTime {
		t.Errorf("the change was rolled %s after the second began to lead, more than %s", took.Round(time.Millisecond), workTime)
	}
	if err := w.Quiesce(ctx); err != nil {
		t.Fatal(err)
	}
	awaitGeneration(ctx, t, w, 3)
}

// awaitGeneration waits until the Deployment web has a generation. It must not go beyond.
func awaitGeneration(ctx context.Context, t *testing.T, w *world.World, want int64) {
	t.Helper()
	err := line.Poll(ctx, func(ctx context.Context) error {
		switch got, err := w.Generation(ctx, "Deployment/web"); {
		case err != nil:
			return line.Stop(err)
		case got > want:
			return line.Stop(fmt.Errorf("generation %d is beyond %d", got, want))
		case got < want:
			return fmt.Errorf("generation %d is not %d", got, want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
