package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
	"go.yaml.in/yaml/v2"
)

// suite is a file of tests.
type suite struct {
	// RuleFiles are relative to the file.
	RuleFiles []string `yaml:"rule_files"`
	// Interval is the time between two evaluations of the rules.
	Interval  model.Duration `yaml:"evaluation_interval"`
	Scenarios []scenario     `yaml:"tests"`
}

// scenario is a history from the time 0.
type scenario struct {
	Name string `yaml:"name"`
	// Interval is the time between two samples of a series.
	Interval model.Duration `yaml:"interval"`
	Series   []struct {
		Series string `yaml:"series"`
		Values string `yaml:"values"`
	} `yaml:"input_series"`
	Looks []look `yaml:"promql_expr_test"`
}

// look is a query at a time, with all that it is to find, or with Finds that it is to find something, or Runs that it need not even that: two
// words that promtool does not know.
type look struct {
	Expr    string         `yaml:"expr"`
	At      model.Duration `yaml:"eval_time"`
	Finds   bool           `yaml:"finds"`
	Runs    bool           `yaml:"runs"`
	Samples []struct {
		Labels string  `yaml:"labels"`
		Value  float64 `yaml:"value"`
	} `yaml:"exp_samples"`
}

// test runs the scenarios of a file.
func test(file string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var s suite
	if err := yaml.UnmarshalStrict(content, &s); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if len(s.RuleFiles) == 0 || len(s.Scenarios) == 0 || s.Interval <= 0 {
		return fmt.Errorf("%s: it names no rules, no interval or no tests", file)
	}
	for i, name := range s.RuleFiles {
		if !filepath.IsAbs(name) {
			s.RuleFiles[i] = filepath.Join(filepath.Dir(file), name)
		}
	}
	var errs []error
	for _, scenario := range s.Scenarios {
		if err := scenario.run(s.RuleFiles, time.Duration(s.Interval)); err != nil {
			errs = append(errs, fmt.Errorf("%s: %s: %w", file, scenario.Name, err))
		}
	}
	return errors.Join(errs...)
}

// run lets the history pass, and then looks back.
func (s scenario) run(files []string, interval time.Duration) error {
	past, err := promqltest.NewLazyLoader(s.history(), promqltest.LazyLoaderOpts{EnableAtModifier: true, EnableNegativeOffset: true})
	if err != nil {
		return err
	}
	defer past.Close() //nolint:errcheck // nobody reads it any more
	groups, err := load(past, files, interval)
	if err != nil {
		return err
	}
	for at := time.Unix(0, 0).UTC(); !at.After(s.end()); at = at.Add(interval) {
		if err := evaluate(past, groups, at); err != nil {
			return err
		}
	}
	var errs []error
	for _, l := range s.Looks {
		errs = append(errs, l.compare(past))
	}
	return errors.Join(errs...)
}

// history is the series as Prometheus's own tests write them.
func (s scenario) history() string {
	var text strings.Builder
	fmt.Fprintf(&text, "load %s\n", s.Interval)
	for _, one := range s.Series {
		fmt.Fprintf(&text, "  %s %s\n", one.Series, one.Values)
	}
	return text.String()
}

// end is the time of the last look.
func (s scenario) end() time.Time {
	var last model.Duration
	for _, l := range s.Looks {
		last = max(last, l.At)
	}
	return moment(last)
}

// moment is a time of the history.
func moment(d model.Duration) time.Time { return time.Unix(0, 0).UTC().Add(time.Duration(d)) }

// load returns the groups of rules, whose alerts remember nothing from before.
func load(past *promqltest.LazyLoader, files []string, interval time.Duration) (map[string]*rules.Group, error) {
	manager := rules.NewManager(&rules.ManagerOptions{
		Context: context.Background(), QueryFunc: rules.EngineQueryFunc(past.QueryEngine(), past.Storage()), Appendable: past.Storage(),
		NotifyFunc: func(context.Context, string, ...*rules.Alert) {}, Logger: slog.New(slog.DiscardHandler),
	})
	groups, errs := manager.LoadGroups(interval, labels.EmptyLabels(), "", nil, false, files...)
	for _, group := range groups {
		for _, rule := range group.Rules() {
			if alert, ok := rule.(*rules.AlertingRule); ok {
				alert.SetRestored(true)
			}
		}
	}
	return groups, errors.Join(errs...)
}

// evaluate evaluates each rule at a time.
func evaluate(past *promqltest.LazyLoader, groups map[string]*rules.Group, at time.Time) error {
	var errs []error
	past.WithSamplesTill(at, func(err error) {
		errs = append(errs, err)
		for _, group := range groups {
			group.Eval(past.Context(), at)
			for _, rule := range group.Rules() {
				if err := rule.LastError(); err != nil {
					errs = append(errs, fmt.Errorf("rule %s at %s: %w", rule.Name(), at.Sub(time.Unix(0, 0)), err))
				}
			}
		}
	})
	return errors.Join(errs...)
}

// compare asks, and tells of what is found and not wanted, or wanted and not found.
func (l look) compare(past *promqltest.LazyLoader) error {
	query, err := past.QueryEngine().NewInstantQuery(past.Context(), past.Queryable(), nil, l.Expr, moment(l.At))
	if err != nil {
		return fmt.Errorf("%s: %w", l.Expr, err)
	}
	defer query.Close()
	found, err := query.Exec(past.Context()).Vector()
	if err != nil {
		return fmt.Errorf("%s: %w", l.Expr, err)
	}
	if l.Runs || l.Finds && len(found) > 0 {
		return nil
	}
	if l.Finds {
		return fmt.Errorf("%s at %s finds nothing", l.Expr, l.At)
	}
	got, want := []string{}, []string{}
	for _, sample := range found {
		got = append(got, fmt.Sprintf("%s %g", sample.Metric, sample.F))
	}
	for _, sample := range l.Samples {
		metric, err := parser.NewParser(parser.Options{}).ParseMetric(sample.Labels)
		if err != nil {
			return fmt.Errorf("labels %s: %w", sample.Labels, err)
		}
		want = append(want, fmt.Sprintf("%s %g", metric, sample.Value))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		return fmt.Errorf("%s at %s finds %q, want %q", l.Expr, l.At, got, want)
	}
	return nil
}
