package observability

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/tools"
)

const (
	alertsFile    = "../../helm/reroll/files/alerts.yaml"
	alertsPage    = "../../docs/alerts-and-metrics.md"
	dashboardFile = "../../helm/reroll/files/dashboards/reroll.json"
	runbookURL    = "https://github.com/reroll-dev/reroll/blob/main/docs/alerts-and-metrics.md#"
)

// rule is one rule of Prometheus; Alert or Record is its name.
type rule struct {
	Alert       string            `json:"alert,omitempty"`
	Record      string            `json:"record,omitempty"`
	Expr        string            `json:"expr"`
	For         string            `json:"for,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// rules returns all rules of the alerts file.
func rules(t *testing.T) (all []rule) {
	t.Helper()
	var file struct {
		Groups []struct {
			Name  string `json:"name"`
			Rules []rule `json:"rules"`
		} `json:"groups"`
	}
	text, err := os.ReadFile(alertsFile)
	line.Must(t, err)
	line.Must(t, yaml.UnmarshalStrict(text, &file))
	for _, group := range file.Groups {
		all = append(all, group.Rules...)
	}
	if len(all) == 0 {
		t.Fatal("no rules")
	}
	return all
}

// alertRow is the row of an alert: its anchor, name, severity, meaning and what to do.
var alertRow = regexp.MustCompile(`(?m)^\| <a id="([a-z]+)"></a>(\w+), (\w+) \| \S.* \| \S.* \|$`)

// TestAlertsSayWhatToDo holds every alert to the same form, and the page has a row for each alert, to which its runbook_url leads.
func TestAlertsSayWhatToDo(t *testing.T) {
	text, err := os.ReadFile(alertsPage)
	line.Must(t, err)
	documented := map[string]string{}
	for _, row := range alertRow.FindAllStringSubmatch(string(text), -1) {
		documented[row[2]] = row[1] + " " + row[3]
	}
	want := map[string]string{}
	for _, r := range rules(t) {
		if r.Alert == "" {
			continue
		}
		anchor := strings.ToLower(r.Alert)
		want[r.Alert] = anchor + " " + r.Labels["severity"]
		if !slices.Contains([]string{"critical", "warning", "info"}, r.Labels["severity"]) {
			t.Errorf("%s: severity %q", r.Alert, r.Labels["severity"])
		}
		if r.Annotations["summary"] == "" || r.Annotations["description"] == "" || r.Annotations["runbook_url"] != runbookURL+anchor {
			t.Errorf("%s: it lacks summary or description, or leads elsewhere: %q", r.Alert, r.Annotations)
		}
	}
	if diff := cmp.Diff(want, documented); diff != "" {
		t.Errorf("alerts in %s (-rules +page):\n%s", alertsPage, diff)
	}
}

// labelValues is what Grafana makes the values of a variable from.
var labelValues = regexp.MustCompile(`^label_values\((.+), (\w+)\)$`)

// dashboardQueries reads the queries from the file that the chart has, those of its variables as well.
func dashboardQueries(t *testing.T) (queries []string) {
	t.Helper()
	text, err := os.ReadFile(dashboardFile)
	line.Must(t, err)
	var file struct {
		Panels []struct {
			Targets []struct{ Expr string } `json:"targets"`
		} `json:"panels"`
		Templating struct {
			List []struct{ Query any } `json:"list"`
		} `json:"templating"`
	}
	line.Must(t, json.Unmarshal(text, &file))
	for _, p := range file.Panels {
		for _, target := range p.Targets {
			queries = append(queries, target.Expr)
		}
	}
	variables := 0
	for _, v := range file.Templating.List {
		if asked, ok := v.Query.(map[string]any); ok {
			found := labelValues.FindStringSubmatch(fmt.Sprint(asked["query"]))
			if found == nil {
				t.Fatalf("a variable asks for %v, which is no label_values(series, label)", asked["query"])
			}
			variables++
			queries = append(queries, "count by ("+found[2]+") ("+found[1]+")")
		}
	}
	if len(queries) < 40 || variables == 0 {
		t.Fatalf("only %d queries in the dashboard", len(queries))
	}
	return queries
}

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
