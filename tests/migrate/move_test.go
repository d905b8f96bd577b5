package migrate_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/tests/line"
)

// TestGuide follows the guide to its end: no pod is replaced for the move in, the way back and the next move in, and what changes on the way is rolled
// once. tests/conformance has what the marks of the strategy annotations say.
func TestGuide(t *testing.T) {
	s := newShop(t, "env-vars")
	r := newReader(t, "stakater", "config: {debounce: {window: 6s}}\n")
	chart, err := filepath.Abs("testdata/reloader")
	line.Must(t, err)
	r.Follow(t, "helm install reloader "+chart+" --namespace reloader --create-namespace --set strategy=env-vars")
	r.awaitTheirs(t)
	if flags := r.follow(t, before, nil); !strings.Contains(flags, "--reload-strategy=env-vars") {
		t.Errorf("what is set is told as %s", flags)
	}
	s.observe(t, r)
	s.moveIn(t, r)
	s.goBack(t, r)
	s.stay(t, r)
}

func (r *reader) awaitTheirs(t *testing.T) {
	t.Helper()
	line.Must(t, shared.Kube.WaitRollout(t.Context(), "reloader", "deployment", "reloader-reloader"))
}

// observe follows the guide while Stakater Reloader rolls, and Reroll says that it would.
func (s shop) observe(t *testing.T, r *reader) {
	t.Helper()
	was := s.look()
	r.follow(t, observe, map[string]func(){
		"outcome=PodsNewer": func() {
			s.edit("seen", "2")
			<-time.After(1100 * time.Millisecond) // what starts in the second of the edit may be older
			s.roll("seen", "2")
			s.awaitReload("seen", "PodsNewer", 1)
		},
		"outcome=DryRun": func() {
			s.edit("seen", "3")
			s.awaitReload("seen", "DryRun", 1)
			s.roll("seen", "3")
		},
	})
	if log := shared.Reroll.Log(); !strings.Contains(log, "reloader/reloader-reloader") {
		t.Error("reroll does not warn of the other reloader")
	}
	s.expectKept(was, "seen")
}

// moveIn swaps the two. What changes while neither of them works is rolled once, what Stakater Reloader has rolled is not rolled again,
// and the next edit is.
func (s shop) moveIn(t *testing.T, r *reader) {
	t.Helper()
	was, seen, missed := s.look(), s.generation("seen"), s.generation("missed")
	r.follow(t, swap, map[string]func(){"dryRun=false": func() { s.edit("missed", "2") }})
	s.awaitReload("missed", "Reloaded", 1)
	s.awaitPods("missed")
	s.expectKept(was, "missed")
	s.edit("seen", "4")
	s.awaitReload("seen", "Reloaded", 1)
	s.awaitPods("seen")
	s.expectKept(was, "missed", "seen")
	if s.generation("seen") <= seen || s.generation("missed") <= missed {
		t.Error("what was recorded as reloaded was not")
	}
}

// goBack follows the guide back. Stakater Reloader finds its own marks, and continues.
func (s shop) goBack(t *testing.T, r *reader) {
	t.Helper()
	was := s.look()
	if paused := r.follow(t, goBack, nil); strings.Contains(paused, s.NS) {
		t.Errorf("Deployments are paused: %s", paused)
	}
	r.awaitTheirs(t)
	s.expectKept(was)
	for name, value := range map[string]string{"seen": "4", "missed": "2"} {
		before := s.generation(name)
		if s.roll(name, value); s.generation(name) != before {
			t.Errorf("what it writes into %s for the present content is not there already", name)
		}
	}
	s.edit("seen", "5")
	s.awaitReload("seen", "DryRun", 2)
	s.roll("seen", "5")
	s.expectKept(was, "seen")
}

// stay moves in for good.
func (s shop) stay(t *testing.T, r *reader) {
	t.Helper()
	was := s.look()
	r.follow(t, swap, nil)
	s.edit("seen", "6")
	s.awaitReload("seen", "Reloaded", 2)
	s.awaitPods("seen")
	s.expectKept(was, "seen")
	r.follow(t, cleanUp, nil)
	_, err := shared.Kube.Client().AppsV1().Deployments("reloader").Get(t.Context(), "reloader-reloader", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the other one is still there: %v", err)
	}
	s.expectKept(was, "seen")
	r.Follow(t, "helm uninstall reroll --namespace reroll")
}
