package observability

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/natsserver"
)

// targetLabels are those that Prometheus gives to what it scrapes, and those of its own histograms.
var targetLabels = []string{"job", "namespace", "cluster", "instance", "pod", "le"}

var (
	selector = regexp.MustCompile(`\b((?:reroll|reloader|rest_client|process|go|apiserver)[a-z0-9_:]*)(?:\{([^}]*)\})?`)
	matcher  = regexp.MustCompile(`([a-z_]+)(=~|!=|=)"((?:[^"\\]|\\.)*)"`)
	grouping = regexp.MustCompile(`(?:by|without) \(([^)]*)\)`)
	pair     = regexp.MustCompile(`([a-z_]+)="([^"]*)"`)
)

// exposed has the values of each label of each metric.
type exposed map[string]map[string][]string

// read adds the samples of an answer of /metrics whose names begin with prefix. The API server's answer is megabytes.
func (e exposed) read(text, prefix string) {
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, prefix) || strings.HasPrefix(line, "#") {
			continue
		}
		name := line[:strings.IndexAny(line, "{ ")]
		if e[name] == nil {
			e[name] = map[string][]string{}
		}
		for _, p := range pair.FindAllStringSubmatch(line, -1) {
			e[name][p[1]] = append(e[name][p[1]], p[2])
		}
	}
}

// check returns an error for what a query asks for and no process exposes. recorded are the metrics that rules make.
func (e exposed) check(query string, recorded []string) error {
	var errs []error
	known := slices.Clone(targetLabels)
	for _, s := range selector.FindAllStringSubmatch(query, -1) {
		if slices.Contains(recorded, s[1]) {
			continue
		}
		labels, ok := e[s[1]]
		if !ok {
			errs = append(errs, fmt.Errorf("nobody exposes %s", s[1]))
			continue
		}
		known = slices.AppendSeq(known, maps.Keys(labels))
		for _, m := range matcher.FindAllStringSubmatch(s[2], -1) {
			errs = append(errs, checkMatcher(s[1], labels, m[1], m[3]))
		}
	}
	for _, g := range grouping.FindAllStringSubmatch(query, -1) {
		for label := range strings.SplitSeq(g[1], ", ") {
			if !slices.Contains(known, label) {
				errs = append(errs, fmt.Errorf("no metric of the query has a label %s", label))
			}
		}
	}
	return errors.Join(errs...)
}

// checkMatcher looks for each of the values between bars. Codes of answers are exposed once they occur.
func checkMatcher(metric string, labels map[string][]string, label, values string) error {
	if slices.Contains(targetLabels, label) && label != "le" {
		return nil
	}
	if labels[label] == nil {
		return fmt.Errorf("%s has no label %s", metric, label)
	}
	if label == "code" {
		return nil
	}
	for value := range strings.SplitSeq(values, "|") {
		pattern := regexp.MustCompile("^(?:" + strings.ReplaceAll(value, `\\`, `\`) + ")$")
		if !slices.ContainsFunc(labels[label], pattern.MatchString) && metric != "apiserver_audit_error_total" {
			return fmt.Errorf("%s has no %s=%q", metric, label, value)
		}
	}
	return nil
}

// TestQueriesAskForWhatIsThere runs every role against a real API server, with all that adds metrics turned on, and looks for each
// metric, label and label value of alerts and dashboard in their answers. The API server drops audit events there, as an alert wants.
func TestQueriesAskForWhatIsThere(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	l, err := line.StartRoles(ctx, line.Options{
		Kube: kube.Options{
			ControlPlaneOnly: true, Audit: &kube.Audit{Throttle: true},
			APIServerFlags: []string{"--audit-webhook-batch-buffer-size=1", "--audit-webhook-batch-max-size=1", "--audit-webhook-batch-throttle-qps=0.1", "--audit-webhook-batch-throttle-burst=1"},
		},
		Flags: []string{
			"--set=leaderElection=true", "--set=metrics.countByNamespace=true", "--source=auto", "--set=resyncInterval=5s", "--set", "hub.url=" + natsserver.StartHub(t, []string{line.ClusterName}).ClientURL(),
			"--set", "hub.user=" + line.ClusterName, "--set", "hub.passwordFile=" + natsserver.PasswordFile(t),
		},
		Environment: []string{
			"POD_NAME=one", "POD_NAMESPACE=default", "REROLL_NOTIFICATIONS_URL=http://127.0.0.1:9/",
		},
	}, natsserver.Start(t).ClientURL())
	line.Must(t, err)
	t.Cleanup(l.Stop)
	var recorded, queries []string
	for _, r := range rules(t) {
		recorded, queries = append(recorded, r.Record), append(queries, r.Expr)
	}
	queries = append(queries, dashboardQueries(t)...)
	page, err := os.ReadFile(alertsPage)
	line.Must(t, err)
	for _, documented := range regexp.MustCompile("(?m)^\\| `(reroll_forward_\\w+)`").FindAllStringSubmatch(string(page), -1) {
		queries = append(queries, documented[1])
	}
	// Some series appear with what they count.
	looking, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	var missing error
	err = line.Poll(looking, func(ctx context.Context) error {
		there, err := scrape(ctx, l)
		if err != nil {
			return err
		}
		var errs []error
		for _, query := range queries {
			if err := there.check(query, recorded); err != nil {
				errs = append(errs, fmt.Errorf("%w in %s", err, query))
			}
		}
		missing = errors.Join(errs...)
		return missing
	})
	if err != nil {
		t.Errorf("%v; at the last full look: %v", err, missing)
	}
}

// scrape reads the metrics of all processes, after it has used each of them.
func scrape(ctx context.Context, l *line.Line) (exposed, error) {
	var answer any
	if err := l.Reroll.Get(ctx, "/api/v1/reloads", &answer); err != nil {
		return nil, err
	}
	noise := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "noise-"}}
	if _, err := l.Kube.Client().CoreV1().ConfigMaps("default").Create(ctx, noise, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	there := exposed{}
	for _, process := range []*line.Reroll{l.Ingest, l.Dispatch, l.Reroll} {
		text, err := process.Metrics(ctx)
		if err != nil {
			return nil, err
		}
		there.read(text, "")
	}
	text, err := l.Kube.Client().CoreV1().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	there.read(string(text), "apiserver_audit_")
	return there, err
}
