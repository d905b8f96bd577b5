//go:build nightly

package e2e

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

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

// TestCrashes ends reroll at random points while a ConfigMap changes, as a crash does and as it is asked to, and counts.
func TestCrashes(t *testing.T) {
	l := ownLine(t, line.Options{
		Kube:  kube.Options{Audit: &kube.Audit{InitialBackoff: time.Second}},
		Flags: []string{"--coalesce-window", "0s"},
	})
	t.Run("killed", func(t *testing.T) {
		r := newRoom(t, l)
		r.crash(l.Reroll.Kill)
		r.recordedOnce()
	})
	t.Run("terminated", func(t *testing.T) {
		r := newRoom(t, l)
		r.crash(func() { r.must(l.Reroll.Terminate(r.ctx)) }) // an exit code other than 0 is an error
		r.recordedOnce()
	})
}

const (
	// crashRounds is how often a process is ended, and crashWeb how many Deployments it has to roll meanwhile.
	crashRounds, crashWeb = 12, 5
)

// crash edits a ConfigMap, ends reroll while it works on that and starts it again, many times.
func (r *room) crash(end func()) {
	r.t.Helper()
	r.create(configMap("app", map[string]string{"k": "start"}))
	for i := range crashWeb {
		r.create(deployment(fmt.Sprintf("web-%d", i), usesEnvFrom("app")))
	}
	for i := range crashWeb {
		r.waitBaseline(fmt.Sprintf("web-%d", i), 1)
	}
	for round := range crashRounds {
		r.setData("app", "k", fmt.Sprint(round))
		// The end falls somewhere between the audit event and the last record, later in each round.
		timer := time.NewTimer(time.Duration(round*12) * time.Millisecond)
		<-timer.C
		end()
		r.must(r.line.Reroll.Start())
		r.must(r.line.Reroll.WaitReady(r.ctx))
		for i := range crashWeb {
			r.waitRolls(fmt.Sprintf("web-%d", i), int64(round+1))
		}
	}
	r.quiesce()
	for i := range crashWeb {
		if got := r.rolls(fmt.Sprintf("web-%d", i)); got != crashRounds {
			r.t.Errorf("web-%d rolled %d times for %d versions", i, got, crashRounds)
		}
	}
}

// recordedOnce waits until there is a record of the roll of each Deployment to each version of its ConfigMap, and fails the test if there is
// more than one.
func (r *room) recordedOnce() {
	r.t.Helper()
	r.must(line.Poll(r.ctx, func(ctx context.Context) error {
		reloads, err := r.line.Reroll.Reloads(ctx, r.ns)
		if err != nil {
			return err
		}
		rolls := map[string]int{}
		for _, reload := range reloads {
			if reload.Outcome != "Reloaded" || reload.Workload.Name == "sentinel" {
				continue
			}
			if len(reload.Causes) == 0 {
				return line.Stop(fmt.Errorf("a reload without a cause: %+v", reload))
			}
			to := reload.Workload.Name + " to " + reload.Causes[len(reload.Causes)-1].NewSum
			if rolls[to]++; rolls[to] > 1 {
				return line.Stop(fmt.Errorf("%s is recorded twice: %+v", to, reload))
			}
		}
		if len(rolls) != crashWeb*crashRounds {
			return fmt.Errorf("%d rolls are recorded, not %d", len(rolls), crashWeb*crashRounds)
		}
		return nil
	}))
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
