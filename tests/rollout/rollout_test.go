package rollout

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// TestEveryEnd: what the controllers of Kubernetes make of a reload is what Reroll says of it.
func TestEveryEnd(t *testing.T) {
	s := newSite(t)
	names := []string{"stuck", "overtaken", "paused"}
	for _, name := range names {
		s.Config(name, "before")
		s.deploy(name, name, name != "paused", map[string]int32{"stuck": 2, "overtaken": 600, "paused": 600}[name])
	}
	s.Settled(len(names))
	s.running(len(names))
	s.patch("deployment/paused", `{"spec":{"paused":true}}`)
	s.open(false)
	for _, name := range names {
		s.Edit(name, "after")
	}

	t.Log("each comes to its own end")
	s.result("stuck", "Stalled")
	if r := s.result("paused", "WaitingForOperator"); !strings.Contains(r.Rollout.Message, "spec.paused") {
		t.Errorf("it waits because %q", r.Rollout.Message)
	}

	t.Log("somebody goes on with what waits, mends what has stalled, and deploys in the middle of another")
	s.patch("deployment/paused", `{"spec":{"paused":false}}`)
	s.patch("deployment/overtaken", `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"example.com/next"}]}}}}`)
	s.result("overtaken", "Overtaken")
	s.open(true)
	s.result("paused", "RolledOut")
	s.result("stuck", "RolledOut")

	t.Log("the stall is an Event")
	s.AwaitThat("the Event", func() bool {
		return strings.Contains(s.Kubectl("get", "events", "--field-selector=involvedObject.name=stuck,reason=ReloadFail,type=Warning"), "has stalled: its progress deadline is exceeded")
	})
}

// TestHalt: a change whose first rollout stalls reaches nobody else, also after a restart, until somebody tries again; then everybody,
// each once.
func TestHalt(t *testing.T) {
	const workloads = 30
	s := newSite(t)
	s.Config("app", "before")
	for i := range workloads {
		s.deploy(fmt.Sprintf("web-%02d", i), "app", true, 3)
	}
	s.Settled(workloads)
	s.running(workloads)
	s.open(false)

	s.Edit("app", "broken")
	message := s.held("Halted", workloads-1)
	if !strings.HasPrefix(message, "the reload of Deployment/"+s.NS+"/web-") || !strings.Contains(message, " for ConfigMap/"+s.NS+"/app has stalled") {
		t.Errorf("held back with the message %q", message)
	}
	if all, _ := s.templates(); all != 1 {
		t.Errorf("%d templates were changed although the first rollout stalled, want 1", all)
	}

	t.Log("who comes after holds it, too")
	s.Restart()
	s.held("Halted", workloads-1)
	if all, _ := s.templates(); all != 1 {
		t.Errorf("%d templates were changed after the restart, want 1", all)
	}

	t.Log("another try begins with one")
	_, stalled, _ := strings.Cut(message, "the reload of Deployment/"+s.NS+"/")
	stalled, _, _ = strings.Cut(stalled, " ")
	if out, err := s.Reroll("retry", s.NS+"/Deployment/"+stalled); err != nil || !strings.HasPrefix(out, "asked for another try of ") {
		t.Errorf("retry says %q, %v", out, err)
	}
	s.Await("templates", func(context.Context) error {
		if all, _ := s.templates(); all != 2 {
			return fmt.Errorf("%d templates were changed, not 2", all)
		}
		return nil
	})
	s.held("Halted", workloads-2)

	t.Log("what has stalled rolls out, and the rest follows")
	s.open(true)
	s.Await("templates", func(context.Context) error {
		all, twice := s.templates()
		if all != workloads || twice > 0 {
			return fmt.Errorf("%d templates were changed, %d of them more than once", all, twice)
		}
		return nil
	})
	for i := range workloads {
		s.result(fmt.Sprintf("web-%02d", i), "RolledOut")
	}
}
