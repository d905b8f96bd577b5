//go:build nightly

package chart_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/reloader"
	rig "github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/natsserver"
)

// binaryCase are values under which the program itself is run.
type binaryCase struct {
	// set is given to helm besides the values of the folder, which may be none.
	folder, set string
	// prepare is what the cluster needs besides.
	prepare func(t *testing.T, cluster *rig.Cluster)
	// kinds are those that roll, configs what they roll for, refused the requests that the program makes in vain, and copes with.
	kinds, configs, refused []string
}

var both = []string{"configmaps/prices", "secrets/password"}

// binaryCases are whole releases: all processes of each run.
func binaryCases(t *testing.T) map[string]binaryCase {
	return map[string]binaryCase{
		"default": {folder: "default", kinds: builtIn, configs: both},
		"namespaced": {
			folder: "namespaced", kinds: []string{"Deployment", "StatefulSet", "DaemonSet", "CronJob"}, configs: both[:1],
			refused: []string{
				"apps/deployments list", "configmaps list", "default: discovery.k8s.io/endpointslices/kubernetes get",
				"kube-system: namespaces/kube-system get",
			},
		},
		"admission": {
			folder: "admission", prepare: serveSelected,
			kinds: []string{"Deployment", "StatefulSet", "DaemonSet", "CronJob", "Rollout", "DeploymentConfig"}, configs: both,
		},
		"roles": {
			folder: "default", set: "mode=split,admission.enabled=true,nats.url=" + natsserver.Start(t).ClientURL(),
			kinds: builtIn, configs: both, refused: []string{"kube-system: namespaces/kube-system get"},
		},
		"audit":   {folder: "audit", kinds: builtIn, configs: both, refused: []string{"shop: secrets list"}},
		"watched": {folder: "watched", set: "nats.url=,nats.existingSecret=,config.nats=null", kinds: builtIn, configs: both},
	}
}

// serveSelected adds the kinds that API servers may lack, and the labels that the values ask for.
func serveSelected(t *testing.T, cluster *rig.Cluster) {
	t.Helper()
	serveEverything(t, cluster)
	cluster.MustKubectl(t, "label", "namespace", "shop", "env=prod", "team=a")
	cluster.MustKubectl(t, "annotate", "--namespace=shop", "rollouts,deploymentconfigs", "--all",
		"configmap.reloader.stakater.com/reload=prices", "secret.reloader.stakater.com/reload=password")
}

// TestBinaryWorksWithItsRights runs the program itself with the arguments that the chart gives it and under the chart's own accounts. The program
// receives audit events on its ingest, or watches where it has none. It rolls a workload of every kind, restores dropped marks where it admits, and is started twice.
func TestBinaryWorksWithItsRights(t *testing.T) {
	for name, c := range binaryCases(t) {
		t.Run(name, func(t *testing.T) { c.run(t, startRig(t)) })
	}
}

func (c binaryCase) run(t *testing.T, cluster *rig.Cluster) {
	cluster.MustKubectl(t, "annotate", "--namespace=shop", "deployments,statefulsets,daemonsets,cronjobs,jobs", "--all",
		"configmap.reloader.stakater.com/reload=prices", "secret.reloader.stakater.com/reload=password")
	if c.prepare != nil {
		c.prepare(t, cluster)
	}
	var more []string
	if c.set != "" {
		more = []string{"--set", c.set}
	}
	bind(t, cluster, c.folder, more...)
	r := newReleased(t, cluster, rendered(t, c.folder, more...))
	if r.admits != "" || c.folder == "namespaced" { // there the dispatcher keeps the path of a webhook that has its certificate in files
		r.register(t, cluster, append([]string{"--values", filepath.Join("testdata", c.folder, "values.yaml")}, more...))
	}
	for round := range 2 {
		stop := r.start(t)
		for _, what := range c.configs {
			r.change(t, cluster, what, fmt.Sprintf("round %d", round))
		}
		r.waitRolls(t, c.kinds, len(c.configs)*(round+1))
		if r.admits != "" {
			expectKept(t, cluster, round)
		}
		if round == 1 {
			r.expectUsed(t)
		}
		stop()
	}
	refused := r.refused()
	if strings.Contains(fmt.Sprint(c.refused), "secrets list") && !slices.Contains(refused, "shop: secrets list") {
		refused = append(refused, "shop: secrets list") // a sweep that is due asks whether it may list; none was due yet
	}
	if diff := gocmp.Diff(c.refused, refused); diff != "" {
		t.Errorf("requests that were refused (-want +got):\n%s", diff)
	}
}

// waitRolls waits until a workload of each kind was rolled for n changes.
func (r *released) waitRolls(t *testing.T, kinds []string, n int) {
	t.Helper()
	served := line.Reroll{API: "http://" + r.api}
	err := line.Poll(t.Context(), func(ctx context.Context) error {
		reloads, err := served.Reloads(ctx, "shop")
		if err != nil {
			return err
		}
		causes := map[string]int{}
		for _, one := range reloads {
			if one.Outcome == string(reloader.ReasonReloaded) {
				causes[one.Workload.Kind] += len(one.Causes)
			}
		}
		for _, kind := range kinds {
			if causes[kind] < n {
				return fmt.Errorf("a %s was rolled for %d of %d changes", kind, causes[kind], n)
			}
		}
		return nil
	})
	if err != nil {
		for _, p := range r.processes {
			t.Logf("%s:\n%s", p.arguments[0], p.Log())
		}
		t.Fatal(err)
	}
}

// expectKept: the webhook restores marks that a new image drops before the API server has stored the workload.
func expectKept(t *testing.T, cluster *rig.Cluster, round int) {
	t.Helper()
	const env = "--output=jsonpath={.spec.template.spec.containers[0].env[*].name}"
	cluster.MustKubectl(t, "patch", "deployment/app", "--namespace=shop", "--type=json", fmt.Sprintf(
		`--patch=[{"op":"remove","path":"/spec/template/spec/containers/0/env"},{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"example.test/main:%d"}]`, round))
	left, err := cluster.Kubectl(t.Context(), "get", "deployment/app", "--namespace=shop", env)
	if err != nil || !strings.Contains(left, "STAKATER_PRICES_CONFIGMAP") || !strings.Contains(left, "STAKATER_PASSWORD_SECRET") {
		t.Errorf("of dropped marks there are %q, %v", left, err)
	}
}

// rare is what the program does only when something comes in between.
var rare = map[string]string{
	"secrets update": "a Job's manifest was left behind",
	namespace + ": secrets/example-reroll-ingest-tls update": "it is renewed after months",
	"apps/deployments get":                    "somebody else wrote it between the decision and the patch",
	"apps/statefulsets get":                   "the same",
	"apps/daemonsets get":                     "the same",
	"argoproj.io/rollouts get":                "the same",
	"apps.openshift.io/deploymentconfigs get": "the same",
	"pods list":                               "its pods are newer than the content, or its mark is of old",
	"pods patch":                              "a workload reloads without a restart",
	"namespaces get":                          "a config was deleted",
	"batch/jobs get":                          "a Job of that name is there already",
	namespace + ": configmaps get":            "somebody else wrote a page of the ledger",
	namespace + ": configmaps delete":         "a page of the ledger is empty",
}

// withoutRare returns the grants that are used whenever a change comes.
func withoutRare(granted map[string][]string) map[string][]string {
	often := map[string][]string{}
	for scope, grants := range granted {
		for _, grant := range grants {
			what, verbs, _ := strings.Cut(grant, " ")
			for verb := range strings.SplitSeq(verbs, ",") {
				if rare[what+" "+verb] == "" && rare[scope+": "+what+" "+verb] == "" {
					often[scope] = append(often[scope], what+" "+verb)
				}
			}
		}
	}
	return often
}
