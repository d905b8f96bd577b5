package admission

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestImageAndConfigWhileAway: somebody changes the image of a workload and the content of its ConfigMap while Reroll and its webhook are away.
// If the pods of the new image are newer than the content, nothing is left to do; if they are older, they are rolled, once.
func TestImageAndConfigWhileAway(t *testing.T) {
	s := newSite(t)
	s.apply("client", s.configFile("app", "one"), s.configFile("late", "one"),
		s.deploymentFile("before", "app", "1", auto), s.deploymentFile("after", "late", "1", auto))
	for i, name := range []string{"before", "after"} {
		s.settled(name)
		s.apply("client", s.configFile([]string{"app", "late"}[i], "two"))
		if diff := cmp.Diff([]string{"Reloaded"}, s.outcomes(name, 1)); diff != "" {
			t.Fatalf("the first change for %s (-want +got):\n%s", name, diff)
		}
		s.replicaSets(name)
	}
	shared.Reroll.Kill()
	s.apply("client", s.configFile("app", "three"), s.deploymentFile("after", "late", "2", auto))
	s.replicaSets("after")
	s.nextSecond()
	s.apply("client", s.deploymentFile("before", "app", "2", auto), s.configFile("late", "three"))
	before, after := s.replicaSets("before"), s.replicaSets("after")
	s.must(shared.Reroll.Start())
	s.must(shared.Reroll.WaitReady(s.ctx))
	s.answering()

	if diff := cmp.Diff([]string{"Reloaded", "Reloaded"}, s.outcomes("after", 2)); diff != "" {
		t.Errorf("what Reroll makes of content that is newer than the pods (-want +got):\n%s", diff)
	}
	if n := s.replicaSets("after"); n != after+1 {
		t.Errorf("%d ReplicaSets, %d before Reroll was back, want one more", n, after)
	}
	if diff := cmp.Diff([]string{"Reloaded", "PodsNewer"}, s.outcomes("before", 2)); diff != "" {
		t.Errorf("what Reroll makes of content that is older than the pods (-want +got):\n%s", diff)
	}
	if n := s.replicaSets("before"); n != before {
		t.Errorf("%d ReplicaSets, %d before Reroll was back", n, before)
	}
}

// nextSecond waits for two seconds of the clock: Kubernetes tells times by the second, and what may have been in the same one proves nothing.
func (s *site) nextSecond() {
	s.t.Helper()
	then := time.Now().Unix()
	s.await(func() error {
		if time.Now().Unix() <= then+1 {
			return errors.New("it is still the same second")
		}
		return nil
	})
}
