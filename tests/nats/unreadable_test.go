package nats

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/natsserver"
)

const (
	// unreadable is how many Deployments there are whose Secret Reroll may not read, and rounds how often they and others are edited.
	unreadable, rounds = 5, 3
	// restricted is the user that the dispatcher is.
	restricted = "reroll-without-some-secrets"
	// promptly is how long a roll may take while other configs cannot be read: less than it takes until those are read again.
	promptly = 30 * time.Second
)

// TestUnreadableConfigsHoldNoHints takes the right to read the Secrets of one namespace from the dispatcher, edits them again and again, and has more
// hints come than the stream has room for. The consumer goes on past the hints of those Secrets, so that handled hints make room and ingest
// refuses nothing; workloads of another namespace roll meanwhile. With the right given back, each workload rolls once for what it missed.
func TestUnreadableConfigsHoldNoHints(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*lineTime)
	defer cancel()
	s := natsserver.Start(t)
	// A quarter of it is for hints. Who starts with streams of others leaves them as small as they are.
	if out, err := reroll(t, "nats", "setup", "--nats-url", s.ClientURL(), "--cluster", line.ClusterName, "--nats-store-size=2Mi"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	bind := []string{"--nats-bind-only"}
	l, err := line.StartRoles(ctx, line.Options{
		Kube:      kube.Options{ControlPlaneOnly: true, Audit: &kube.Audit{InitialBackoff: time.Second}},
		Flags:     []string{"--coalesce-window", "200ms"},
		RoleFlags: map[string][]string{"ingest": bind, "dispatch": bind, "api": bind},
	}, s.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Stop)
	u := newUnread(ctx, t, l, s.ClientURL())
	u.restrict()
	createApp(ctx, t, l, u.open)
	u.createSecrets()

	u.forbid()
	u.editSecrets(4) // more often than the stream lends a hint for which a look fails
	first := u.hints().State.LastSeq
	for n := 1; n <= rounds; n++ {
		u.editSecrets(1)
		rolled, cancel := context.WithTimeout(ctx, promptly)
		edit(ctx, t, l, u.open, n)
		waitReloads(rolled, t, l, u.open, n)
		cancel()
		u.fillHalf()
		drained, cancel := context.WithTimeout(ctx, lineTime)
		wait(drained, t, l, func(context.Context) error { return u.goesOn(first) })
		cancel()
		first = u.hints().State.LastSeq
	}
	if n, err := refusals(ctx, l.Ingest); err != nil || n != 0 {
		t.Errorf("ingest has refused %d requests: %v", n, err)
	}
	if rolls := u.rolls(); rolls != 0 {
		t.Errorf("%d rolls for Secrets that cannot be read", rolls)
	}

	u.allow()
	wait(ctx, t, l, func(context.Context) error {
		if rolls := u.rolls(); rolls != unreadable {
			return fmt.Errorf("%d rolls of %d workloads that missed something", rolls, unreadable)
		}
		return nil
	})
	edit(ctx, t, l, u.open, rounds+1)
	waitReloads(ctx, t, l, u.open, rounds+1)
	if rolls := u.rolls(); rolls != unreadable {
		t.Errorf("%d rolls of %d workloads; each had to roll once", rolls, unreadable)
	}
}

// unread is a line of which the dispatcher may be forbidden to read the Secrets of the namespace closed.
type unread struct {
	ctx          context.Context
	t            *testing.T
	line         *line.Line
	client       kubernetes.Interface
	stream       jetstream.Stream
	open, closed string
	// noise counts the configs that nobody uses.
	noise int
}

func newUnread(ctx context.Context, t *testing.T, l *line.Line, url string) *unread {
	t.Helper()
	u := &unread{ctx: ctx, t: t, line: l, client: l.Kube.Client(), open: l.Kube.Namespace(t), closed: l.Kube.Namespace(t)}
	nc, err := nats.Connect(url)
	u.must(err)
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	u.must(err)
	u.stream, err = js.Stream(ctx, "HINTS")
	u.must(err)
	return u
}

func (u *unread) must(err error) {
	u.t.Helper()
	if err != nil {
		u.t.Fatalf("%v%s", err, logs(u.line))
	}
}

// restrict starts the dispatcher again as a user who may do everything but use Secrets, which it may in three namespaces.
func (u *unread) restrict() {
	u.t.Helper()
	rbac := u.client.RbacV1()
	all := func(group string, resources ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: []string{"*"}}
	}
	for name, rules := range map[string][]rbacv1.PolicyRule{
		restricted: {
			all("", "configmaps", "pods", "events", "namespaces"), all("apps", "*"), all("batch", "*"), all("events.k8s.io", "*"),
			all("coordination.k8s.io", "*"), all("authorization.k8s.io", "*"), all("authentication.k8s.io", "*"), all("apiextensions.k8s.io", "*"),
		},
		restricted + "-secrets": {all("", "secrets")},
	} {
		_, err := rbac.ClusterRoles().Create(u.ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}, metav1.CreateOptions{})
		u.must(err)
	}
	_, err := rbac.ClusterRoleBindings().Create(u.ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: restricted}, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: restricted},
	}, metav1.CreateOptions{})
	u.must(err)
	for _, ns := range []string{metav1.NamespaceDefault, u.open, u.closed} {
		u.bind(ns)
	}
	kubeconfig, err := u.line.Kube.UserKubeconfig(restricted)
	u.must(err)
	u.must(u.line.Dispatch.Terminate(u.ctx))
	u.must(u.line.Dispatch.Start("--kubeconfig", kubeconfig))
	u.must(u.line.Dispatch.WaitReady(u.ctx))
}

var subjects = []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: restricted}}

// bind lets the dispatcher use the Secrets of a namespace.
func (u *unread) bind(ns string) {
	u.t.Helper()
	_, err := u.client.RbacV1().RoleBindings(ns).Create(u.ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: restricted}, Subjects: subjects,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: restricted + "-secrets"},
	}, metav1.CreateOptions{})
	u.must(err)
}

func (u *unread) allow() { u.bind(u.closed) }

// forbid takes the right to read the Secrets of the closed namespace, and waits until that holds.
func (u *unread) forbid() {
	u.t.Helper()
	u.must(u.client.RbacV1().RoleBindings(u.closed).Delete(u.ctx, restricted, metav1.DeleteOptions{}))
	config, err := u.line.Kube.User(restricted)
	u.must(err)
	dispatcher, err := kubernetes.NewForConfig(config)
	u.must(err)
	u.must(line.Poll(u.ctx, func(ctx context.Context) error {
		_, err := dispatcher.CoreV1().Secrets(u.closed).Get(ctx, secretName(0), metav1.GetOptions{})
		if apierrors.IsForbidden(err) {
			return nil
		}
		return fmt.Errorf("the dispatcher may still read: %w", err)
	}))
}

func secretName(n int) string { return fmt.Sprintf("secret-%d", n) }

// createSecrets creates Deployments of the closed namespace with a Secret each, and waits until Reroll knows them.
func (u *unread) createSecrets() {
	u.t.Helper()
	for n := range unreadable {
		name := secretName(n)
		_, err := u.client.CoreV1().Secrets(u.closed).Create(u.ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: map[string]string{"k": "0"},
		}, metav1.CreateOptions{})
		u.must(err)
		labels := map[string]string{"app": name}
		_, err = u.client.AppsV1().Deployments(u.closed).Create(u.ctx, &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"reloader.stakater.com/auto": "true"}},
			Spec: appsv1.DeploymentSpec{
				Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: labels},
					Spec: corev1.PodSpec{Containers: []corev1.Container{{
						Name: "main", Image: "registry.k8s.io/pause:3.10",
						EnvFrom: []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}}},
					}}},
				},
			},
		}, metav1.CreateOptions{})
		u.must(err)
	}
	for n := range unreadable {
		wait(u.ctx, u.t, u.line, func(ctx context.Context) error {
			known, err := u.line.Reroll.Baselines(ctx, u.closed, secretName(n))
			if err == nil && known != 1 {
				err = fmt.Errorf("%d baselines", known)
			}
			return err
		})
	}
}

// editSecrets edits each Secret of the closed namespace some times. Each edit is on its way before the next: the stream has one hint more.
func (u *unread) editSecrets(times int) {
	u.t.Helper()
	for range times {
		before := u.hints().State.LastSeq
		for n := range unreadable {
			patch := fmt.Appendf(nil, `{"stringData":{"k":"%d"}}`, before)
			_, err := u.client.CoreV1().Secrets(u.closed).Patch(u.ctx, secretName(n), types.MergePatchType, patch, metav1.PatchOptions{})
			u.must(err)
		}
		u.must(line.Poll(u.ctx, func(context.Context) error {
			if is := u.hints().State.LastSeq; is < before+unreadable {
				return fmt.Errorf("%d hints are stored, want %d", is, before+unreadable)
			}
			return nil
		}))
	}
}

func (u *unread) hints() *jetstream.StreamInfo {
	u.t.Helper()
	is, err := u.stream.Info(u.ctx)
	u.must(err)
	return is
}

// fillHalf creates ConfigMaps that nobody uses, until hints take more than half of their room: from then on handled ones are to go.
func (u *unread) fillHalf() {
	u.t.Helper()
	for is := u.hints(); is.State.Bytes <= uint64(is.Config.MaxBytes)/2; is = u.hints() {
		var all errgroup.Group
		all.SetLimit(8)
		for range 40 {
			u.noise++
			cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("noise-%d", u.noise)}}
			all.Go(func() error {
				_, err := u.client.CoreV1().ConfigMaps(u.open).Create(u.ctx, cm, metav1.CreateOptions{})
				return err
			})
		}
		u.must(all.Wait())
	}
}

// goesOn returns nil if all hints up to a sequence are acknowledged, few wait, and handled ones have made room.
func (u *unread) goesOn(sequence uint64) error {
	c, err := u.stream.Consumer(u.ctx, "dispatch-"+line.ClusterName)
	if err != nil {
		return err
	}
	is, hints := c.CachedInfo(), u.hints()
	if floor := is.AckFloor.Stream; floor < sequence {
		return fmt.Errorf("hints up to %d are acknowledged, want %d; %d on loan, %d pending", floor, sequence, is.NumAckPending, is.NumPending)
	}
	if open := is.NumAckPending + int(is.NumPending); open > 3*unreadable {
		return fmt.Errorf("%d hints are not done", open)
	}
	if hints.State.Bytes > uint64(hints.Config.MaxBytes)/2 {
		return errors.New("handled hints have not made room yet")
	}
	return nil
}

// rolls returns how often Deployments of the closed namespace have rolled, all together.
func (u *unread) rolls() (rolls int64) {
	u.t.Helper()
	all, err := u.client.AppsV1().Deployments(u.closed).List(u.ctx, metav1.ListOptions{})
	u.must(err)
	for _, d := range all.Items {
		rolls += d.Generation - 1
	}
	return rolls
}
