//go:build nightly

package stakater_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// TestNoListForStrangers: an edit that nobody depends on lists no workloads, and reads nothing of the config's content.
func TestNoListForStrangers(t *testing.T) {
	p := withFlags(t, nil)
	edits := `
reason: an edit that nobody depends on
given: [{kind: Secret, metadata: {name: app}, data: {a: MQ==}}]
steps: [{do: [{patch: Secret/app, with: {data: {a: Mg==}}}]}]
`
	w := p.play(t, edits)
	lists := func() (n float64) {
		for _, resource := range []string{"deployments", "statefulsets", "daemonsets", "jobs"} {
			n += requests(t, "LIST", resource)
		}
		return n
	}
	secrets := func() float64 { return requests(t, "GET", "secrets") + requests(t, "LIST", "secrets") }
	listed, read, heard := lists(), secrets(), strangers(t)
	if _, err := w.Patch(t.Context(), "Secret/app", scenario.PatchTypes["merge"], []byte(`{"data":{"a":"Mw=="}}`)); err != nil {
		t.Fatal(err)
	}
	line.Eventually(t, "the edit", func(context.Context) error {
		if strangers(t) == heard {
			return errors.New("nothing was heard")
		}
		return nil
	})
	if now := lists(); now != listed {
		t.Errorf("workloads were listed %v times", now-listed)
	}
	if now := secrets(); now != read {
		t.Errorf("Secrets were read %v times", now-read)
	}
}

// strangers returns the counter of hints that nobody depends on.
func strangers(t *testing.T) string {
	t.Helper()
	text, err := shared.Reroll.Metrics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(text, `reroll_hints_total{result="nobody_depends"} `)
	count, _, _ := strings.Cut(after, "\n")
	return count
}

// requests returns how many requests of that verb for a resource the API server has answered.
func requests(t *testing.T, verb, resource string) float64 {
	t.Helper()
	n, err := shared.Kube.Metric(t.Context(), "apiserver_request_total", `verb="`+verb+`"`, `resource="`+resource+`"`)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// fanOut is how many Deployments use one ConfigMap.
const fanOut = 60

// TestFanOut: the last of many workloads is rolled within seconds of the change.
func TestFanOut(t *testing.T) {
	p := withFlags(t, nil)
	w := p.play(t, oneEdit)
	ctx, cancel := context.WithTimeout(t.Context(), startTime)
	defer cancel()
	namespace := w.Namespace("main")
	deployments := shared.Kube.Client().AppsV1().Deployments(namespace)
	web, err := deployments.Get(ctx, "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range fanOut {
		more := web.DeepCopy()
		more.ObjectMeta = metav1.ObjectMeta{Name: fmt.Sprintf("web-%d", i), Annotations: map[string]string{"reloader.stakater.com/auto": "true"}}
		if _, err := deployments.Create(ctx, more, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Quiesce(ctx); err != nil {
		t.Fatal(err)
	}
	bare := bareWrites(ctx, t, namespace)
	if _, err := w.Patch(ctx, "ConfigMap/app", scenario.PatchTypes["merge"], []byte(`{"data":{"a":"3"}}`)); err != nil {
		t.Fatal(err)
	}
	last := reloadedAll(ctx, t, namespace)
	// Theirs takes 10.2 s: its client sends five requests a second. What as many requests take one after the other is the machine's own time.
	if limit := 5 + bare; last > limit {
		t.Errorf("the last of %d was rolled after %.1f s, more than %.0f s", fanOut, last, limit)
	}
}

// bareWrites returns how many seconds it takes to write all of the fan-out one after the other, to no effect.
func bareWrites(ctx context.Context, t *testing.T, namespace string) float64 {
	t.Helper()
	begun := time.Now()
	for i := range fanOut {
		_, err := shared.Kube.Client().AppsV1().Deployments(namespace).Patch(ctx, fmt.Sprintf("web-%d", i), types.MergePatchType,
			[]byte(`{"metadata":{"labels":{"tried":"true"}}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			t.Fatal(err)
		}
	}
	return time.Since(begun).Seconds()
}

// reloadedAll waits until all of the fan-out have reloaded, and returns how long after its request the last was patched, in seconds.
func reloadedAll(ctx context.Context, t *testing.T, namespace string) float64 {
	t.Helper()
	last := 0.0
	err := line.Poll(ctx, func(ctx context.Context) error {
		reloads, err := shared.Reroll.Reloads(ctx, namespace)
		if err != nil {
			return err
		}
		done := 0
		for _, r := range reloads {
			if strings.HasPrefix(r.Workload.Name, "web-") && r.Outcome == "Reloaded" && len(r.Causes) > 0 {
				done++
				last = max(last, r.PatchedAt.Sub(r.Causes[0].RequestedAt).Seconds())
			}
		}
		if done != fanOut {
			return fmt.Errorf("%d of %d have reloaded", done, fanOut)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return last
}
