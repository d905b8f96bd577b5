//go:build nightly

package chart_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/reroll-dev/reroll/tests/tools"
)

// TestAbsenceIsOfTheRelease: that another release is seen by the same Prometheus does not hide that this one is gone.
func TestAbsenceIsOfTheRelease(t *testing.T) {
	const history = `
rule_files: [alerts.yaml]
evaluation_interval: 1m
tests:
  - name: another release goes on
    interval: 1m
    input_series:
      - {series: 'reroll_pending_workloads{job="reroll",namespace="other",instance="a"}', values: '0x60'}
      - {series: 'reroll_api_streams{job="reroll",namespace="other",instance="a"}', values: '0x60'}
      - {series: 'reroll_pending_workloads{job="reroll",namespace="` + namespace + `",instance="b"}', values: '0x10 _x50'}
      - {series: 'reroll_api_streams{job="reroll",namespace="` + namespace + `",instance="b"}', values: '0x10 _x50'}
    promql_expr_test:
      - {expr: 'count by (alertname) (ALERTS)', eval_time: 10m, exp_samples: []}
      - expr: count by (alertname, namespace) (ALERTS{alertstate="firing"})
        eval_time: 30m
        exp_samples: [%s]
`
	fires := func(alert string) string {
		return `{labels: '{alertname="` + alert + `",namespace="` + namespace + `"}', value: 1}`
	}
	for name, c := range map[string]struct {
		set, fires string
	}{
		"a member":          {"metrics.serviceMonitor.enabled=true", fires("RerollAPIAbsent") + ", " + fires("RerollAbsent")},
		"a hub":             {"metrics.serviceMonitor.enabled=true,mode=hub,nats.url=nats://n:4222", fires("RerollAPIAbsent")},
		"scraped otherwise": {"mode=hub,nats.url=nats://n:4222", ""}, // nobody knows with which labels
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(filepath.Dir(ruleFile(t, "--set", c.set)), "history.yaml")
			if err := os.WriteFile(file, fmt.Appendf(nil, history, c.fires), 0o600); err != nil {
				t.Fatal(err)
			}
			promtool, err := tools.Promtool(t.Context(), "test", file)
			if err != nil {
				t.Fatal(err)
			}
			if out, err := output(promtool); err != nil {
				t.Errorf("%v%s", err, out)
			}
		})
	}
}
