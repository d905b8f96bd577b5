package dispatcher_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/reroll-dev/reroll/dispatcher"
)

// family is a metric as its users know it: its type, and its labels with their values.
type family struct {
	kind   dto.MetricType
	labels map[string]string
}

// measured gives the dispatchers of w a registry that the test can look into. configure may be nil.
func (w *world) measured(configure func(*dispatcher.Options)) *prometheus.Registry {
	r := prometheus.NewRegistry()
	w.configure = func(o *dispatcher.Options) {
		o.Registerer = r
		if configure != nil {
			configure(o)
		}
	}
	return r
}

// gathered returns the metrics whose names begin with prefix.
func gathered(t *testing.T, r prometheus.Gatherer, prefix string) []*dto.MetricFamily {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(families, func(f *dto.MetricFamily) bool { return !strings.HasPrefix(f.GetName(), prefix) })
}

// describe returns what metrics are, without their counts.
func describe(families []*dto.MetricFamily) map[string]family {
	found := map[string]family{}
	for _, f := range families {
		values := map[string]map[string]bool{}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if values[l.GetName()] == nil {
					values[l.GetName()] = map[string]bool{}
				}
				values[l.GetName()][l.GetValue()] = true
			}
		}
		labels := map[string]string{}
		for name := range values {
			labels[name] = strings.Join(slices.Sorted(maps.Keys(values[name])), " ")
		}
		found[f.GetName()] = family{f.GetType(), labels}
	}
	return found
}

// counts returns the series that are not zero; of histograms, how often something was measured.
func counts(families []*dto.MetricFamily) map[string]float64 {
	found := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			value := m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			if value == 0 {
				continue
			}
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += fmt.Sprintf(" %s=%s", l.GetName(), l.GetValue())
			}
			found[name] = value
		}
	}
	return found
}

// difference returns what was counted between two calls of counts.
func difference(before, after map[string]float64) map[string]float64 {
	found := map[string]float64{}
	for name, value := range after {
		if value -= before[name]; value != 0 {
			found[name] = value
		}
	}
	return found
}
