//go:build nightly

package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// whole is a cluster that the tests here share, each in its own namespace.
var whole *Cluster

func TestMain(m *testing.M) {
	if dir := os.Getenv(orphanDir); dir != "" {
		startOrphan(dir)
		return
	}
	var err error
	if whole, err = Start(context.Background(), Options{Nodes: 2}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	whole.Stop()
	os.Exit(code)
}

// orphanDir is set, to a directory for logs, in the process that TestProgramsDieWithTheirParent kills.
const orphanDir = "REROLL_TEST_ORPHAN"

// startOrphan starts a program, prints its number, and waits to be killed.
func startOrphan(dir string) {
	p, err := startProcess("sleep", "sleep", []string{"600"}, dir)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(p.command.Process.Pid)
	<-p.done
}

// testContext ends before the test binary's own limit would hide what was waited for.
func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func deployment(name string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					InitContainers: []corev1.Container{{Name: "first", Image: "example.org/first"}},
					Containers:     []corev1.Container{{Name: "main", Image: "example.org/main"}},
				},
			},
		},
	}
}

func TestDeploymentRolls(t *testing.T) {
	t.Parallel()
	ctx, ns := testContext(t), whole.Namespace(t)
	if _, err := whole.Client().AppsV1().Deployments(ns).Create(ctx, deployment("web", 3), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	first := rolledOut(t, ctx, ns)
	if _, err := whole.Kubectl(ctx, "--namespace="+ns, "set", "env", "deployment/web", "COLOR=green"); err != nil {
		t.Fatal(err)
	}
	for name := range rolledOut(t, ctx, ns) {
		if first[name] {
			t.Errorf("pod %s is still there after a new template was rolled out", name)
		}
	}
}

// rolledOut waits for the Deployment web of three pods and returns the names of those that are not on their way out.
func rolledOut(t *testing.T, ctx context.Context, ns string) map[string]bool {
	t.Helper()
	if err := whole.WaitRollout(ctx, ns, "deployment", "web"); err != nil {
		t.Fatal(err)
	}
	pods, err := whole.Client().CoreV1().Pods(ns).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, pod := range pods.Items {
		if pod.DeletionTimestamp != nil {
			continue
		}
		names[pod.Name] = true
		if pod.Spec.NodeName == "" || pod.Status.PodIP == "" || pod.Status.ContainerStatuses[0].State.Running == nil {
			t.Errorf("pod %s does not look as if it ran: %+v", pod.Name, pod.Status)
		}
	}
	if len(names) != 3 {
		t.Fatalf("%d pods after the rollout, want 3", len(names))
	}
	return names
}

func TestJobSucceeds(t *testing.T) {
	t.Parallel()
	ctx, ns := testContext(t), whole.Namespace(t)
	if _, err := whole.Kubectl(ctx, "--namespace="+ns, "create", "job", "once", "--image=example.org/once"); err != nil {
		t.Fatal(err)
	}
	if _, err := whole.Kubectl(ctx, "--namespace="+ns, "wait", "--for=condition=Complete", "job/once"); err != nil {
		t.Fatal(err)
	}
}

func TestUserMayDoWhatRBACSays(t *testing.T) {
	t.Parallel()
	ctx, ns := testContext(t), whole.Namespace(t)
	config, err := whole.User("jane", "readers")
	if err != nil {
		t.Fatal(err)
	}
	jane := kubernetes.NewForConfigOrDie(config)
	if _, err := jane.CoreV1().ConfigMaps(ns).List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Fatalf("before a role is bound: %v, want Forbidden", err)
	}
	if _, err := whole.Kubectl(ctx, "--namespace="+ns, "create", "rolebinding", "readers", "--clusterrole=view", "--group=readers"); err != nil {
		t.Fatal(err)
	}
	err = await(ctx, whole.process(APIServer), func(ctx context.Context) error {
		_, err := jane.CoreV1().ConfigMaps(ns).List(ctx, metav1.ListOptions{})
		return err
	})
	if err != nil {
		t.Fatalf("after a role is bound: %v", err)
	}
}

func TestServiceAccountTokens(t *testing.T) {
	t.Parallel()
	ctx, ns := testContext(t), whole.Namespace(t)
	token, err := whole.Kubectl(ctx, "--namespace="+ns, "create", "token", "default")
	if err != nil {
		t.Fatal(err)
	}
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: strings.TrimSpace(token)}}
	review, err = whole.Client().AuthenticationV1().TokenReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := review.Status.User.Username, "system:serviceaccount:"+ns+":default"; got != want {
		t.Errorf("the token is %q's, want %q", got, want)
	}
}

func TestUserKubeconfig(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	file, err := whole.UserKubeconfig("joe", "team")
	if err != nil {
		t.Fatal(err)
	}
	output, err := whole.Kubectl(ctx, "--kubeconfig="+file, "auth", "whoami", "--output=jsonpath={.status.userInfo.username} {.status.userInfo.groups}")
	if err != nil {
		t.Fatal(err)
	}
	if want := `joe ["team","system:authenticated"]`; output != want {
		t.Errorf("whoami says %q, want %q", output, want)
	}
}

// Two control planes beside the shared cluster: objects of one are not in another, and a restart keeps the port and the objects.
func TestSideBySideAndRestart(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	one, two := startControlPlane(t, nil), startControlPlane(t, nil)
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}, Data: map[string]string{"color": "red"}}
	if _, err := one.Client().CoreV1().ConfigMaps("default").Create(ctx, configMap, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := two.Client().CoreV1().ConfigMaps("default").Get(ctx, "settings", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the other cluster answers %v, want NotFound", err)
	}
	watch, err := one.Client().CoreV1().ConfigMaps("default").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	// A watch must not hold it up until its own limit of a minute.
	soon, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if err := one.StopAPIServer(soon); err != nil {
		t.Fatal(err)
	}
	address := strings.TrimPrefix(one.RESTConfig().Host, "https://")
	if connection, err := net.Dial("tcp", address); err == nil {
		_ = connection.Close()
		t.Errorf("something listens at %s while the API server is stopped", address)
	}
	if err := one.StartAPIServer(ctx); err != nil {
		t.Fatal(err)
	}
	got, err := one.Client().CoreV1().ConfigMaps("default").Get(ctx, "settings", metav1.GetOptions{})
	if err != nil {
		t.Fatalf("after the restart: %v", err)
	}
	if got.Data["color"] != "red" {
		t.Errorf("after the restart the ConfigMap holds %v", got.Data)
	}
	if err := one.StartAPIServer(ctx); err == nil {
		t.Error("the API server was started twice")
	}
}

func startControlPlane(t *testing.T, audit *Audit) *Cluster {
	t.Helper()
	c, err := Start(t.Context(), Options{ControlPlaneOnly: true, Audit: audit})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	return c
}

func TestStopLeavesNothing(t *testing.T) {
	t.Parallel()
	c := startControlPlane(t, nil)
	c.Stop()
	for part, p := range c.processes {
		if p.exited() == nil {
			t.Errorf("%s still runs", part)
		}
	}
	if _, err := os.Stat(c.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its directory is still there: %v", err)
	}
}

func TestFailedStartShowsTheLog(t *testing.T) {
	t.Parallel()
	_, err := Start(t.Context(), Options{ControlPlaneOnly: true, Progress: io.Discard, APIServerFlags: []string{"--authorization-mode=Nonsense"}})
	if err == nil {
		t.Fatal("a cluster started with a flag that is wrong")
	}
	for _, want := range []string{"kube-apiserver", "Nonsense"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
}
