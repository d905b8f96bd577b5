package dispatcher_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/dispatcher"
	fleetpkg "github.com/reroll-dev/reroll/dispatcher/fleet"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// followsOwn follows the flags of the namespace shared of the cluster of the test, as workloads elsewhere do.
const followsOwn = "reroll.dev/follow: " + clusterName + "/shared/configmap/flags"

const sharedFlags scenario.Ref = "ConfigMap/shared/flags"

func (w *world) share(t *testing.T, followers string) {
	t.Helper()
	w.must(w.create(alice, object(t, fmt.Sprintf(`{kind: ConfigMap, metadata: {name: flags, namespace: shared, annotations: {reroll.dev/followers: %q}}, data: {a: "1"}}`, followers))))
}

// TestFollowerInTheClusterOfTheOwner: the manifest that follows a config from elsewhere does so there, too, with a hub and without.
func TestFollowerInTheClusterOfTheOwner(t *testing.T) {
	for name, copies := range map[string]fleetpkg.Copies{"without a hub": nil, "with a hub": &copies{}} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
				w.configure = func(o *dispatcher.Options) { o.Copies = copies }
				w.share(t, clusterName)
				w.give("app", "1")
				w.deploy("web", followsOwn, "app")
				p := w.start()
				w.pass(quiet)
				w.rolled(web, 0)
				w.wantProblem(t, "")
				if n := len(w.store.problems); n > 0 {
					t.Errorf("%d problems were told: %q", n, w.store.problems)
				}
				for n := range 2 {
					w.edit(bob, sharedFlags, fmt.Sprint(n+2))
					w.pass(quiet)
					w.rolled(web, int64(n+1))
				}
				w.pass(26 * time.Hour) // longer than who asks is remembered
				w.edit(bob, sharedFlags, "4")
				w.pass(quiet)
				w.rolled(web, 3)
				if followed := p.Followed(); len(followed) > 0 {
					t.Errorf("the hub is asked for %v", followed)
				}
				w.stop()
				w.edit(bob, sharedFlags, "5") // while nobody looks
				w.start()
				w.pass(quiet)
				w.rolled(web, 4)
				for _, r := range w.store.reloadsOf(webRef) {
					if why := r.Causes[0].Why; why != reloader.ReasonFollowed {
						t.Errorf("it was rolled since %s", why)
					}
				}
			})
		})
	}
}

// TestOwnerDecidesInItsOwnCluster: what another namespace has is followed by those whom it names.
func TestOwnerDecidesInItsOwnCluster(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.share(t, "c2")
		w.give("app", "1")
		w.deploy("web", followsOwn, "app")
		w.start()
		w.pass(quiet)
		w.wantProblem(t, "reroll.dev/followers does not name "+clusterName)
		w.edit(bob, sharedFlags, "2")
		w.pass(quiet)
		w.rolled(web, 0)
		w.must(w.patch(bob, sharedFlags, types.MergePatchType, []byte(`{"metadata":{"annotations":{"reroll.dev/followers":"*"}}}`)))
		w.pass(quiet)
		w.wantProblem(t, "")
		w.rolled(web, 0)
		w.edit(bob, sharedFlags, "3")
		w.pass(quiet)
		w.rolled(web, 1)
	})
}

// TestOwnerThatCannotReadSaysSo: nobody is sent to look for a hub, where the owner is this cluster.
func TestOwnerThatCannotReadSaysSo(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		var readable atomic.Bool
		w.cluster.fail = func(_, ref string) error {
			if strings.HasSuffix(ref, "shared/flags") && !readable.Load() {
				return errors.New("the API server does not answer")
			}
			return nil
		}
		w.share(t, clusterName)
		w.give("app", "1")
		w.deploy("web", followsOwn, "app")
		w.start()
		w.pass(quiet)
		w.wantProblem(t, "could not be looked at here")
		readable.Store(true)
		w.pass(time.Hour)
		w.wantProblem(t, "")
		w.edit(bob, sharedFlags, "2")
		w.pass(quiet)
		w.rolled(web, 1)
	})
}

// TestFollowerThatReadsTheConfigRollsOnce: beside the owner's config the same manifest asks for it twice, or does so if the config lets it, as
// it may from some time on.
func TestFollowerThatReadsTheConfigRollsOnce(t *testing.T) {
	const follow = "reroll.dev/follow: " + clusterName + "/" + scenario.DefaultNamespace + "/configmap/flags"
	for name, c := range map[string]struct{ workload, labels, annotations, later string }{
		"by itself":                    {workload: `, reroll.dev/auto: "true"`},
		"excluded and matching":        {workload: `, reroll.dev/configmaps: "f*", reroll.dev/exclude: flags`},
		"selected by a label it lacks": {workload: ", reroll.dev/configmap-selector: app=web", later: "labels: {app: web}"},
		"selected by a label it has":   {workload: ", reroll.dev/configmap-selector: app=web", labels: "app: web", later: "labels: {app: api}"},
		"search without match":         {workload: `, reloader.stakater.com/search: "true"`, later: `annotations: {reloader.stakater.com/match: "true"}`},
		"search with match": {
			workload: `, reloader.stakater.com/search: "true"`, annotations: `, reloader.stakater.com/match: "true"`,
			later: "annotations: {reloader.stakater.com/match: null}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
				w.must(w.create(alice, object(t, fmt.Sprintf(
					`{kind: ConfigMap, metadata: {name: flags, labels: {%s}, annotations: {reroll.dev/followers: "*"%s}}, data: {a: "1"}}`, c.labels, c.annotations))))
				w.deploy("web", follow+c.workload, "flags")
				w.start()
				w.pass(quiet)
				w.edit(bob, "ConfigMap/flags", "2")
				w.pass(2 * time.Hour)
				w.rolled(web, 1)
				later, err := yaml.YAMLToJSON([]byte("metadata: {" + c.later + "}"))
				w.must(err)
				w.must(w.patch(bob, "ConfigMap/flags", types.MergePatchType, later))
				w.pass(2 * time.Hour)
				w.rolled(web, 1)
				w.edit(bob, "ConfigMap/flags", "3")
				w.pass(2 * time.Hour)
				w.rolled(web, 2)
			})
		})
	}
}
