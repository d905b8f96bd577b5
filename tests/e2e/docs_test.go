//go:build nightly

package e2e

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	operationsDocument = "../../docs/operations.md"
	metricsDocument    = "../../docs/alerts-and-metrics.md"
)

// forwardMetrics begins the names of metrics that only a process with a hub has; tests/fleet looks at these.
const forwardMetrics = "reroll_forward_"

// TestOperationsDocument compares what the documents say about metrics and readiness checks with a process that has done some work.
func TestOperationsDocument(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(operationsDocument)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := os.ReadFile(metricsDocument)
	if err != nil {
		t.Fatal(err)
	}
	r := newRoom(t, shared)
	r.quiesce() // every metric has had a reason to appear
	r.waitReloads("sentinel", 2)

	metrics, err := r.line.Reroll.Metrics(r.ctx)
	r.must(err)
	documentedHere := documentedMetrics(string(tables))
	maps.DeleteFunc(documentedHere, func(name, _ string) bool { return strings.HasPrefix(name, forwardMetrics) })
	if diff := cmp.Diff(exposedMetrics(metrics), documentedHere); diff != "" {
		t.Errorf("metrics, with type and labels, in %s (-running +document):\n%s", metricsDocument, diff)
	}

	code, answer, err := r.line.Reroll.Probe(r.ctx, "/readyz?verbose")
	r.must(err)
	if code != http.StatusOK {
		t.Errorf("not ready: %s", answer)
	}
	checks := slices.Sorted(maps.Values(firsts(`(?m)^\[[+-]\](\S+) `, answer)))
	_, section, _ := strings.Cut(string(content), "\n## Readiness\n")
	section, _, _ = strings.Cut(section, "\n## ")
	section = regexp.MustCompile("(?m)^.*, with(?:out)? `--.*\n").ReplaceAllString(section, "") // this process has no such settings
	// Other roles have checks of their own.
	documented := slices.Sorted(maps.Values(firsts("(?m)^\\| `([a-z]+)` \\| (?:all|`serve`)", section)))
	if diff := cmp.Diff(checks, documented); diff != "" || len(checks) == 0 {
		t.Errorf("readiness checks in %s (-running +document):\n%s", operationsDocument, diff)
	}
}

// firsts returns the first group of every match.
func firsts(pattern, text string) map[int]string {
	found := map[int]string{}
	for i, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		found[i] = match[1]
	}
	return found
}

var (
	typeLine = regexp.MustCompile(`(?m)^# TYPE (reroll_\w+) (\w+)$`)
	rowLine  = regexp.MustCompile("(?m)^\\| `(reroll_\\w+)` \\| (\\w+) \\| (.*?) ?\\|")
	label    = regexp.MustCompile(`(\w+)="`)
	quoted   = regexp.MustCompile("`(\\w+)`")
)

// exposedMetrics returns type and labels of Reroll's own metrics in an answer of /metrics.
func exposedMetrics(text string) map[string]string {
	found := map[string]string{}
	for _, match := range typeLine.FindAllStringSubmatch(text, -1) {
		name, kind := match[1], match[2]
		labels := map[string]bool{}
		sample := regexp.MustCompile(`(?m)^` + name + `(?:_bucket|_sum|_count)?(\{.*\})? \S+$`)
		for _, line := range sample.FindAllStringSubmatch(text, -1) {
			for _, l := range label.FindAllStringSubmatch(line[1], -1) {
				labels[l[1]] = true
			}
		}
		delete(labels, "le") // the bounds of a histogram's buckets
		found[name] = fmt.Sprint(kind, slices.Sorted(maps.Keys(labels)))
	}
	return found
}

// documentedMetrics returns type and labels of the metrics in the document's tables.
func documentedMetrics(text string) map[string]string {
	found := map[string]string{}
	for _, match := range rowLine.FindAllStringSubmatch(text, -1) {
		labels := []string{}
		for _, l := range quoted.FindAllStringSubmatch(match[3], -1) {
			labels = append(labels, l[1])
		}
		found[match[1]] = fmt.Sprint(match[2], labels)
	}
	return found
}
