package dispatcher_test

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/tests/scenario"
)

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
