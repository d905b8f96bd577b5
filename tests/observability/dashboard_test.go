package observability

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

//go:generate go test . -run ^TestDashboardIsGenerated$ -update

var update = flag.Bool("update", false, "write the dashboard instead of comparing with it")

const dashboardFile = "../../helm/reroll/files/dashboards/reroll.json"

// object is a JSON object.
type object = map[string]any

// source is the data source that the dashboard's variable names.
var source = object{"type": "prometheus", "uid": "${datasource}"}

// dashboard returns the rows as Grafana reads them.
func dashboard(rows []row) object {
	return object{
		"uid": "reroll", "title": "Reroll", "description": "Rolls workloads when a ConfigMap or Secret that they use has changed.",
		"tags": []string{"reroll", "kubernetes"}, "schemaVersion": 39, "version": 1, "editable": true, "graphTooltip": 1, "refresh": "1m",
		"time": object{"from": "now-6h", "to": "now"}, "timezone": "", "annotations": object{"list": []any{}},
		"links": []object{{
			"title": "Alerts and runbooks", "type": "link", "icon": "doc", "targetBlank": true,
			"url": "https://github.com/reroll-dev/reroll/blob/main/docs/alerts-and-metrics.md",
		}},
		"templating": object{"list": []object{
			{"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"},
			variable("namespace", "Namespace", `label_values(reroll_queue_publish_duration_seconds_count, namespace)`),
			variable("job", "Job", `label_values(reroll_queue_publish_duration_seconds_count{namespace=~"$namespace"}, job)`),
		}},
		"panels": panels(rows),
	}
}

// variable is one that lists what a query finds; all of it if nobody chooses.
func variable(name, label, expr string) object {
	return object{
		"name": name, "label": label, "type": "query", "datasource": source, "query": object{"query": expr, "refId": name},
		"refresh": 2, "sort": 1, "multi": true, "includeAll": true, "allValue": ".*", "current": object{"text": "All", "value": "$__all"},
	}
}

const columns = 24

// panels lays the panels out from left to right and from top to bottom.
func panels(rows []row) (all []object) {
	y := 0
	for _, r := range rows {
		all = append(all, object{"id": len(all) + 1, "type": "row", "title": r.title, "gridPos": grid(0, y, columns, 1), "collapsed": false, "panels": []any{}})
		y++
		x, height := 0, 0
		for _, p := range r.panels {
			if x+p.width > columns {
				x, y = 0, y+height
			}
			height = p.height()
			all = append(all, p.object(len(all)+1, grid(x, y, p.width, height)))
			x += p.width
		}
		y += height
	}
	return all
}

func grid(x, y, width, height int) object {
	return object{"x": x, "y": y, "w": width, "h": height}
}

func (p panel) height() int {
	if p.kind == "stat" {
		return 4
	}
	return 8
}

// object returns the panel as Grafana reads it.
func (p panel) object(id int, at object) object {
	defaults := object{"unit": p.unit, "min": 0}
	if p.red > 0 {
		defaults["thresholds"] = object{"mode": "absolute", "steps": []object{{"color": "green", "value": nil}, {"color": "red", "value": p.red}}}
	}
	options := object{"legend": object{"displayMode": "list", "placement": "bottom", "showLegend": true}, "tooltip": object{"mode": "multi", "sort": "desc"}}
	if p.kind == "stat" {
		defaults["noValue"] = "none"
		options = object{"reduceOptions": object{"calcs": []string{"lastNotNull"}, "fields": "", "values": false}, "colorMode": "value", "graphMode": "none", "textMode": "value"}
	}
	var targets []object
	for i, q := range p.queries {
		targets = append(targets, object{"refId": string(rune('A' + i)), "datasource": source, "expr": q.expr, "legendFormat": q.legend})
	}
	return object{
		"id": id, "type": p.kind, "title": p.title, "description": p.about, "gridPos": at, "datasource": source,
		"fieldConfig": object{"defaults": defaults, "overrides": []any{}}, "options": options, "targets": targets,
	}
}

// TestDashboardIsGenerated compares the chart's dashboard with the panels here.
func TestDashboardIsGenerated(t *testing.T) {
	var want bytes.Buffer
	encoder := json.NewEncoder(&want)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(dashboard(rows)); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(dashboardFile, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.String(), string(got)); diff != "" {
		t.Errorf("the dashboard is out of date; run go generate ./tests/observability (-panels +file):\n%s", diff)
	}
}
