package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// room is one test's namespace on a line.
type room struct {
	t      *testing.T
	ctx    context.Context
	line   *line.Line
	client kubernetes.Interface
	ns     string
	// probes counts the edits of the sentinel.
	probes int
}

// testTime bounds a whole test; what it waits for has minutes of its own.
const testTime = 20 * time.Minute

// ownLine starts a line for one test, which may stop and break it. On a shared control plane one Reroll runs at a time: that of the others rests
// meanwhile.
func ownLine(t *testing.T, o line.Options) *line.Line {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTime)
	defer cancel()
	if kube.SharedDir() != "" {
		pauseShared(t)
	}
	o.Kube.ControlPlaneOnly = true
	l, err := line.Start(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Stop)
	return l
}

// pauseShared ends the Reroll of the shared line until the test is done.
func pauseShared(t *testing.T) {
	t.Helper()
	if err := shared.Reroll.Terminate(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := shared.Reroll.Start(); err != nil {
			t.Fatal(err)
		}
		if err := shared.Reroll.WaitReady(context.Background()); err != nil {
			t.Fatal(err)
		}
	})
}

func newRoom(t *testing.T, l *line.Line) *room {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTime)
	t.Cleanup(cancel)
	r := &room{t: t, ctx: ctx, line: l, client: l.Kube.Client(), ns: l.Kube.Namespace(t)}
	r.create(configMap("sentinel", map[string]string{"probe": "0"}))
	r.create(deployment("sentinel", usesEnvFrom("sentinel")))
	r.waitBaseline("sentinel", 1)
	return r
}

func (r *room) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatalf("%v\nreroll's log:\n%s", err, tail(r.line.Reroll.Log()))
	}
}

func tail(log string) string { return log[max(0, len(log)-4000):] }

// create creates a ConfigMap, Secret or Deployment in the room.
func (r *room) create(obj any) {
	r.t.Helper()
	var err error
	switch o := obj.(type) {
	case *corev1.ConfigMap:
		_, err = r.client.CoreV1().ConfigMaps(r.ns).Create(r.ctx, o, metav1.CreateOptions{})
	case *corev1.Secret:
		_, err = r.client.CoreV1().Secrets(r.ns).Create(r.ctx, o, metav1.CreateOptions{})
	case *appsv1.Deployment:
		_, err = r.client.AppsV1().Deployments(r.ns).Create(r.ctx, o, metav1.CreateOptions{})
	default:
		err = fmt.Errorf("cannot create a %T", obj)
	}
	r.must(err)
}

// annotate gives a Deployment an annotation.
func (r *room) annotate(name, key, value string) {
	r.t.Helper()
	_, err := r.client.AppsV1().Deployments(r.ns).Patch(r.ctx, name, types.MergePatchType,
		fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, key, value), metav1.PatchOptions{})
	r.must(err)
}

// setData updates one key of a ConfigMap as any client would.
func (r *room) setData(name, key, value string) {
	r.t.Helper()
	cm, err := r.client.CoreV1().ConfigMaps(r.ns).Get(r.ctx, name, metav1.GetOptions{})
	r.must(err)
	if cm.Data == nil {
		cm.Data = map[string]string{}
	}
	cm.Data[key] = value
	_, err = r.client.CoreV1().ConfigMaps(r.ns).Update(r.ctx, cm, metav1.UpdateOptions{})
	r.must(err)
}

// rolls returns how often the template of a Deployment of ours was changed: nobody but Reroll writes its spec.
func (r *room) rolls(name string) int64 {
	r.t.Helper()
	d, err := r.client.AppsV1().Deployments(r.ns).Get(r.ctx, name, metav1.GetOptions{})
	r.must(err)
	return d.Generation - 1
}

// waitRolls waits until a Deployment has rolled at least n times.
func (r *room) waitRolls(name string, n int64) {
	r.t.Helper()
	r.must(line.Poll(r.ctx, func(context.Context) error {
		if got := r.rolls(name); got < n {
			return fmt.Errorf("%s rolled %d times, not %d", name, got, n)
		}
		return nil
	}))
}

// quiesce waits until everything that was caused so far has happened: a later edit of the sentinel has rolled its workload.
func (r *room) quiesce() {
	r.t.Helper()
	for range 2 { // hints are verified in parallel: the second round began after the first was done
		before := r.rolls("sentinel")
		r.probes++
		r.setData("sentinel", "probe", fmt.Sprint(r.probes))
		r.waitRolls("sentinel", before+1)
	}
}

// expectRolls checks that a Deployment has rolled exactly n times, now that all is quiet.
func (r *room) expectRolls(name string, n int64) {
	r.t.Helper()
	r.waitRolls(name, n)
	r.quiesce()
	if got := r.rolls(name); got != n {
		r.t.Fatalf("%s rolled %d times, not %d\nreroll's log:\n%s", name, got, n, tail(r.line.Reroll.Log()))
	}
}

// waitBaseline waits until Reroll knows n configs of a Deployment.
func (r *room) waitBaseline(name string, n int) {
	r.t.Helper()
	r.must(line.Poll(r.ctx, func(ctx context.Context) error {
		got, err := r.line.Reroll.Baselines(ctx, r.ns, name)
		if err != nil {
			return err
		}
		if got != n {
			return fmt.Errorf("%s has %d baselines, not %d", name, got, n)
		}
		return nil
	}))
}

func configMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}
}

func secret(name string, data map[string]string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: data}
}

// deployment returns a Deployment that asks for reloads of all it uses.
func deployment(name string, uses ...func(*corev1.PodSpec)) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"reloader.stakater.com/auto": "true"}},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/main"}}},
			},
		},
	}
	for _, use := range uses {
		use(&d.Spec.Template.Spec)
	}
	return d
}

func usesEnvFrom(configMap string) func(*corev1.PodSpec) {
	return func(p *corev1.PodSpec) {
		p.Containers[0].EnvFrom = append(p.Containers[0].EnvFrom, corev1.EnvFromSource{
			ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: configMap}},
		})
	}
}

func usesSecretVolume(secret string) func(*corev1.PodSpec) {
	return func(p *corev1.PodSpec) {
		volume := "volume-" + fmt.Sprint(len(p.Volumes))
		p.Volumes = append(p.Volumes, corev1.Volume{
			Name: volume, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secret}},
		})
		p.Containers[0].VolumeMounts = append(p.Containers[0].VolumeMounts, corev1.VolumeMount{Name: volume, MountPath: "/etc/" + secret})
	}
}

// restart starts Reroll again and waits until it is ready.
func (r *room) restart() {
	r.t.Helper()
	r.must(r.line.Reroll.Start())
	r.must(r.line.Reroll.WaitReady(r.ctx))
}

// as returns a client of a user who may do everything.
func (r *room) as(user string) kubernetes.Interface {
	r.t.Helper()
	config := r.line.Kube.RESTConfig()
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:masters"}}
	client, err := kubernetes.NewForConfig(config)
	r.must(err)
	return client
}

// waitMetric waits until the sample that begins with series has another value than from.
func (r *room) waitMetric(role *line.Reroll, series, from string) {
	r.t.Helper()
	r.must(line.Poll(r.ctx, func(ctx context.Context) error {
		metrics, err := role.Metrics(ctx)
		if err != nil {
			return err
		}
		_, rest, found := strings.Cut(metrics, "\n"+series)
		if value, _, _ := strings.Cut(rest, "\n"); !found || value == from {
			return fmt.Errorf("%sis %q", series, value)
		}
		return nil
	}))
}
