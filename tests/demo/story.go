package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/reroll-dev/reroll/tests/line"
)

// manifests are what the demo runs: a Deployment that reads a ConfigMap as environment and a Secret as files. Its pods fulfil the strictest of
// the Pod Security Standards, and do nothing.
var manifests = []string{`
apiVersion: v1
kind: ConfigMap
metadata: {name: web-settings}
data: {GREETING: hello, COLOR: green}
`, `
apiVersion: v1
kind: Secret
metadata: {name: web-password}
stringData: {password: correct-horse}
`, `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
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
`}

// story is the demo's course of events.
type story struct {
	client    kubernetes.Interface
	reroll    *line.Reroll
	namespace string
	out       io.Writer
	// as returns the access of a user of the story.
	as func(user string) (kubernetes.Interface, error)
	// who names the user that Reroll takes for the author of a change.
	who func(line.Candidate) string
	// seen are the reloads that were shown already.
	seen map[string]bool
}

// edit is one thing that a user does, and whether the Deployment must roll for it.
type edit struct {
	user, does            string
	resource, name, patch string
	roll                  bool
}

var edits = []edit{
	{"alice@example.com", "changes GREETING in ConfigMap web-settings", "configmaps", "web-settings", `{"data":{"GREETING":"good morning"}}`, true},
	{"bob@example.com", "changes the password in Secret web-password", "secrets", "web-password", `{"stringData":{"password":"battery-staple"}}`, true},
	{"alice@example.com", "labels ConfigMap web-settings with team=checkout", "configmaps", "web-settings", `{"metadata":{"labels":{"team":"checkout"}}}`, false},
	{"carol@example.com", "changes COLOR in ConfigMap web-settings", "configmaps", "web-settings", `{"data":{"COLOR":"blue"}}`, true},
	{"bob@example.com", "changes the password in Secret web-password", "secrets", "web-password", `{"stringData":{"password":"tr0ub4dor"}}`, true},
}

// apply has the user do it. The user's name is also that of the field manager.
func (e edit) apply(ctx context.Context, client kubernetes.Interface, namespace string) error {
	return client.CoreV1().RESTClient().Patch(types.MergePatchType).Namespace(namespace).Resource(e.resource).Name(e.name).
		VersionedParams(&metav1.PatchOptions{FieldManager: e.user}, scheme.ParameterCodec).Body([]byte(e.patch)).Do(ctx).Error()
}

func (s *story) tell(ctx context.Context) error {
	s.seen = map[string]bool{}
	if err := s.prepare(ctx); err != nil {
		return err
	}
	for _, e := range edits {
		if err := s.perform(ctx, e); err != nil {
			return fmt.Errorf("%s %s: %w", e.user, e.does, err)
		}
	}
	if err := s.summarize(ctx); err != nil {
		return err
	}
	return s.explain(ctx)
}

// createUsers creates the namespace of the story and lets its users edit in it.
func (s *story) createUsers(ctx context.Context) error {
	if _, err := s.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}, metav1.CreateOptions{}); err != nil {
		return err
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "demo-editors"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
	}
	for _, e := range edits {
		binding.Subjects = append(binding.Subjects, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: e.user})
	}
	_, err := s.client.RbacV1().RoleBindings(s.namespace).Create(ctx, binding, metav1.CreateOptions{})
	return err
}

func (s *story) prepare(ctx context.Context) error {
	for _, manifest := range manifests {
		if err := s.create(ctx, manifest); err != nil {
			return err
		}
	}
	if err := s.rolledOut(ctx); err != nil {
		return err
	}
	say("Deployment %s/web runs 2 pods with ConfigMap web-settings (envFrom) and Secret web-password (volume).", s.namespace)
	return s.adopted(ctx)
}

func (s *story) create(ctx context.Context, manifest string) error {
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode([]byte(manifest), nil, nil)
	if err != nil {
		return err
	}
	switch o := object.(type) {
	case *corev1.ConfigMap:
		_, err = s.client.CoreV1().ConfigMaps(s.namespace).Create(ctx, o, metav1.CreateOptions{})
	case *corev1.Secret:
		_, err = s.client.CoreV1().Secrets(s.namespace).Create(ctx, o, metav1.CreateOptions{})
	case *appsv1.Deployment:
		_, err = s.client.AppsV1().Deployments(s.namespace).Create(ctx, o, metav1.CreateOptions{})
	default:
		err = fmt.Errorf("the demo has no %T", o)
	}
	return err
}

// rolloutTime is how long the pods may take to be ready: a node of a real cluster may have to pull the image first.
const rolloutTime = 3 * time.Minute

// rolledOut waits until all pods of the Deployment run its newest template. The error says what holds them up.
func (s *story) rolledOut(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, rolloutTime)
	defer cancel()
	return line.Poll(ctx, func(ctx context.Context) error {
		d, err := s.client.AppsV1().Deployments(s.namespace).Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		want, now := *d.Spec.Replicas, d.Status
		if now.ObservedGeneration >= d.Generation && now.UpdatedReplicas == want && now.AvailableReplicas == want && now.Replicas == want {
			return nil
		}
		return fmt.Errorf("%d of %d pods of Deployment web are updated, %d available; %s", now.UpdatedReplicas, want, now.AvailableReplicas, s.trouble(ctx))
	})
}

// trouble says why pods are not ready.
func (s *story) trouble(ctx context.Context) string {
	pods, err := s.client.CoreV1().Pods(s.namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=web"})
	if err != nil {
		return err.Error()
	}
	reasons := map[string]bool{}
	for _, pod := range pods.Items {
		for _, c := range pod.Status.Conditions {
			if c.Status != corev1.ConditionTrue && c.Message != "" {
				reasons[c.Message] = true
			}
		}
		for _, c := range pod.Status.ContainerStatuses {
			if c.State.Waiting != nil {
				reasons[c.State.Waiting.Reason+" "+c.State.Waiting.Message] = true
			}
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(reasons)), "; ")
}

// adopted waits until Reroll has a baseline for both configs.
func (s *story) adopted(ctx context.Context) error {
	return line.Poll(ctx, func(ctx context.Context) error {
		got, err := s.reroll.Baselines(ctx, s.namespace, "web")
		if err != nil {
			return err
		}
		if got != 2 {
			return fmt.Errorf("%d of 2 configs have a baseline", got)
		}
		return nil
	})
}

// apart is how long edits are apart at least, as those of people are. Reroll names several possible authors if two write before it has looked, and
// cannot tell two field managers apart that write within one second: the API server keeps that time by the second.
const apart = 1100 * time.Millisecond

// perform does one edit as its user and waits for what must come of it.
func (s *story) perform(ctx context.Context, e edit) error {
	ctx, cancel := context.WithTimeout(ctx, rolloutTime+time.Minute)
	defer cancel()
	before, err := s.replicaSets(ctx)
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(apart):
	}
	say("%s %s.", e.user, e.does)
	client, err := s.as(e.user)
	if err != nil {
		return err
	}
	started := time.Now()
	if err := e.apply(ctx, client, s.namespace); err != nil {
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
	if err := s.rolledOut(ctx); err != nil {
		return err
	}
	after, err := s.replicaSets(ctx)
	if err != nil {
		return err
	}
	return s.report(e, r, len(before), len(after), time.Since(started))
}

func (s *story) nextReload(ctx context.Context) (line.Reload, error) {
	var next line.Reload
	err := line.Poll(ctx, func(ctx context.Context) error {
		reloads, err := s.reroll.Reloads(ctx, s.namespace)
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
	fmt.Fprintf(w, "   who\t%s (%s, %s)\n", s.who(who), who.Verb, who.Basis)
	fmt.Fprintf(w, "   what\t%s %s/%s: %s\n", cause.Config.Kind, cause.Config.Namespace, cause.Config.Name, strings.Join(keys, ", "))
	fmt.Fprintf(w, "   when\t%s\n", cause.RequestedAt.Local().Format("15:04:05.000"))
	fmt.Fprintf(w, "   rolled\t%s %s/%s, %d → %d ReplicaSets, all pods ready\n", r.Workload.Kind, r.Workload.Namespace, r.Workload.Name, before, after)
	fmt.Fprintf(w, "   how long\tseen after %s, patched after %s (quiet window included), pods ready after %s\n",
		round(cause.VerifiedAt.Sub(cause.RequestedAt)), round(r.PatchedAt.Sub(cause.RequestedAt)), round(took))
	if err := w.Flush(); err != nil {
		return err
	}
	if s.who(who) != e.user {
		return fmt.Errorf("the change is said to be by %q, not %s", s.who(who), e.user)
	}
	if after != before+1 {
		return fmt.Errorf("%d new ReplicaSets instead of 1", after-before)
	}
	return nil
}

func round(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

// summarize shows the history and checks that there is nothing else in it.
func (s *story) summarize(ctx context.Context) error {
	reloads, err := s.reroll.Reloads(ctx, s.namespace)
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
	say("GET %s/api/v1/reloads?namespace=%s", s.reroll.API, s.namespace)
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "   TIME\tWHO\tCHANGED\tWORKLOAD\tOUTCOME")
	for _, r := range slices.Backward(reloads) {
		c := r.Causes[0]
		fmt.Fprintf(w, "   %s\t%s\t%s %s\t%s %s\t%s\n", r.PatchedAt.Local().Format("15:04:05"), s.who(c.Candidates[0]),
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

// explain shows why the Deployment is as it is, in the words of the command for that.
func (s *story) explain(ctx context.Context) error {
	binary, err := line.Build(ctx)
	if err != nil {
		return err
	}
	workload := s.namespace + "/Deployment/web"
	var output []byte
	// A roll is recorded as rolled out a little after its pods are ready.
	err = line.Poll(ctx, func(ctx context.Context) (err error) {
		if output, err = exec.CommandContext(ctx, binary, "explain", workload, "--server", s.reroll.API).CombinedOutput(); err != nil {
			return fmt.Errorf("reroll explain: %w: %s", err, output)
		}
		if got := strings.Count(string(output), ": UpToDate"); got != 2 {
			return fmt.Errorf("%d of 2 configs are UpToDate: %s", got, output)
		}
		return nil
	})
	if err != nil {
		return err
	}
	say("reroll explain %s --server %s", workload, s.reroll.API)
	fmt.Fprintf(s.out, "   %s\n", strings.ReplaceAll(strings.TrimSpace(string(output)), "\n", "\n   "))
	return nil
}

// invite names the dashboard, which shows the same, once it has answered.
func (s *story) invite(ctx context.Context) error {
	page := s.reroll.API + "/"
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
	list, err := s.client.AppsV1().ReplicaSets(s.namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=web"})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}
