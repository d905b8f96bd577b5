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

// promtool runs promtool and returns what it says of a fault that it finds.
func promtool(t *testing.T, verb, file string) error {
	t.Helper()
	cmd, err := tools.Promtool(t.Context(), verb, file)
	line.Must(t, err)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

func TestAlertsAreReadByPrometheus(t *testing.T) {
	if err := promtool(t, "check", alertsFile); err != nil {
		t.Error(err)
	}
}

// TestAlertsFire: each alert fires when it is to, and at no other time of its history.
func TestAlertsFire(t *testing.T) {
	if err := promtool(t, "test", ruleTestFile); err != nil {
		t.Error(err)
	}
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
	if err := promtool(t, "check", write(t, string(text))); err != nil {
		t.Error(err)
	}
}

// write returns a file with a text.
func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "rules.yaml")
	line.Must(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}
