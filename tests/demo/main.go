// Command demo shows Reroll's main job on a real API server: three users change a ConfigMap and a Secret, and the Deployment that
// uses both rolls. It checks what it shows, and ends with code 1 if anything is not as it says.
//
// It starts a control plane of its own. With DEMO_EXIT=1 it ends by itself; otherwise it leaves the REST API open until it is interrupted.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

const (
	// longest bounds the demo, the first build of the control plane included.
	longest   = 60 * time.Minute
	namespace = "shop"
)

// manifests are what the demo runs: a Deployment that reads a ConfigMap as environment and a Secret as files. Its pods fulfil the strictest of
// the Pod Security Standards, and do nothing.
const manifests = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
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
      terminationGracePeriodSeconds: 1
      automountServiceAccountToken: false
      securityContext: {runAsNonRoot: true, runAsUser: 65535, seccompProfile: {type: RuntimeDefault}}
      containers:
      - name: web
        image: registry.k8s.io/pause:3.10
        resources: {requests: {cpu: 1m, memory: 8Mi}, limits: {cpu: 100m, memory: 32Mi}}
        securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
        envFrom: [{configMapRef: {name: web-settings}}]
        volumeMounts: [{name: password, mountPath: /etc/web}]
      volumes: [{name: password, secret: {secretName: web-password}}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: demo-editors, namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: alice@example.com}
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: bob@example.com}
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: carol@example.com}
`

// edits are what users do, and whether the Deployment must roll for it.
var edits = []struct {
	user, does, object, patch string
	roll                      bool
}{
	{"alice@example.com", "changes GREETING in ConfigMap web-settings", "configmap/web-settings", `{"data":{"GREETING":"good morning"}}`, true},
	{"bob@example.com", "changes the password in Secret web-password", "secret/web-password", `{"stringData":{"password":"battery-staple"}}`, true},
	{"alice@example.com", "labels ConfigMap web-settings with team=checkout", "configmap/web-settings", `{"metadata":{"labels":{"team":"checkout"}}}`, false},
	{"carol@example.com", "changes COLOR in ConfigMap web-settings", "configmap/web-settings", `{"data":{"COLOR":"blue"}}`, true},
	{"bob@example.com", "changes the password in Secret web-password", "secret/web-password", `{"stringData":{"password":"tr0ub4dor"}}`, true},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	// A second signal ends the program at once.
	context.AfterFunc(ctx, stop)
	if err := run(ctx); err != nil {
		if ctx.Err() != nil {
			err = errors.New("interrupted")
		}
		fmt.Fprintln(os.Stderr, "\ndemo failed:", err)
		os.Exit(1)
	}
}

// run starts a control plane, whose audit events go to Reroll, tells the story on it and, without DEMO_EXIT, waits for the user to try more of it.
func run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	say("Preparing etcd, kube-apiserver, kube-controller-manager, kube-scheduler and a fake node.")
	if _, err := kube.Parts(ctx); err != nil {
		return err
	}
	l, err := line.Start(ctx, line.Options{})
	if err != nil {
		return err
	}
	defer l.Stop()
	say("A real kube-apiserver runs; its audit webhook is `reroll serve`, over mutual TLS.")
	if err := tell(ctx, l); err != nil {
		lines := strings.Split(strings.TrimSpace(l.Reroll.Log()), "\n")
		return fmt.Errorf("%w\nthe end of reroll's log:\n%s", err, strings.Join(lines[max(0, len(lines)-15):], "\n"))
	}
	if os.Getenv("DEMO_EXIT") != "" {
		return nil
	}
	say("Try it yourself, in another terminal (interrupt here to end):")
	fmt.Printf("    export KUBECONFIG=%s\n", l.Kube.Kubeconfig())
	fmt.Printf("    kubectl -n %s edit configmap web-settings\n", namespace)
	fmt.Printf("    curl -s '%s/api/v1/reloads?limit=1'\n", l.Reroll.API)
	fmt.Printf("and in a browser, live: %s/\n", l.Reroll.API)
	<-ctx.Done()
	return nil
}

func say(format string, arguments ...any) { fmt.Printf("\n== "+format+"\n", arguments...) }

func tell(ctx context.Context, l *line.Line) error {
	apply := l.Kube.Command(ctx, "apply", "-f", "-")
	apply.Stdin = strings.NewReader(manifests)
	if output, err := apply.CombinedOutput(); err != nil {
		return fmt.Errorf("kubectl apply: %w: %s", err, output)
	}
	if _, err := replicaSets(ctx, l); err != nil {
		return err
	}
	say("Deployment %s/web runs 2 pods with ConfigMap web-settings (envFrom) and Secret web-password (volume).", namespace)
	err := line.Poll(ctx, func(ctx context.Context) error {
		if got, err := l.Reroll.Baselines(ctx, namespace, "web"); err != nil || got != 2 {
			return fmt.Errorf("%d of 2 configs have a baseline: %w", got, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	reloads := 0
	for _, e := range edits {
		// Reroll cannot tell two field managers apart that write within one second, as people do not: the API server keeps that time by the second.
		time.Sleep(1100 * time.Millisecond)
		say("%s %s.", e.user, e.does)
		started := time.Now()
		if _, err := l.Kube.Kubectl(ctx, "patch", e.object, "-n", namespace, "--as="+e.user, "--field-manager="+e.user, "--type=merge", "-p", e.patch); err != nil {
			return err
		}
		if !e.roll {
			// Whether it rolled is seen after the next edit that must roll: two rolls would show there.
			fmt.Println("   content unchanged: nothing to roll")
			continue
		}
		reloads++
		if err := report(ctx, l, e.user, reloads, started); err != nil {
			return fmt.Errorf("%s %s: %w", e.user, e.does, err)
		}
	}
	say("%d edits of content, %d rolls; 1 label, no roll.", reloads, reloads)
	return explain(ctx, l)
}

// report shows what comes of an edit, and checks that it is the one roll that was asked for: after n of them there are n reloads.
func report(ctx context.Context, l *line.Line, user string, n int, started time.Time) error {
	var all []line.Reload
	err := line.Poll(ctx, func(ctx context.Context) (err error) {
		if all, err = l.Reroll.Reloads(ctx, namespace); err == nil && len(all) < n {
			err = errors.New("no new reload")
		}
		return err
	})
	if err != nil {
		return err
	}
	sets, err := replicaSets(ctx, l)
	if err != nil {
		return err
	}
	r := all[0]
	if len(all) != n || sets != n+1 || r.Outcome != "Reloaded" || len(r.Causes) != 1 || len(r.Causes[0].Candidates) == 0 {
		return fmt.Errorf("%d reloads and %d ReplicaSets for %d edits: %+v", len(all), sets, n, r)
	}
	cause := r.Causes[0]
	who := cause.Candidates[0]
	var keys []string
	for _, k := range cause.Keys {
		keys = append(keys, k.Key+" "+strings.ToLower(k.Op))
	}
	round := func(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "   who\t%s (%s)\n", who.User, who.Verb)
	fmt.Fprintf(w, "   what\t%s %s/%s: %s\n", cause.Config.Kind, cause.Config.Namespace, cause.Config.Name, strings.Join(keys, ", "))
	fmt.Fprintf(w, "   when\t%s\n", cause.RequestedAt.Local().Format("15:04:05.000"))
	fmt.Fprintf(w, "   rolled\t%s %s/%s, %d → %d ReplicaSets, all pods ready\n", r.Workload.Kind, r.Workload.Namespace, r.Workload.Name, sets-1, sets)
	fmt.Fprintf(w, "   how long\tseen after %s, patched after %s (quiet window included), pods ready after %s\n",
		round(cause.VerifiedAt.Sub(cause.RequestedAt)), round(r.PatchedAt.Sub(cause.RequestedAt)), round(time.Since(started)))
	if err := w.Flush(); err != nil {
		return err
	}
	if who.User != user {
		return fmt.Errorf("the change is said to be by %q, not %s", who.User, user)
	}
	return nil
}

// replicaSets returns how many there are once all pods of the Deployment run its newest template.
func replicaSets(ctx context.Context, l *line.Line) (int, error) {
	if _, err := l.Kube.Kubectl(ctx, "rollout", "status", "deployment/web", "-n", namespace, "--timeout=3m"); err != nil {
		return 0, err
	}
	sets, err := l.Kube.Kubectl(ctx, "get", "replicasets", "-n", namespace, "-l", "app=web", "-o", "name")
	return len(slices.Collect(strings.Lines(sets))), err
}

// explain shows why the Deployment is as it is, in the words of the command for that, and checks that the dashboard answers.
func explain(ctx context.Context, l *line.Line) error {
	binary, err := line.Build(ctx)
	if err != nil {
		return err
	}
	var output []byte
	// A roll is recorded as rolled out a little after its pods are ready.
	err = line.Poll(ctx, func(ctx context.Context) (err error) {
		output, err = exec.CommandContext(ctx, binary, "explain", namespace+"/Deployment/web", "--server", l.Reroll.API).CombinedOutput()
		if err != nil || strings.Count(string(output), ": UpToDate") != 2 {
			return fmt.Errorf("not both configs are UpToDate: %w: %s", err, output)
		}
		return nil
	})
	if err != nil {
		return err
	}
	say("reroll explain %s/Deployment/web --server %s", namespace, l.Reroll.API)
	fmt.Printf("   %s\n", strings.ReplaceAll(strings.TrimSpace(string(output)), "\n", "\n   "))
	return nil
}
