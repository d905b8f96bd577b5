package torment

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// A storm changes a Secret of each workload and one that it shares with a neighbour, all at once.
const (
	stormed   = 2000
	perMinute = 3000
	// least is how long the rate limit alone takes: a tenth of a minute's rolls come at once.
	least = (stormed - perMinute/10) * time.Minute / perMinute
)

// TestStorm: of workloads whose Secrets all change at once, each rolls once, as fast as the rate limit lets it.
func TestStorm(t *testing.T) {
	l, err := line.Start(t.Context(), line.Options{
		Kube:  kube.Options{ControlPlaneOnly: true},
		Flags: []string{"--set", "debounce.window=10s", "--set", "rolloutLimits.reloadsPerMinute=" + strconv.Itoa(perMinute)},
	})
	line.Must(t, err)
	t.Cleanup(l.Stop)
	r := line.NewRoom(t, l)
	own, shared := func(i int) string { return fmt.Sprint("own-", i) }, func(i int) string { return fmt.Sprint("shared-", i/2) }
	for i := range stormed {
		r.Secret(own(i), "0")
		if i%2 == 0 {
			r.Secret(shared(i), "0")
		}
		r.Deploy(fmt.Sprint("web-", i), line.Auto, line.FromSecret(own(i)), line.FromSecret(shared(i)))
	}
	r.Settled(stormed)
	rolls, err := line.WatchRolls(t.Context(), r.Client(), r.NS)
	line.Must(t, err)
	t.Cleanup(rolls.Stop)

	began := time.Now()
	var edits errgroup.Group
	edits.SetLimit(parallel)
	edit := func(name string) {
		edits.Go(func() error {
			_, err := r.Client().CoreV1().Secrets(r.NS).Patch(t.Context(), name, types.MergePatchType, []byte(`{"stringData":{"k":"1"}}`), metav1.PatchOptions{})
			return err
		})
	}
	for i := range stormed {
		edit(own(i))
		if i%2 == 0 {
			edit(shared(i))
		}
	}
	line.Must(t, edits.Wait())
	changed := time.Since(began)
	line.Must(t, rolls.Wait(t.Context(), r.NS, stormed, 1))
	took := time.Since(began)
	if took < least {
		t.Errorf("%d workloads rolled within %s, and the limit takes %s", stormed, took, least)
	}
	r.Quiet()
	for name, at := range rolls.Seen() {
		if len(at) != 1 {
			t.Errorf("%s rolled %d times", name, len(at))
		}
	}
	_, most, err := l.Reroll.Memory()
	line.Must(t, err)
	if most > memoryBound {
		t.Errorf("%d MB resident, more than %d", most>>20, memoryBound>>20)
	}
	t.Logf("%d Secrets changed within %s, %d workloads rolled within %s; %d MB resident at most", stormed*3/2, changed, stormed, took, most>>20)
}
