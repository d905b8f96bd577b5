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
)

const (
	alertsFile = "../../helm/reroll/files/alerts.yaml"
	runbooks   = "../../docs/runbooks"
	runbookURL = "https://github.com/reroll-dev/reroll/blob/main/docs/runbooks/"
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
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, &file); err != nil {
		t.Fatal(err)
	}
	for _, group := range file.Groups {
		all = append(all, group.Rules...)
	}
	if len(all) == 0 {
		t.Fatal("no rules")
	}
	return all
}

// TestAlertsSayWhatToDo holds every alert to the same form, and its runbook, too.
func TestAlertsSayWhatToDo(t *testing.T) {
	var pages []string
	for _, r := range rules(t) {
		if r.Alert == "" {
			continue
		}
		pages = append(pages, r.Alert+".md")
		if !slices.Contains([]string{"critical", "warning", "info"}, r.Labels["severity"]) {
			t.Errorf("%s: severity %q", r.Alert, r.Labels["severity"])
		}
		if r.Annotations["summary"] == "" || r.Annotations["description"] == "" || r.Annotations["runbook_url"] != runbookURL+r.Alert+".md" {
			t.Errorf("%s: it lacks summary or description, or names another runbook: %q", r.Alert, r.Annotations)
		}
		checkRunbook(t, r.Alert)
	}
	files, err := filepath.Glob(runbooks + "/Reroll*.md")
	if err != nil {
		t.Fatal(err)
	}
	for i, file := range files {
		files[i] = filepath.Base(file)
	}
	slices.Sort(pages)
	if diff := cmp.Diff(pages, files); diff != "" {
		t.Errorf("runbooks (-alerts +files):\n%s", diff)
	}
}

var heading = regexp.MustCompile(`(?m)^#+ .*$`)

// selectedLogs are commands that read the logs of several pods, of which kubectl shows ten lines each unless --tail says how many.
var selectedLogs = regexp.MustCompile(`(?m)^kubectl .*\blogs .*--selector.*$`)

func checkRunbook(t *testing.T, alert string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(runbooks, alert+".md"))
	if err != nil {
		t.Error(err)
		return
	}
	want := []string{"# " + alert, "## Meaning", "## Impact", "## Diagnosis", "## Mend"}
	if diff := cmp.Diff(want, heading.FindAllString(string(text), -1)); diff != "" {
		t.Errorf("headings of the runbook of %s (-want +got):\n%s", alert, diff)
	}
	if !strings.Contains(string(text), "```sh\n") {
		t.Errorf("the runbook of %s has no command", alert)
	}
	for _, line := range selectedLogs.FindAllString(string(text), -1) {
		if !strings.Contains(line, " --tail") {
			t.Errorf("the runbook of %s shows the last ten lines of each log alone: %s", alert, line)
		}
	}
	index, err := os.ReadFile(runbooks + "/README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(index), "["+alert+"]("+alert+".md)") {
		t.Errorf("the list of runbooks lacks %s", alert)
	}
}

// labelValues is what Grafana makes the values of a variable from.
var labelValues = regexp.MustCompile(`^label_values\((.+), (\w+)\)$`)

// dashboardQueries reads the queries from the file that the chart has, those of its variables as well.
func dashboardQueries(t *testing.T) (queries []string) {
	t.Helper()
	text, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Panels []struct {
			Targets []struct{ Expr string } `json:"targets"`
		} `json:"panels"`
		Templating struct {
			List []struct{ Query any } `json:"list"`
		} `json:"templating"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
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
