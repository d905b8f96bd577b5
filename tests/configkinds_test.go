package tests

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/ingest/audit"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// TestConfigKinds: whatever works by kind of config knows every row of the table.
func TestConfigKinds(t *testing.T) {
	rbac := read(t, "../helm/reroll/templates/_rbac.tpl")
	for _, of := range reloader.ConfigKindTable {
		if of.Kind.Info() != of {
			t.Errorf("%s: the table has it twice", of.Kind)
		}
		event := fmt.Sprintf(`{"kind":"EventList","apiVersion":"audit.k8s.io/v1","items":[{"auditID":"a","stage":"ResponseComplete","verb":"update","responseStatus":{"code":200},
			"requestReceivedTimestamp":"2026-01-01T00:00:00Z","stageTimestamp":"2026-01-01T00:00:00Z","objectRef":{"resource":%q,"namespace":"shop","name":"x","apiGroup":%q,"apiVersion":%q}}]}`,
			of.TellingResource(), of.Group, of.Version)
		result, err := audit.Decode([]byte(event), audit.Options{Cluster: "c", Received: time.Now()})
		if err != nil || len(result.Hints) != 1 || result.Hints[0].Config.Kind != of.Kind {
			t.Errorf("%s: an audit event gives %+v, %v", of.Kind, result, err)
		}
		if !strings.Contains(rbac, of.Resource) {
			t.Errorf("%s: the chart grants nothing on %s", of.Kind, of.Resource)
		}
		config := reloader.Config{Kind: of.Kind, Namespace: "shop", Name: "x"}
		if err := config.Validate(); err != nil {
			t.Error(err)
		}
		w := &workload.Workload{Kind: workload.Deployment.Kind}
		w.Namespace, w.Name, w.Annotations = "shop", "web", map[string]string{"reroll.dev/auto": "true"}
		w.Template.References = reloader.ByConfigOf(map[reloader.Config]*workload.Reference{config: {Uses: []reloader.Use{{How: workload.UseEnvFrom, Container: "main"}}}})
		plan := dialect.All(dialect.StakaterOptions{}).Compile(w)
		if d := plan.Decide(dialect.ConfigMeta{Config: config}); !d.Reload {
			t.Errorf("%s: a workload that refers to it and asks for its references does not reload for it: %+v", of.Kind, d)
		}
	}
}
