package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/tests/line"
)

// deploy makes a ConfigMap and a Deployment that follows it, and waits until Reroll knows both.
func deploy(ctx context.Context, t *testing.T, ns string) {
	t.Helper()
	client := shared.Kube.Client()
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}, Data: map[string]string{"a": "1"}}
	labels := map[string]string{"app": "web"}
	web := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: labels, Annotations: map[string]string{"reloader.stakater.com/auto": "true"}},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.org/web", EnvFrom: []corev1.EnvFromSource{{
					ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}},
				}}}}},
			},
		},
	}
	_, err := client.CoreV1().ConfigMaps(ns).Create(ctx, config, metav1.CreateOptions{})
	if err == nil {
		_, err = client.AppsV1().Deployments(ns).Create(ctx, web, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// generation returns how often the spec of the Deployment was written.
func generation(ctx context.Context, t *testing.T, ns string) int64 {
	t.Helper()
	web, err := shared.Kube.Client().AppsV1().Deployments(ns).Get(ctx, "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return web.Generation
}

// do sends a command that must be answered with a code.
func (c caller) do(t *testing.T, path string, body any, want int) map[string]string {
	t.Helper()
	code, answer := c.ask(t, http.MethodPost, path, body)
	if code != want {
		t.Fatalf("POST %s: %d, want %d: %s", path, code, want, answer)
	}
	var said map[string]any
	if err := json.Unmarshal(answer, &said); err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for key, value := range said {
		texts[key] = fmt.Sprint(value)
	}
	return texts
}

// TestCommands has a dispatcher carry out a command of each kind.
func TestCommands(t *testing.T) {
	ctx := t.Context()
	ns := shared.Kube.Namespace(t)
	operator := caller{token: account(ctx, t, ns, "operator")}
	reader := caller{token: account(ctx, t, ns, "reader")}
	grant(ctx, t, "", serviceAccount(ns, "operator"), everyVerb...)
	grant(ctx, t, ns, serviceAccount(ns, "reader"), "get", "list", "watch")
	deploy(ctx, t, ns)
	web, config, cluster := "/api/v1/workloads/local/"+ns+"/Deployment/web", "/api/v1/configs/local/"+ns+"/ConfigMap/settings", "/api/v1/clusters/local"
	judge(t, operator, matrix{web: 200, config: 200, cluster: 200})
	judge(t, reader, matrix{web: 200})
	who := "system:serviceaccount:" + ns + ":operator"

	t.Run("who may read may not act", func(t *testing.T) {
		before := generation(ctx, t, ns)
		reader.do(t, web+"/reload", nil, http.StatusForbidden)
		reader.do(t, web+"/retry", nil, http.StatusForbidden)
		reader.do(t, cluster+"/freeze", nil, http.StatusForbidden)
		reader.do(t, cluster+"/pause", map[string]any{"namespace": ns, "until": time.Now().Add(time.Hour)}, http.StatusForbidden)
		if got := generation(ctx, t, ns); got != before {
			t.Errorf("the Deployment was written: %d, before %d", got, before)
		}
	})
	t.Run("reload", func(t *testing.T) {
		before := generation(ctx, t, ns)
		once := operator
		once.headers = map[string]string{"Idempotency-Key": "one"}
		first := once.do(t, web+"/reload", map[string]string{"reason": "new certificates"}, http.StatusOK)
		again := once.do(t, web+"/reload", nil, http.StatusOK)
		if got := generation(ctx, t, ns); got != before+1 {
			t.Errorf("generation %d, want one more than %d", got, before)
		}
		if first["reloadID"] == "" || first["reloadID"] != again["reloadID"] {
			t.Errorf("answers %v and %v name two reloads", first, again)
		}
		eventually(t, func() error {
			code, answer := operator.ask(t, http.MethodGet, "/api/v1/reloads/"+first["reloadID"], nil)
			var r struct {
				Outcome string
				Request struct{ User, Reason string }
			}
			if code != http.StatusOK {
				return fmt.Errorf("%d %s", code, answer)
			}
			if err := json.Unmarshal(answer, &r); err != nil || r.Outcome != "Reloaded" || r.Request.User != who || r.Request.Reason != "new certificates" {
				return line.Stop(fmt.Errorf("%w: on record: %s", errors.Join(err, errors.New("wrong")), answer))
			}
			return nil
		})
	})
	t.Run("reload from the command line", func(t *testing.T) {
		before := generation(ctx, t, ns)
		if output, err := commandLine(ctx, t, reader, "reload", "local/"+ns+"/Deployment/web"); err == nil || !strings.Contains(output, "may not reload") {
			t.Errorf("who may only read: %v: %s", err, output)
		}
		output, err := commandLine(ctx, t, operator, "reload", "deploy/web", "--namespace", ns, "--reason", "by hand")
		if err != nil || !strings.Contains(output, "local/"+ns+"/Deployment/web: Reloaded, r-") {
			t.Errorf("%v: %s", err, output)
		}
		if got := generation(ctx, t, ns); got != before+1 {
			t.Errorf("generation %d, want one more than %d", got, before)
		}
	})
	t.Run("the command line with a certificate", func(t *testing.T) {
		grant(ctx, t, ns, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "staff-" + ns}, "get", "list")
		alice := caller{pair: clientPair(t, clients, "alice", "staff-"+ns)}
		eventually(t, func() error {
			output, err := commandLine(ctx, t, alice, "workloads", "--namespace", ns)
			if err != nil || !strings.Contains(output, "Deployment/web") {
				return fmt.Errorf("%w: %s", errors.Join(err, errors.New("a member of staff")), output)
			}
			return nil
		})
		if output, err := commandLine(ctx, t, alice, "reload", "local/"+ns+"/Deployment/web"); err == nil || !strings.Contains(output, "may not reload") {
			t.Errorf("who may only read: %v: %s", err, output)
		}
		if output, err := commandLine(ctx, t, caller{}, "workloads", "--namespace", ns); err == nil || !strings.Contains(output, "Say who you are") {
			t.Errorf("nobody: %v: %s", err, output)
		}
	})
	t.Run("retry", func(t *testing.T) {
		operator.do(t, web+"/retry", nil, http.StatusOK)
		operator.do(t, config+"/retry", nil, http.StatusOK)
		control := controlData(ctx, t)
		if control["retry.Deployment."+ns+".web"] == "" || control["retry.ConfigMap."+ns+".settings"] == "" {
			t.Errorf("nothing is to be tried again: %v", control)
		}
	})
	t.Run("pause and resume", func(t *testing.T) {
		pause := map[string]any{"namespace": ns, "selector": "app=web", "until": time.Now().Add(time.Hour), "reason": "sale"}
		operator.do(t, cluster+"/pause", pause, http.StatusOK)
		shows(t, operator, "/api/v1/pauses?namespace="+ns, who, 1)
		operator.do(t, web+"/reload", nil, http.StatusConflict)
		operator.do(t, cluster+"/resume", map[string]any{"namespace": ns, "selector": "app=web"}, http.StatusOK)
		shows(t, operator, "/api/v1/pauses?namespace="+ns, who, 0)
	})
	t.Run("freeze and thaw", func(t *testing.T) {
		operator.do(t, cluster+"/freeze", map[string]any{"reason": "sale"}, http.StatusOK)
		shows(t, operator, "/api/v1/freezes", who, 1)
		operator.do(t, web+"/reload", nil, http.StatusConflict)
		operator.do(t, cluster+"/thaw", nil, http.StatusOK)
		shows(t, operator, "/api/v1/freezes", who, 0)
		operator.do(t, web+"/reload", nil, http.StatusOK)
	})
	t.Run("what is not there", func(t *testing.T) {
		operator.do(t, "/api/v1/workloads/local/"+ns+"/Deployment/none/reload", nil, http.StatusNotFound)
		operator.do(t, "/api/v1/clusters/elsewhere/freeze", nil, http.StatusNotFound)
	})
	held(t, "POST workloads 200", "POST workloads 403", "POST workloads 404", "POST workloads 409",
		"POST configs 200", "POST clusters 200", "POST clusters 403", "POST clusters 404", "GET reloads 200", "GET pauses 200")
}

// commandLine runs a command of the binary as the caller, and returns what it says.
func commandLine(ctx context.Context, t *testing.T, c caller, args ...string) (string, error) {
	t.Helper()
	binary, err := line.Build(ctx)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{"--certificate-authority": serving.CertPEM()}
	if c.pair != nil {
		files["--client-certificate"], files["--client-key"] = c.pair.CertPEM, c.pair.KeyPEM
	}
	args = append(args, "--server", address())
	dir := t.TempDir()
	for flag, content := range files {
		file := filepath.Join(dir, flag[2:])
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, flag, file)
	}
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = append(os.Environ(), "REROLL_TOKEN="+c.token)
	output, err := cmd.CombinedOutput()
	return string(output), err
}

func controlData(ctx context.Context, t *testing.T) map[string]string {
	t.Helper()
	control, err := shared.Kube.Client().CoreV1().ConfigMaps("default").Get(ctx, "reroll-control", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return control.Data
}

// shows waits until a listing has n items, each by who.
func shows(t *testing.T, c caller, path, who string, n int) {
	t.Helper()
	eventually(t, func() error {
		var list struct{ Items []struct{ By string } }
		_, answer := c.ask(t, http.MethodGet, path, nil)
		if err := json.Unmarshal(answer, &list); err != nil || len(list.Items) != n {
			return fmt.Errorf("%v: %s has %d items, want %d: %s", err, path, len(list.Items), n, answer)
		}
		for _, item := range list.Items {
			if item.By != who {
				return line.Stop(fmt.Errorf("by %q, want %q", item.By, who))
			}
		}
		return nil
	})
}
