package observability

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/tools"
)

// ruleTestFile is of the form of promtool test rules.
const ruleTestFile = "testdata/alerts.test.yaml"

// promtool fails the test if promtool finds a fault in a file.
func promtool(t *testing.T, verb, file string) {
	t.Helper()
	line.Must(t, tools.Promtool(t.Context(), verb, file))
}

func TestAlertsAreReadByPrometheus(t *testing.T) {
	promtool(t, "check", alertsFile)
}

// TestAlertsFire: each alert fires when it is to, and at no other time of its history.
func TestAlertsFire(t *testing.T) {
	promtool(t, "test", ruleTestFile)
}

// TestEveryAlertIsSeenToFire: an alert that no series of the test makes fire is one that nobody knows to work.
func TestEveryAlertIsSeenToFire(t *testing.T) {
	text, err := os.ReadFile(ruleTestFile)
	line.Must(t, err)
	for _, r := range rules(t) {
		if r.Alert != "" && !strings.Contains(string(text), `alertname="`+r.Alert+`"`) {
			t.Errorf("no test of %s makes %s fire", ruleTestFile, r.Alert)
		}
	}
}

// grafana puts values in the place of the dashboard's variables.
var grafana = strings.NewReplacer("$__rate_interval", "5m", "$__range", "1h", "$namespace", ".*", "$job", ".*")

// TestDashboardQueriesAreReadByPrometheus reads every query of the dashboard as a rule.
func TestDashboardQueriesAreReadByPrometheus(t *testing.T) {
	var records []rule
	for i, expr := range dashboardQueries(t) {
		records = append(records, rule{Record: fmt.Sprintf("dashboard:query:%d", i), Expr: grafana.Replace(expr)})
	}
	text, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": records}}})
	line.Must(t, err)
	file := filepath.Join(t.TempDir(), "rules.yaml")
	line.Must(t, os.WriteFile(file, text, 0o600))
	promtool(t, "check", file)
}
