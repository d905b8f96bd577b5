package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/tests/line"
)

// What a workload says in Reroll's own annotations about when it rolls, and an owner about who may use a config.

// own creates a Deployment that uses the ConfigMap app and says that in Reroll's own annotations. Where picky, it starts where open allows it.
func (s *site) own(name string, picky bool, annotations map[string]string) {
	s.t.Helper()
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.ns, Annotations: map[string]string{"reroll.dev/auto": "true"}}}
	for key, value := range annotations {
		d.Annotations["reroll.dev/"+key] = value
	}
	d.Spec.Selector, d.Spec.Template = s.template(name, "app")
	if picky {
		d.Spec.Template.Spec.NodeSelector = map[string]string{s.ns: "yes"}
	}
	_, err := s.client.AppsV1().Deployments(s.ns).Create(s.ctx, d, metav1.CreateOptions{})
	s.must(err)
}

// says changes one of Reroll's own annotations of a Deployment.
func (s *site) says(name, key, value string) {
	s.t.Helper()
	s.patch("deployments", name, fmt.Sprintf(`{"metadata":{"annotations":{"reroll.dev/%s":%q}}}`, key, value))
}

// rolls waits until n reloads of a Deployment are on record that rolled it, and returns them, the newest first. Its ReplicaSets, of which there
// is one more, tell the same.
func (s *site) rolls(name string, n int) []line.Reload {
	s.t.Helper()
	var found []line.Reload
	s.await(func() error {
		all, err := shared.Reroll.Reloads(s.ctx, s.ns)
		found = nil
		for _, r := range all {
			if r.Workload.Name == name && r.Outcome == "Reloaded" {
				found = append(found, r)
			}
		}
		if err == nil && len(found) != n {
			err = fmt.Errorf("%s has %d reloads, not %d", name, len(found), n)
		}
		return err
	})
	s.await(func() error {
		sets, err := s.client.AppsV1().ReplicaSets(s.ns).List(s.ctx, metav1.ListOptions{LabelSelector: "app=" + name})
		if err == nil && len(sets.Items) != n+1 {
			err = fmt.Errorf("%s has %d ReplicaSets, want %d", name, len(sets.Items), n+1)
		}
		return err
	})
	return found
}

// TestOwnWindow: a workload with a quiet window of its own rolls once for what comes within it, and not before it is over; another one that
// uses the same config does not wait for that.
func TestOwnWindow(t *testing.T) {
	const window, rounds = 5 * time.Second, 5 // twice the window is no more than the longest wait
	s := newSite(t)
	s.config("app")
	s.own("patient", false, map[string]string{"window": window.String()})
	s.own("prompt", false, nil)
	s.settled(2)
	for round := 1; ; round++ {
		s.edit("app", fmt.Sprint("one of ", round))
		s.rolls("prompt", 2*round-1)
		s.edit("app", fmt.Sprint("two of ", round))
		prompt := s.rolls("prompt", 2*round)
		patient := s.rolledFor("patient", prompt[0].Causes[0].ChangeID)
		last := patient.Causes[len(patient.Causes)-1].VerifiedAt
		if waited := patient.PatchedAt.Sub(last); waited < window {
			t.Errorf("it was rolled %s after the last change, before its window of %s was over", waited, window)
		}
		if causedBy(patient, prompt[1].Causes[0].ChangeID) {
			if prompt[1].PatchedAt.After(patient.PatchedAt) {
				t.Error("the other one has waited for it")
			}
			s.rolls("patient", 2*round-1) // one for both, and two in each round before
			return
		}
		if round == rounds {
			t.Fatalf("in %d rounds it was never rolled once for two changes", rounds)
		}
		t.Logf("the second change came %s after the first, too late for one roll", last.Sub(prompt[1].Causes[0].VerifiedAt))
	}
}

// rolledFor waits until a Deployment was rolled for a change, and returns that reload.
func (s *site) rolledFor(name, change string) (found line.Reload) {
	s.t.Helper()
	s.await(func() error {
		all, err := shared.Reroll.Reloads(s.ctx, s.ns)
		for _, r := range all {
			if r.Workload.Name == name && r.Outcome == "Reloaded" && causedBy(r, change) {
				found = r
				return nil
			}
		}
		return cmp.Or(err, fmt.Errorf("%s was not rolled for change %s", name, change))
	})
	return found
}

func causedBy(r line.Reload, change string) bool {
	return slices.ContainsFunc(r.Causes, func(c line.Cause) bool { return c.ChangeID == change })
}

// TestOwnMinInterval: a workload that was rolled is not rolled again before its interval is over.
func TestOwnMinInterval(t *testing.T) {
	s := newSite(t)
	s.config("app")
	s.own("web", false, map[string]string{"min-interval": "1h"})
	s.settled(1)
	s.edit("app", "one")
	first := s.rolls("web", 1)[0]
	s.edit("app", "two")
	s.held("TooSoon", 1)
	hold, err := shared.Reroll.Hold(s.ctx, s.ns, "web")
	s.must(err)
	if due := hold.Due.Sub(first.PatchedAt); due < 59*time.Minute || due > time.Hour+time.Minute {
		t.Errorf("it is due %s after the roll before, not an hour", due)
	}
	s.rolls("web", 1)
	s.says("web", "min-interval", "1s")
	s.rolls("web", 2)
}

// TestOwnMaintenanceWindow: a workload rolls within its maintenance window, which is open for a minute of a leap year first, and then always.
func TestOwnMaintenanceWindow(t *testing.T) {
	s := newSite(t)
	s.config("app")
	s.own("web", false, map[string]string{"maintenance-window": "0 0 29 2 * 1m"})
	s.settled(1)
	s.edit("app", "one")
	s.held("OutsideWindow", 1)
	s.edit("app", "two")
	s.held("OutsideWindow", 1)
	s.rolls("web", 0)
	s.says("web", "maintenance-window", "0 0 * * * 24h")
	s.rolls("web", 1)
}

// TestOwnShare: a workload can use a config of another namespace as soon as that says so, and no longer than that.
func TestOwnShare(t *testing.T) {
	s := newSite(t)
	theirs := shared.Kube.Namespace(t)
	secrets := s.client.CoreV1().Secrets(theirs)
	_, err := secrets.Create(s.ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "key"}, Data: map[string][]byte{"k": []byte("before")}}, metav1.CreateOptions{})
	s.must(err)
	patch := func(body string) {
		t.Helper()
		_, err := secrets.Patch(s.ctx, "key", types.MergePatchType, []byte(body), metav1.PatchOptions{})
		s.must(err)
	}
	share := func(with string) {
		patch(fmt.Sprintf(`{"metadata":{"annotations":{"reroll.dev/share-with":%q}}}`, with))
	}
	s.config("app")
	s.own("web", false, map[string]string{"secrets": theirs + "/key"})
	s.settled(1)
	rolls := 0
	counts := func(r line.Reload) (n int) {
		for _, c := range r.Causes {
			if c.Config.Namespace == theirs {
				n++
			}
		}
		return n
	}
	for _, step := range []struct {
		with string
		roll bool
	}{{"another", false}, {"another, " + s.ns, true}, {"", false}, {"*", true}} {
		share(step.with)
		patch(fmt.Sprintf(`{"stringData":{"k":%q}}`, "for "+step.with))
		if step.roll {
			rolls++
			if n := counts(s.rolls("web", rolls)[0]); n != 1 {
				t.Errorf("shared with %q: %d causes of the reload are its changes", step.with, n)
			}
		}
		s.edit("app", "after "+step.with) // which rolls in any case, together with what was to be rolled before it
		rolls++
		if n := counts(s.rolls("web", rolls)[0]); n != 0 {
			t.Errorf("shared with %q: %d causes of the reload after it are its changes", step.with, n)
		}
	}
}
