package dispatcher_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

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

// TestOwnerDecidesInItsOwnCluster: what another namespace has is followed by those whom it names.
func TestOwnerDecidesInItsOwnCluster(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		w.share(t, "c2")
		w.give("app", "1")
		w.deploy("web", followsOwn, "app")
		w.settled()
		w.wantProblem(t, "reroll.dev/followers does not name "+clusterName)
		w.edit(bob, sharedFlags, "2")
		w.rolls(0)
		w.must(w.patch(bob, sharedFlags, types.MergePatchType, []byte(`{"metadata":{"annotations":{"reroll.dev/followers":"*"}}}`)))
		w.pass(quiet)
		w.wantProblem(t, "")
		w.rolled(web, 0)
		w.edit(bob, sharedFlags, "3")
		w.rolls(1)
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
		w.settled()
		w.wantProblem(t, "could not be looked at here")
		readable.Store(true)
		w.pass(time.Hour)
		w.wantProblem(t, "")
		w.edit(bob, sharedFlags, "2")
		w.rolls(1)
	})
}

// TestFollowerThatReadsTheConfigRollsOnce: next to the owner's config the same manifest asks for it twice, or does so if the config lets it, as
// it may from some time on.
func TestFollowerThatReadsTheConfigRollsOnce(t *testing.T) {
	const follow = "reroll.dev/follow: " + clusterName + "/" + scenario.DefaultNamespace + "/configmap/flags"
	for name, c := range map[string]struct{ workload, labels, annotations, later string }{
		"by itself":                    {workload: `, reroll.dev/auto: "true"`},
		"excluded and matching":        {workload: `, reroll.dev/configmaps: "f*", reroll.dev/exclude: flags`},
		"selected by a label it lacks": {workload: ", reroll.dev/configmap-selector: app=web", later: "labels: {app: web}"},
		"search with match": {
			workload: `, reloader.stakater.com/search: "true"`, annotations: `, reloader.stakater.com/match: "true"`,
			later: "annotations: {reloader.stakater.com/match: null}",
		},
	} {
		runWorld(t, name, scenario.Settings{}, func(t *testing.T, w *world) {
			w.must(w.create(alice, object(t, fmt.Sprintf(
				`{kind: ConfigMap, metadata: {name: flags, labels: {%s}, annotations: {reroll.dev/followers: "*"%s}}, data: {a: "1"}}`, c.labels, c.annotations))))
			w.deploy("web", follow+c.workload, "flags")
			w.settled()
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
	}
}

// troubles returns the problems of r, and why its configs cannot be read.
func troubles(r reloader.WorkloadRecord) []string {
	found := slices.Clone(r.Problems)
	for _, u := range r.Unreadable {
		found = append(found, u.Message)
	}
	return found
}

// wantProblem fails the test unless the record of web names that problem, or none if it is empty.
func (w *world) wantProblem(t *testing.T, text string) {
	t.Helper()
	r, _ := w.store.recordOf(webRef)
	if got := strings.Join(troubles(r), "\n"); text == "" && got != "" || !strings.Contains(got, text) {
		t.Errorf("problems %q, want %q", got, text)
	}
}
