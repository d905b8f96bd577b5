package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/tests/line"
)

const namespace = "shop"

// manifests are what the demo runs: a Deployment that reads a ConfigMap as environment and a Secret as files.
const manifests = `
apiVersion: v1
kind: ConfigMap
metadata: {name: web-settings, namespace: shop}
data: {GREETING: hello, COLOR: green}
---
apiVersion: v1
kind: Secret
metadata: {name: web-password, namespace: shop}
stringData: {password: correct-horse}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
  annotations: {reloader.stakater.com/auto: "true"}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: example.com/web
        envFrom: [{configMapRef: {name: web-settings}}]
        volumeMounts: [{name: password, mountPath: /etc/web}]
      volumes: [{name: password, secret: {secretName: web-password}}]
`

// story is the demo's course of events.
type story struct {
	line *line.Line
	out  io.Writer
	// seen are the reloads that were shown already.
	seen map[string]bool
}

// edit is one thing that a user does, and whether the Deployment must roll for it.
type edit struct {
	user string
	args []string
	roll bool
}

var edits = []edit{
	{"alice@example.com", []string{"patch", "configmap", "web-settings", "--type=merge", "-p", `{"data":{"GREETING":"good morning"}}`}, true},
	{"bob@example.com", []string{"patch", "secret", "web-password", "--type=merge", "-p", `{"stringData":{"password":"battery-staple"}}`}, true},
	{"alice@example.com", []string{"label", "configmap", "web-settings", "team=checkout"}, false},
	{"carol@example.com", []string{"patch", "configmap", "web-settings", "--type=merge", "-p", `{"data":{"COLOR":"blue"}}`}, true},
	{"bob@example.com", []string{"patch", "secret", "web-password", "--type=merge", "-p", `{"stringData":{"password":"tr0ub4dor"}}`}, true},
}

func (s *story) tell(ctx context.Context) error {
	s.seen = map[string]bool{}
	if err := s.prepare(ctx); err != nil {
		return err
	}
	for _, e := range edits {
		if err := s.perform(ctx, e); err != nil {
			return fmt.Errorf("%s: kubectl %s: %w", e.user, strings.Join(e.args, " "), err)
		}
	}
	return s.summarize(ctx)
}

func (s *story) prepare(ctx context.Context) error {
	if _, err := s.line.Kube.Kubectl(ctx, "create", "namespace", namespace); err != nil {
		return err
	}
	if _, err := s.line.Kube.Kubectl(ctx, "create", "clusterrolebinding", "demo-editors", "--clusterrole=edit",
		"--user=alice@example.com", "--user=bob@example.com", "--user=carol@example.com"); err != nil {
		return err
	}
	cmd := s.line.Kube.Command(ctx, "apply", "-f", "-")
	cmd.Stdin = strings.NewReader(manifests)
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("apply: %w: %s", err, output)
	}
	if err := s.line.Kube.WaitRollout(ctx, namespace, "deployment", "web"); err != nil {
		return err
	}
	say("Deployment shop/web runs 2 pods with ConfigMap web-settings (envFrom) and Secret web-password (volume).")
	return s.adopted(ctx)
}

// adopted waits until Reroll has a baseline for both configs.
func (s *story) adopted(ctx context.Context) error {
	return line.Poll(ctx, func(ctx context.Context) error {
		got, err := s.line.Reroll.Baselines(ctx, namespace, "web")
		if err != nil {
			return err
		}
		if got != 2 {
			return fmt.Errorf("%d of 2 configs have a baseline", got)
		}
		return nil
	})
}

// perform does one edit as its user and waits for what must come of it.
func (s *story) perform(ctx context.Context, e edit) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	before, err := s.replicaSets(ctx)
	if err != nil {
		return err
	}
	say("%s: kubectl %s", e.user, shown(e.args))
	started := time.Now()
	if _, err := s.line.Kube.Kubectl(ctx, append([]string{"--namespace=" + namespace, "--as=" + e.user}, e.args...)...); err != nil {
		return err
	}
	if !e.roll {
		// Whether it rolled is seen after the next edit that must roll, and at the end: two rolls would show there.
		fmt.Fprintln(s.out, "   content unchanged: nothing to roll")
		return nil
	}
	r, err := s.nextReload(ctx)
	if err != nil {
		return err
	}
	if err := s.line.Kube.WaitRollout(ctx, namespace, "deployment", "web"); err != nil {
		return err
	}
	after, err := s.replicaSets(ctx)
	if err != nil {
		return err
	}
	return s.report(e, r, len(before), len(after), time.Since(started))
}

// shown hides the content of a patch: what a Secret holds is nobody's business, not even in a demo.
func shown(args []string) string {
	if i := slices.Index(args, "-p"); i >= 0 {
		return strings.Join(args[:i], " ") + " -p …"
	}
	return strings.Join(args, " ")
}

func (s *story) nextReload(ctx context.Context) (line.Reload, error) {
	var next line.Reload
	err := line.Poll(ctx, func(ctx context.Context) error {
		reloads, err := s.line.Reroll.Reloads(ctx, namespace)
		if err != nil {
			return err
		}
		for _, r := range reloads {
			if !s.seen[r.ID] {
				next, s.seen[r.ID] = r, true
				return nil
			}
		}
		return fmt.Errorf("no new reload")
	})
	return next, err
}

// report shows a reload and checks that it is the one that the edit asked for.
func (s *story) report(e edit, r line.Reload, before, after int, took time.Duration) error {
	if r.Outcome != "Reloaded" || len(r.Causes) != 1 || len(r.Causes[0].Candidates) == 0 {
		return fmt.Errorf("unexpected reload: %+v", r)
	}
	cause := r.Causes[0]
	who := cause.Candidates[0]
	var keys []string
	for _, k := range cause.Keys {
		keys = append(keys, k.Key+" "+strings.ToLower(k.Op))
	}
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "   who\t%s (%s, %s)\n", who.User, who.Verb, who.Basis)
	fmt.Fprintf(w, "   what\t%s %s/%s: %s\n", cause.Config.Kind, cause.Config.Namespace, cause.Config.Name, strings.Join(keys, ", "))
	fmt.Fprintf(w, "   when\t%s\n", cause.RequestedAt.Local().Format("15:04:05.000"))
	fmt.Fprintf(w, "   rolled\t%s %s/%s, %d → %d ReplicaSets, all pods ready\n", r.Workload.Kind, r.Workload.Namespace, r.Workload.Name, before, after)
	fmt.Fprintf(w, "   how long\tseen after %s, patched after %s (quiet window included), pods ready after %s\n",
		round(cause.VerifiedAt.Sub(cause.RequestedAt)), round(r.PatchedAt.Sub(cause.RequestedAt)), round(took))
	if err := w.Flush(); err != nil {
		return err
	}
	if who.User != e.user {
		return fmt.Errorf("the change is said to be by %s, not %s", who.User, e.user)
	}
	if after != before+1 {
		return fmt.Errorf("%d new ReplicaSets instead of 1", after-before)
	}
	return nil
}

func round(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

// summarize shows the history and checks that there is nothing else in it.
func (s *story) summarize(ctx context.Context) error {
	reloads, err := s.line.Reroll.Reloads(ctx, namespace)
	if err != nil {
		return err
	}
	want := 0
	for _, e := range edits {
		if e.roll {
			want++
		}
	}
	sets, err := s.replicaSets(ctx)
	if err != nil {
		return err
	}
	say("GET %s/api/v1/reloads?namespace=%s", s.line.Reroll.API, namespace)
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "   TIME\tWHO\tCHANGED\tWORKLOAD\tOUTCOME")
	for _, r := range slices.Backward(reloads) {
		c := r.Causes[0]
		fmt.Fprintf(w, "   %s\t%s\t%s %s\t%s %s\t%s\n", r.PatchedAt.Local().Format("15:04:05"), c.Candidates[0].User,
			c.Config.Kind, c.Config.Name, r.Workload.Kind, r.Workload.Name, r.Outcome)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(reloads) != want || len(sets) != want+1 {
		return fmt.Errorf("%d reloads and %d ReplicaSets for %d edits", len(reloads), len(sets), want)
	}
	say("%d edits of content, %d rolls; 1 label, no roll.", want, want)
	return nil
}

// invite names the dashboard, which shows the same, once it has answered.
func (s *story) invite(ctx context.Context) error {
	page := s.line.Reroll.API + "/"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("dashboard: %w", err)
	}
	defer answer.Body.Close()
	if kind := answer.Header.Get("Content-Type"); answer.StatusCode != http.StatusOK || !strings.HasPrefix(kind, "text/html") {
		return fmt.Errorf("dashboard: %s with %q at %s", answer.Status, kind, page)
	}
	say("The same in a browser, live: %s", page)
	return nil
}

func (s *story) replicaSets(ctx context.Context) ([]appsv1.ReplicaSet, error) {
	list, err := s.line.Kube.Client().AppsV1().ReplicaSets(namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=web"})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
