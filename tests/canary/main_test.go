package canary

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// testTime bounds a test; the deadline of a canary is 40 s.
const testTime = 4 * time.Minute

// room is a namespace with a Deployment web that uses the ConfigMap app.
type room struct {
	t      *testing.T
	ctx    context.Context
	line   *line.Line
	client kubernetes.Interface
	ns     string
	// policy is the file of the API server's audit policy.
	policy string
}

// newRoom returns a room on a line of its own, whose API server reports writes of ConfigMaps and Secrets at a level.
func newRoom(t *testing.T, level auditv1.Level, flags ...string) *room {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTime)
	t.Cleanup(cancel)
	r := &room{t: t, ctx: ctx, policy: filepath.Join(t.TempDir(), "policy.yaml")}
	r.setLevel(level)
	l, err := line.Start(ctx, line.Options{
		Kube:  kube.Options{ControlPlaneOnly: true, APIServerFlags: []string{"--audit-policy-file=" + r.policy}},
		Flags: append([]string{"--set", "debounce.window=0s", "--set", "ingest.canaryInterval=1s", "--set", "resyncInterval=1h"}, flags...),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Stop)
	r.line, r.client, r.ns = l, l.Kube.Client(), l.Kube.Namespace(t)
	r.furnish()
	return r
}

// setLevel writes the policy that the API server reads when it starts.
func (r *room) setLevel(level auditv1.Level) {
	r.t.Helper()
	text, err := yaml.Marshal(auditv1.Policy{
		TypeMeta:   metav1.TypeMeta{APIVersion: auditv1.SchemeGroupVersion.String(), Kind: "Policy"},
		OmitStages: []auditv1.Stage{auditv1.StageRequestReceived},
		Rules: []auditv1.PolicyRule{
			{Level: level, Verbs: []string{"create", "update", "patch", "delete"}, Resources: []auditv1.GroupResources{{Resources: []string{"configmaps", "secrets"}}}},
			{Level: auditv1.LevelNone},
		},
	})
	r.must(err)
	r.must(os.WriteFile(r.policy, text, 0o600))
}

// furnish creates the objects and waits until Reroll knows them.
func (r *room) furnish() {
	r.t.Helper()
	_, err := r.client.CoreV1().ConfigMaps(r.ns).Create(r.ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "app"}, Data: map[string]string{"k": "a"},
	}, metav1.CreateOptions{})
	r.must(err)
	_, err = r.client.AppsV1().Deployments(r.ns).Create(r.ctx, line.Deployment(r.ns, "web", map[string]string{"reloader.stakater.com/auto": "true"}, line.FromConfigMap("app")), metav1.CreateOptions{})
	r.must(err)
	r.wait("a baseline", func(ctx context.Context) error {
		if n, err := r.line.Reroll.Baselines(ctx, r.ns, "web"); n != 1 || err != nil {
			return fmt.Errorf("%d baselines, %v", n, err)
		}
		return nil
	})
}

func (r *room) must(err error) {
	r.t.Helper()
	if err == nil {
		return
	}
	log := ""
	if r.line != nil {
		log = r.line.Reroll.Log()
	}
	r.t.Fatalf("%v\nreroll's log:\n%s", err, log[max(0, len(log)-4000):])
}

// wait returns how long it took until check returned nil.
func (r *room) wait(what string, check func(context.Context) error) time.Duration {
	r.t.Helper()
	begun := time.Now()
	if err := line.Poll(r.ctx, check); err != nil {
		r.must(fmt.Errorf("wait for %s: %w", what, err))
	}
	return time.Since(begun)
}

// edit changes the ConfigMap as any client would.
func (r *room) edit(value string) {
	r.t.Helper()
	cm, err := r.client.CoreV1().ConfigMaps(r.ns).Get(r.ctx, "app", metav1.GetOptions{})
	r.must(err)
	cm.Data["k"] = value
	_, err = r.client.CoreV1().ConfigMaps(r.ns).Update(r.ctx, cm, metav1.UpdateOptions{})
	r.must(err)
}

// rolls returns how often the Deployment was rolled: nobody but Reroll writes its spec.
func (r *room) rolls(ctx context.Context) (int64, error) {
	d, err := r.client.AppsV1().Deployments(r.ns).Get(ctx, "web", metav1.GetOptions{})
	if err != nil {
		return 0, err
	}
	return d.Generation - 1, nil
}

// waitRolls waits until the Deployment was rolled n times.
func (r *room) waitRolls(n int64) time.Duration {
	r.t.Helper()
	return r.wait(fmt.Sprintf("roll %d", n), func(ctx context.Context) error {
		if got, err := r.rolls(ctx); got != n || err != nil {
			return fmt.Errorf("%d rolls, %v", got, err)
		}
		return nil
	})
}

// waitRoll waits until the Deployment was rolled n times, the last time for a change that a source told of.
func (r *room) waitRoll(n int64, source string) time.Duration {
	r.t.Helper()
	took := r.waitRolls(n)
	r.wait("its record", func(ctx context.Context) error {
		reloads, err := r.line.Reroll.Reloads(ctx, r.ns)
		if int64(len(reloads)) != n || err != nil {
			return fmt.Errorf("%d records, %v", len(reloads), err)
		}
		if got := reloads[0].Causes[0].Source; got != source {
			return line.Stop(fmt.Errorf("source %s, want %s", got, source))
		}
		return nil
	})
	return took
}

// metric reads a metric of Reroll, by its name with labels.
func (r *room) metric(ctx context.Context, name string) (float64, error) {
	text, err := r.line.Reroll.Metrics(ctx)
	if err != nil {
		return 0, err
	}
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` (\S+)$`).FindStringSubmatch(text)
	if found == nil {
		return 0, fmt.Errorf("no metric %s", name)
	}
	return strconv.ParseFloat(found[1], 64)
}

// waitMetric waits until a metric has a value.
func (r *room) waitMetric(name string, want float64) time.Duration {
	r.t.Helper()
	return r.wait(fmt.Sprintf("%s %v", name, want), func(ctx context.Context) error {
		if got, err := r.metric(ctx, name); got != want || err != nil {
			return fmt.Errorf("%s is %v, %v", name, got, err)
		}
		return nil
	})
}

// restartKube starts the API server again, which reports writes of ConfigMaps at a level then.
func (r *room) restartKube(level auditv1.Level) {
	r.t.Helper()
	r.setLevel(level)
	r.must(r.line.Kube.StopAPIServer(r.ctx))
	r.must(r.line.Kube.StartAPIServer(r.ctx))
}

// waitVerdict waits until the API says of the Deployment what is expected, as its state and message.
func (r *room) waitVerdict(parts ...string) {
	r.t.Helper()
	r.wait("the verdict", func(ctx context.Context) error {
		var page struct {
			Verdict struct{ State, Message string }
		}
		err := r.line.Reroll.Get(ctx, "/api/v1/workloads/local/"+r.ns+"/Deployment/web", &page)
		said := page.Verdict.State + ": " + page.Verdict.Message
		for _, part := range parts {
			if err == nil && !strings.Contains(said, part) {
				err = fmt.Errorf("%s, without %q", said, part)
			}
		}
		return err
	})
}
