package dispatcher_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// TestOwnerLooksAtWhatIsWantedNow: what a cluster asks for replaces what it asked for before, so that it cannot make the owner look at more
// and more; and of one that asks for too much nothing is taken.
func TestOwnerLooksAtWhatIsWantedNow(t *testing.T) {
	amongClusters(t, func(t *testing.T, w *world, sent *copies) {
		own := func(name string) reloader.Config {
			return reloader.Config{Kind: reloader.ConfigMap, Namespace: scenario.DefaultNamespace, Name: name}
		}
		for _, name := range []string{"a", "b"} {
			w.must(w.create(alice, object(t, fmt.Sprintf(`{kind: ConfigMap, metadata: {name: %s, annotations: {reroll.dev/followers: "*"}}, data: {a: "1"}}`, name))))
		}
		p := w.start()
		ask := func(target string, configs ...reloader.Config) {
			p.Wanted(reloader.Want{Owner: clusterName, Target: target, Configs: configs})
			w.pass(quiet)
		}
		told := func(target, name string) (n int) {
			sent.mu.Lock()
			defer sent.mu.Unlock()
			for _, one := range sent.sent {
				if one.Target == target && one.Config.Name == name {
					n++
				}
			}
			return n
		}
		ask("c2", own("a"))
		ask("c3", own("a"))
		ask("c2", own("b"))
		before := told("c2", "a")
		w.edit(bob, "ConfigMap/a", "2")
		w.edit(bob, "ConfigMap/b", "2")
		w.pass(quiet)
		if before == 0 || told("c2", "a") != before || told("c3", "a") < 2 || told("c2", "b") < 2 {
			t.Errorf("c2 was told of a %d times and then %d, of b %d times, c3 of a %d times", before, told("c2", "a"), told("c2", "b"), told("c3", "a"))
		}
		many := make([]reloader.Config, reloader.MaxWanted+1)
		for i := range many {
			many[i] = own(fmt.Sprint("c-", i))
		}
		ask("c4", many...)
		if told("c4", "c-0") != 0 {
			t.Error("somebody who wants too much is told of a part of it")
		}
		ask("c4", many[1:]...)
		if told("c4", "c-1") == 0 {
			t.Error("somebody who wants as much as is allowed is told of nothing")
		}
	})
}

// TestFollowThatIsPushedOutIsTold: what was followed, and is asked for no more since others come before it, gets no newer copies; the workload
// says so.
func TestFollowThatIsPushedOutIsTold(t *testing.T) {
	amongClusters(t, func(t *testing.T, w *world, _ *copies) {
		w.give("app", "1")
		w.deploy("web", followsFlags, "app")
		p := w.start()
		p.Receive(copyOfFlags(1))
		w.pass(quiet)
		for i := 0; i < reloader.MaxWanted; i += perWorkload {
			names := make([]string, min(perWorkload, reloader.MaxWanted-i))
			for n := range names {
				names[n] = fmt.Sprintf("c1/shared/configmap/a-%04d", i+n)
			}
			w.deploy(fmt.Sprint("other-", i), fmt.Sprintf("reroll.dev/follow: %q", strings.Join(names, ",")), "app")
		}
		w.pass(quiet)
		if len(p.Followed()) != reloader.MaxWanted {
			t.Fatalf("%d configs are asked for", len(p.Followed()))
		}
		w.pass(quiet)
		w.wantProblem(t, "flags cannot be followed: workloads here follow more than")
	})
}

// perWorkload is how many configs each of some workloads follows, so that no one of them follows too many.
const perWorkload = 60

// TestNamespacesShareWhatMayBeFollowed: one in which far too much is followed takes nothing from another that follows little, whatever their names are.
func TestNamespacesShareWhatMayBeFollowed(t *testing.T) {
	amongClusters(t, func(t *testing.T, w *world, _ *copies) {
		follow := func(namespace, name string, names []string) {
			w.must(w.create(alice, object(t, fmt.Sprintf(`
kind: Deployment
metadata: {name: %s, namespace: %s, annotations: {reroll.dev/follow: %q}}
spec: {selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}}, spec: {containers: [{name: main, image: main}]}}}`,
				name, namespace, strings.Join(names, ",")))))
		}
		names := func(of string, from, to int) (list []string) {
			for i := from; i < to; i++ {
				list = append(list, fmt.Sprintf("c1/shared/configmap/%s-%04d", of, i))
			}
			return list
		}
		for i := 0; i < reloader.MaxWanted+perWorkload; i += perWorkload {
			follow("greedy", fmt.Sprint("w-", i), names("a", i, i+perWorkload))
		}
		follow("modest", "web", append(names("z", 0, 10), names("a", 0, 3)...))
		p := w.settled()
		asked := map[string]int{}
		for _, f := range p.Followed() {
			of, _, _ := strings.Cut(f.Config.Name, "-")
			asked[of]++
		}
		if asked["a"] != reloader.MaxWanted-10 || asked["z"] != 10 {
			t.Errorf("asked for are %v", asked)
		}
		w.pass(quiet)
		if r, _ := w.store.recordOf(reloader.WorkloadRef{Kind: "Deployment", Namespace: "modest", Name: "web"}); strings.Contains(strings.Join(troubles(r), ""), "more than") {
			t.Errorf("who follows little is told %q", r.Problems)
		}
	})
}
