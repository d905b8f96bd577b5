package observability

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/tests/line"
)

// scrapes are how often what was answered first counts, and what was answered then, a minute apart.
const scrapes = 6

// runQueries asks all processes twice, and runs each query of the dashboard and each rule over what they answered, by Prometheus's own engine.
// Those of the dashboard must find something.
func runQueries(ctx context.Context, t *testing.T, l *line.Line) {
	t.Helper()
	first, err := answers(ctx, l)
	if err != nil {
		t.Fatal(err)
	}
	alerts, err := filepath.Abs(alertsFile)
	if err != nil {
		t.Fatal(err)
	}
	queries := dashboardQueries(t)
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	// The first sweep may be under way still.
	err = line.Poll(ctx, func(ctx context.Context) error {
		second, err := answers(ctx, l)
		if err != nil {
			return err
		}
		return promtool(t, "test", write(t, queryTest(t, alerts, history(first, second), queries)))
	})
	if err != nil {
		t.Error(err)
	}
}

// queryTest is a test of the form of promtool's about some series.
func queryTest(t *testing.T, rulesFile string, series []object, queries []string) string {
	t.Helper()
	var looks []object
	at := strconv.Itoa(2*scrapes-1) + "m"
	for _, expr := range queries {
		looks = append(looks, object{
			"expr": "count(" + grafana.Replace(expr) + ") > bool 0", "eval_time": at, "exp_samples": []object{{"labels": "{}", "value": 1}},
		})
	}
	text, err := yaml.Marshal(object{
		"rule_files": []string{rulesFile}, "evaluation_interval": "1m",
		"tests": []object{{"name": "live", "interval": "1m", "input_series": series, "promql_expr_test": looks}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// grafana puts values in the place of the dashboard's variables.
var grafana = strings.NewReplacer("$__rate_interval", "5m", "$__range", "1h", "$namespace", ".*", "$job", ".*")

// history returns the samples of two answers as series. Labels of Prometheus's own are added, and what was called so before is exported_…, as
// Prometheus does it.
func history(first, second map[string]string) (series []object) {
	for job, text := range second {
		before := samples(first[job], prefixes[job])
		for name, value := range samples(text, prefixes[job]) {
			values := "_x" + strconv.Itoa(scrapes-1)
			if was, ok := before[name]; ok {
				values = was + "x" + strconv.Itoa(scrapes-1)
			}
			series = append(series, object{"series": targeted(name, job), "values": values + " " + value + "x" + strconv.Itoa(scrapes-1)})
		}
	}
	return series
}

// samples returns the value of each series of an answer whose name begins with prefix, without those that are no number. Histories have no infinite
// values: a very large one stands for such a limit.
func samples(text, prefix string) map[string]string {
	found := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		end := strings.LastIndex(line, " ")
		if end < 0 || strings.HasPrefix(line, "#") || !strings.HasPrefix(line, prefix) {
			continue
		}
		value, err := strconv.ParseFloat(line[end+1:], 64)
		if math.IsInf(value, 1) {
			value = math.MaxFloat32
		}
		if err == nil && value-value == 0 {
			found[line[:end]] = strconv.FormatFloat(value, 'f', -1, 64)
		}
	}
	return found
}

// targeted adds the labels of a target to a series.
func targeted(series, job string) string {
	name, labels, _ := strings.Cut(strings.TrimSuffix(series, "}"), "{")
	for _, label := range targetLabels {
		if label != "le" && label != "cluster" {
			labels = strings.NewReplacer(`,`+label+`="`, `,exported_`+label+`="`).Replace("," + labels)[1:]
		}
	}
	own := fmt.Sprintf(`job=%q,namespace="reroll",instance="%s:9090",pod="%s-0"`, job, job, job)
	return name + "{" + strings.TrimSuffix(own+","+labels, ",") + "}"
}
