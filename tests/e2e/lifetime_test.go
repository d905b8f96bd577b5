package e2e

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// ownLine starts a line for one test, which may stop and break it.
func ownLine(t *testing.T, o line.Options) *line.Line {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTime)
	defer cancel()
	o.Kube.ControlPlaneOnly = true
	l, err := line.Start(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Stop)
	return l
}

// TestLifetime ends and starts one reroll in every way, and looks at what a Deployment went through.
func TestLifetime(t *testing.T) {
	l := ownLine(t, line.Options{
		Kube:  kube.Options{Audit: &kube.Audit{InitialBackoff: time.Second}},
		Flags: []string{"--coalesce-window", window.String()},
	})
	r := newRoom(t, l)
	r.create(configMap("app", map[string]string{"k": "0"}))
	r.create(deployment("web", usesEnvFrom("app")))
	r.waitBaseline("web", 1)

	r.setData("app", "k", "1")
	r.expectRolls("web", 1)

	t.Log("an orderly restart rolls nothing")
	r.must(l.Reroll.Terminate(r.ctx))
	r.restart()
	r.expectRolls("web", 1)

	t.Log("a change while nobody ran is rolled once at the next start")
	r.must(l.Reroll.Terminate(r.ctx))
	r.setData("app", "k", "2")
	r.restart()
	r.expectRolls("web", 2)

	t.Log("several changes around crashes are rolled as often as content differs, and at least once")
	r.setData("app", "k", "3")
	l.Reroll.Kill()
	r.restart()
	r.expectRolls("web", 3)

	t.Log("losing all state rolls nothing that the mark disproves")
	r.must(l.Reroll.Terminate(r.ctx))
	r.must(os.RemoveAll(l.DataDir()))
	r.restart()
	r.expectRolls("web", 3)

	t.Log("losing all state does not hide a change that the mark proves")
	r.must(l.Reroll.Terminate(r.ctx))
	r.must(os.RemoveAll(l.DataDir()))
	r.setData("app", "k", "4")
	r.restart()
	r.expectRolls("web", 4)

	t.Log("a restart of the API server is survived, and the first edit after it rolls")
	r.must(l.Kube.StopAPIServer(r.ctx))
	r.must(l.Kube.StartAPIServer(r.ctx))
	r.must(l.Reroll.WaitReady(r.ctx))
	r.setData("app", "k", "5")
	r.expectRolls("web", 5)
}

func (r *room) restart() {
	r.t.Helper()
	r.must(r.line.Reroll.Start())
	r.must(r.line.Reroll.WaitReady(r.ctx))
}

// TestCrashes kills reroll at random points while a ConfigMap changes, and counts.
func TestCrashes(t *testing.T) {
	l := ownLine(t, line.Options{
		Kube:  kube.Options{Audit: &kube.Audit{InitialBackoff: time.Second}},
		Flags: []string{"--coalesce-window", "0s"},
	})
	r := newRoom(t, l)
	r.create(configMap("app", map[string]string{"k": "start"}))
	for i := range 5 {
		r.create(deployment(fmt.Sprintf("web-%d", i), usesEnvFrom("app")))
	}
	for i := range 5 {
		r.waitBaseline(fmt.Sprintf("web-%d", i), 1)
	}
	const rounds = 12
	for round := range rounds {
		r.setData("app", "k", fmt.Sprint(round))
		// The kill falls somewhere between the audit event and the last record, later in each round.
		timer := time.NewTimer(time.Duration(round*12) * time.Millisecond)
		<-timer.C
		l.Reroll.Kill()
		r.must(l.Reroll.Start())
		r.must(l.Reroll.WaitReady(r.ctx))
		for i := range 5 {
			r.waitRolls(fmt.Sprintf("web-%d", i), int64(round+1))
		}
	}
	r.quiesce()
	for i := range 5 {
		if got := r.rolls(fmt.Sprintf("web-%d", i)); got != rounds {
			t.Errorf("web-%d rolled %d times for %d versions", i, got, rounds)
		}
	}
}

// TestOptInBesideAChange opts a workload in and edits its config at once, so that the watch may lag behind the audit event.
func TestOptInBesideAChange(t *testing.T) {
	t.Parallel()
	r := newRoom(t, shared)
	for i := range 10 {
		name := fmt.Sprintf("app-%d", i)
		r.create(configMap(name, map[string]string{"k": "a"}))
		d := deployment(fmt.Sprintf("web-%d", i), usesEnvFrom(name))
		d.Annotations = nil
		r.create(d)
	}
	for i := range 10 {
		_, err := r.client.AppsV1().Deployments(r.ns).Patch(r.ctx, fmt.Sprintf("web-%d", i), types.MergePatchType,
			[]byte(`{"metadata":{"annotations":{"reloader.stakater.com/auto":"true"}}}`), metav1.PatchOptions{})
		r.must(err)
		r.setData(fmt.Sprintf("app-%d", i), "k", "b")
	}
	r.quiesce()
	for i := range 10 {
		r.waitBaseline(fmt.Sprintf("web-%d", i), 1)
		// No pod runs here, so none can have missed the change; what counts is that the next one is seen.
		before := r.rolls(fmt.Sprintf("web-%d", i))
		r.setData(fmt.Sprintf("app-%d", i), "k", "c")
		r.waitRolls(fmt.Sprintf("web-%d", i), before+1)
	}
}

func TestDryRun(t *testing.T) {
	l := ownLine(t, line.Options{Flags: []string{"--coalesce-window", "0s", "--dry-run"}})
	ctx, cancel := context.WithTimeout(t.Context(), testTime)
	defer cancel()
	r := &room{t: t, ctx: ctx, line: l, client: l.Kube.Client(), ns: l.Kube.Namespace(t)}
	r.create(configMap("app", map[string]string{"k": "a"}))
	r.create(deployment("web", usesEnvFrom("app")))
	r.waitBaseline("web", 1)
	r.setData("app", "k", "b")
	r.must(line.Poll(ctx, func(ctx context.Context) error {
		reloads, err := l.Reroll.Reloads(ctx, r.ns)
		if err != nil {
			return err
		}
		if len(reloads) != 1 || reloads[0].Outcome != "DryRun" {
			return fmt.Errorf("reloads: %+v", reloads)
		}
		return nil
	}))
	if got := r.rolls("web"); got != 0 {
		t.Errorf("a dry run rolled %d times", got)
	}
	if _, err := r.client.CoreV1().Secrets("default").Get(ctx, "reroll-digest-key", metav1.GetOptions{}); err == nil {
		t.Error("a dry run wrote the digest key")
	}
	events, err := r.client.CoreV1().Events(r.ns).List(ctx, metav1.ListOptions{})
	r.must(err)
	if len(events.Items) != 0 {
		t.Errorf("a dry run wrote %d events", len(events.Items))
	}
}
