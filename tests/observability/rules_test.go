package observability

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/tests/tools"
)

// ruleTestFile is of the form of promtool test rules.
const ruleTestFile = "testdata/alerts.test.yaml"

// judge lets Prometheus's own packages check or test files.
func judge(t *testing.T, verb string, files ...string) error {
	t.Helper()
	path, err := tools.Path(t.Context(), "rules")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), path, append([]string{verb}, files...)...).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

func TestAlertsAreReadByPrometheus(t *testing.T) {
	if err := judge(t, "check", alertsFile); err != nil {
		t.Error(err)
	}
}

// TestAlertsFire: each alert fires when it is to, and at no other time of its history.
func TestAlertsFire(t *testing.T) {
	if err := judge(t, "test", ruleTestFile); err != nil {
		t.Error(err)
	}
}

// TestEveryAlertIsSeenToFire: an alert that no series of the test makes fire is one that nobody knows to work.
func TestEveryAlertIsSeenToFire(t *testing.T) {
	text, err := os.ReadFile(ruleTestFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rules(t) {
		if r.Alert != "" && !strings.Contains(string(text), `alertname="`+r.Alert+`"`) {
			t.Errorf("no test of %s makes %s fire", ruleTestFile, r.Alert)
		}
	}
}

// TestDashboardQueriesAreReadByPrometheus reads every query of the dashboard as a rule.
func TestDashboardQueriesAreReadByPrometheus(t *testing.T) {
	var records []rule
	for i, expr := range dashboardQueries(t) {
		records = append(records, rule{Record: fmt.Sprintf("dashboard:query:%d", i), Expr: grafana.Replace(expr)})
	}
	text, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": records}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := judge(t, "check", write(t, string(text))); err != nil {
		t.Error(err)
	}
}

// TestFaultyRulesAreNoticed shows that the judge can find fault.
func TestFaultyRulesAreNoticed(t *testing.T) {
	const group = "groups: [{name: g, rules: [{alert: A, expr: '%s'}]}]\n"
	const fires = `{labels: 'ALERTS{alertname="A",alertstate="firing"}', value: 1}`
	good := write(t, fmt.Sprintf(group, "up > 0"))
	test := func(rest, samples string) string {
		return "rule_files: [" + filepath.Join("..", filepath.Base(filepath.Dir(good)), filepath.Base(good)) + "]\nevaluation_interval: 1m\n" +
			"tests:\n- name: one\n  interval: 1m\n  input_series: [{series: up, values: '1x9'}]\n" + rest +
			"  promql_expr_test: [{expr: ALERTS, eval_time: 5m, exp_samples: [" + samples + "]}]\n"
	}
	for name, c := range map[string]struct {
		verb, text string
		wrong      bool
	}{
		"an alert":              {"check", fmt.Sprintf(group, "up > 0"), false},
		"no query":              {"check", fmt.Sprintf(group, "up >"), true},
		"an unknown word":       {"check", "group: []\n", true},
		"it fires as expected":  {"test", test("", fires), false},
		"it fires unexpectedly": {"test", test("", ""), true},
		"it finds something":    {"test", test("", fires+"]}, {expr: up, eval_time: 5m, finds: true, exp_samples: ["), false},
		"it finds nothing":      {"test", test("", fires+"]}, {expr: down, eval_time: 5m, finds: true, exp_samples: ["), true},
		"it cannot be run":      {"test", test("", fires+"]}, {expr: 'sum(', eval_time: 5m, runs: true, exp_samples: ["), true},
		"no rules":              {"test", "tests: []\n", true},
		"another kind of test":  {"test", test("  alert_rule_test: []\n", fires), true},
	} {
		if err := judge(t, c.verb, write(t, c.text)); (err != nil) != c.wrong {
			t.Errorf("%s: %v, want an error: %t", name, err, c.wrong)
		}
	}
}

// write returns a file with a text.
func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
