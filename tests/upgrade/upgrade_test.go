package upgrade

import (
	"context"
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// quick are flags with which a change is rolled soon, and slow those with which it waits for longer than the test takes.
var (
	quick = []string{"--coalesce-window", "100ms"}
	slow  = []string{"--coalesce-window", "1h", "--coalesce-max-wait", "1h"}
)

// TestUpgradeAndBack exchanges `reroll serve`: forth, back and forth again. The second time the process is killed.
func TestUpgradeAndBack(t *testing.T) {
	for _, from := range versions(t) {
		t.Run(from, func(t *testing.T) {
			old := build(t, from)
			ctx, cancel := context.WithTimeout(t.Context(), testTime)
			defer cancel()
			newest, err := line.Build(ctx)
			if err != nil {
				t.Fatal(err)
			}
			l, err := line.Start(ctx, line.Options{
				Kube: kube.Options{ControlPlaneOnly: true, Audit: &kube.Audit{InitialBackoff: time.Second}}, Flags: quick, Binary: old,
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(l.Stop)
			s := newSite(ctx, t, l)
			s.editAll()
			s.judge("before")
			freeze := freezes(ctx, old) && freezes(ctx, newest)
			t.Logf("both know of freezes: %t", freeze)
			s.exchange("upgrade", newest, s.end, freeze)
			s.exchange("rollback", old, s.kill, freeze)
			s.exchange("second upgrade", newest, s.end, freeze)
		})
	}
}

func (s *site) end() { s.must(s.line.Reroll.Terminate(s.ctx)) }

func (s *site) kill() { s.line.Reroll.Kill() }

// exchange ends a process that has changes to roll, edits while nobody runs, and starts another version on the same data, perhaps frozen.
func (s *site) exchange(name, to string, end func(), freeze bool) {
	s.t.Helper()
	s.t.Log(name)
	s.end()
	s.must(s.line.Reroll.Start(slow...))
	s.must(s.line.Reroll.WaitReady(s.ctx))
	s.editAndSee("waits", "waits-set")
	before := s.history()
	if freeze {
		s.freeze()
	}
	end()
	s.edit("away", "away-daemon")
	s.line.Reroll.Use(to)
	s.must(s.line.Reroll.Start())
	s.must(s.line.Reroll.WaitReady(s.ctx))
	if freeze {
		s.thaw("waits", "away")
	}
	s.judge(name)
	s.compare(name, before)
	s.editAll()
	s.judge("after the " + name)
}

// compare checks that what was on record is, as it was.
func (s *site) compare(name string, before map[string]line.Reload) {
	s.t.Helper()
	now := s.history()
	for id, was := range before {
		found, ok := now[id]
		if !ok || len(found.Causes) == 0 {
			s.t.Errorf("%s: reload %s of %s is gone, or has no causes any more", name, id, was.Workload.Name)
			continue
		}
		if diff := cmp.Diff(was, found); diff != "" {
			s.t.Errorf("%s: reload %s (-before +after):\n%s", name, id, diff)
		}
	}
	if len(before) < len(members) {
		s.t.Errorf("%s: only %d reloads were on record before", name, len(before))
	}
	if text, err := s.line.Reroll.Metrics(s.ctx); err != nil || unreadable.MatchString(text) {
		s.t.Errorf("%s: records of the other version could not be read: %v\n%v", name, err, unreadable.FindAllString(text, -1))
	}
}

// unreadable finds messages that a version could not read.
var unreadable = regexp.MustCompile(`(?m)^reroll_queue_unreadable_total\{.*\} [1-9].*$`)

// control is the ConfigMap with which an operator freezes all reloads.
func (s *site) control() dynamic.ResourceInterface {
	return s.client.Resource(scenario.Resource("ConfigMap")).Namespace("default")
}

const controlName = "reroll-control"

func (s *site) freeze() {
	s.t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"control.yaml": "freeze: {}"}}}
	o.SetName(controlName)
	_, err := s.control().Create(s.ctx, o, metav1.CreateOptions{})
	s.must(err)
}

// thaw waits until these Deployments are held back since all is frozen, and then lets go.
func (s *site) thaw(names ...string) {
	s.t.Helper()
	for _, name := range names {
		s.await(func(ctx context.Context) error {
			hold, err := s.line.Reroll.Hold(ctx, s.ns, name)
			if err == nil && hold.Reason != "Frozen" {
				err = fmt.Errorf("%s is held back for %q, and not since all is frozen", name, hold.Reason)
			}
			return err
		})
	}
	for _, m := range members {
		if rolled := s.rolls(m); rolled > s.want[m.name] || (m.name == "waits" || m.name == "away") && rolled == s.want[m.name] {
			s.t.Errorf("%s rolled although all was frozen", m.name)
		}
	}
	s.must(s.control().Delete(s.ctx, controlName, metav1.DeleteOptions{}))
}
