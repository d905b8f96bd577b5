package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/tests/line"
)

// witnesses are for those verbs that roll nothing, which would be so as well if their event got lost. Each begins to look before the verb is
// carried out, and returns what waits for what only the event can have led to.
var witnesses = map[string]func(*room) (seen func()){
	"dry run":  counted("DryRun"),
	"conflict": counted("Failed"),
	"deletecollection": func(r *room) func() {
		return func() { r.waitDeleted("app", "deletecollection") }
	},
	"generateName": func(r *room) func() {
		d := deployment("patterned")
		d.Annotations = map[string]string{"configmap.reloader.stakater.com/reload": "app-.*"}
		r.create(d)
		r.waitBaseline("patterned", 0)
		return func() { r.waitEdge("patterned", "app-") }
	},
}

// counted waits until ingest has taken one more event with a result.
func counted(result string) func(*room) func() {
	return func(r *room) func() {
		series := fmt.Sprintf("reroll_ingest_events_total{cluster=%q,result=%q} ", line.ClusterName, result)
		metrics, err := r.line.Reroll.Metrics(r.ctx)
		r.must(err)
		_, rest, _ := strings.Cut(metrics, "\n"+series)
		before, _, _ := strings.Cut(rest, "\n")
		return func() { r.waitMetric(r.line.Reroll, series, before) }
	}
}

// waitDeleted waits until the REST API lists that a ConfigMap was deleted, by one request with that verb.
func (r *room) waitDeleted(name, verb string) {
	r.t.Helper()
	r.must(line.Poll(r.ctx, func(ctx context.Context) error {
		changes, err := r.line.Reroll.Changes(ctx, r.ns)
		if err != nil {
			return err
		}
		for _, c := range changes {
			if c.Config.Name == name && c.Type == "Deleted" && len(c.Candidates) == 1 && c.Candidates[0].Verb == verb && c.Candidates[0].User != "" {
				return nil
			}
		}
		return fmt.Errorf("no deletion of %s with its actor among %+v", name, changes)
	}))
}

// waitEdge waits until the record of a Deployment names a config whose name begins with prefix.
func (r *room) waitEdge(name, prefix string) {
	r.t.Helper()
	r.must(line.Poll(r.ctx, func(ctx context.Context) error {
		configs, err := r.line.Reroll.Dependencies(ctx, r.ns, name)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(configs, func(config string) bool { return strings.HasPrefix(config, prefix) }) {
			return fmt.Errorf("%s depends on %q, and on no %s…", name, configs, prefix)
		}
		return nil
	}))
}
