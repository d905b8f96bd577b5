package dashboard

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/line"
)

const (
	namespace = "shop"
	// patience bounds the whole test, and away what a restart and the catching up after it may take.
	patience = 3 * time.Minute
	away     = 90
)

const manifests = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop}
data: {GREETING: hello, COLOR: green}
---
apiVersion: v1
kind: Secret
metadata: {name: password, namespace: shop}
stringData: {password: not-to-be-seen-anywhere}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: cart, namespace: shop, annotations: {reloader.stakater.com/auto: "true"}}
spec:
  replicas: 1
  selector: {matchLabels: {app: cart}}
  template:
    metadata: {labels: {app: cart}}
    spec:
      containers:
      - name: cart
        image: example.com/cart
        envFrom: [{configMapRef: {name: settings}}]
        env: [{name: PASSWORD, valueFrom: {secretKeyRef: {name: password, key: password}}}]
`

// scene is a real cluster with a real reroll, and a page that looks at it.
type scene struct {
	*line.Line
	b *browser
}

func TestEditsAppearLiveOnARealCluster(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	l, err := line.Start(ctx, line.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Stop)
	s := scene{l, startBrowser(t)}
	s.b.open(t, l.Reroll.API+"/", "light", desk)
	s.b.wait(t, "[data-link=live]")
	s.b.wait(t, `.blank >> text="Nothing has changed yet"`)

	s.prepare(t, ctx)
	s.baselines(t, ctx)
	s.edit(t, ctx, "alice@example.com", `{"data":{"GREETING":"good morning"}}`)
	s.b.wait(t, `[data-row]:has-text("alice@example.com"):has-text("settings"):has-text("~GREETING"):has-text("cart") .badge.good`)
	s.b.shoot(t, "live")
	s.views(t)

	s.restart(t, ctx)
	s.edit(t, ctx, "carol@example.com", `{"data":{"COLOR":"red"}}`)
	s.b.wait(t, `[data-row]:has-text("carol@example.com"):has-text("~COLOR") .badge.good`)
	s.b.do(t, "wait", params{"selector": `[data-row]:has-text("alice@example.com")`})
	s.b.accessible(t, "live")
	s.b.faultless(t)
}

// prepare makes people and a Deployment that follows two configs.
func (s scene) prepare(t *testing.T, ctx context.Context) {
	t.Helper()
	for _, args := range [][]string{
		{"create", "namespace", namespace},
		{"create", "clusterrolebinding", "editors", "--clusterrole=edit", "--user=alice@example.com", "--user=bob@example.com", "--user=carol@example.com"},
	} {
		if _, err := s.Kube.Kubectl(ctx, args...); err != nil {
			t.Fatal(err)
		}
	}
	s.apply(t, ctx, manifests)
	if err := s.Kube.WaitRollout(ctx, namespace, "deployment", "cart"); err != nil {
		t.Fatal(err)
	}
}

func (s scene) apply(t *testing.T, ctx context.Context, manifests string) {
	t.Helper()
	cmd := s.Kube.Command(ctx, "apply", "-f", "-")
	cmd.Stdin = strings.NewReader(manifests)
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("apply: %v: %s", err, output)
	}
}

// baselines waits until both configs have a baseline.
func (s scene) baselines(t *testing.T, ctx context.Context) {
	t.Helper()
	err := line.Poll(ctx, func(ctx context.Context) error {
		n, err := s.Reroll.Baselines(ctx, namespace, "cart")
		if err == nil && n != 2 {
			err = fmt.Errorf("%d of 2 configs have a baseline", n)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// edit patches the ConfigMap as a user.
func (s scene) edit(t *testing.T, ctx context.Context, user, patch string) {
	t.Helper()
	if _, err := s.Kube.Kubectl(ctx, "--namespace="+namespace, "--as="+user, "patch", "configmap", "settings", "--type=merge", "-p", patch); err != nil {
		t.Fatal(err)
	}
}

// views looks at every view of the real thing, on a page that then goes back to the timeline.
func (s scene) views(t *testing.T) {
	t.Helper()
	for _, view := range []struct{ path, has string }{
		{"#/workloads", `[data-row]:has-text("cart"):has-text("2 configs")`},
		{"#/workloads/local/shop/Deployment/cart", `.steps >> text=reloader.stakater.com/auto`},
		{"#/workloads/local/shop/Deployment/cart", `.history >> text=alice@example.com`},
		{"#/workloads/local/shop/Deployment/cart", `tr:has-text("password"):has-text("env in cart")`},
		{"#/impact", `.canvas .node >> text=settings`},
		{"#/impact/local/shop/ConfigMap/settings", `text=1 workload would roll`},
		{"#/held", `.blank >> text="Nothing is held back"`},
		{"#/clusters", `.card:has-text("local")`},
		{"#/charts", `.chart .fill.good`},
	} {
		s.b.do(t, "goto", params{"url": s.Reroll.API + "/" + view.path})
		s.b.wait(t, view.has)
		if text := read[string](t, s.b, "text", params{"selector": "body"}); strings.Contains(text, "not-to-be-seen") {
			t.Errorf("%s shows content", view.path)
		}
	}
	s.b.do(t, "goto", params{"url": s.Reroll.API + "/#/"})
	s.b.wait(t, "[data-row]")
}

// restart kills the server, edits meanwhile, and starts it again: the page says that it is away, keeps what it has, and goes on by
// itself.
func (s scene) restart(t *testing.T, ctx context.Context) {
	t.Helper()
	s.b.do(t, "away", params{"is": true})
	s.Reroll.Kill()
	s.b.wait(t, "[data-link=lost]")
	s.b.wait(t, `.banner >> text=The server cannot be reached`)
	s.b.wait(t, `[data-row]:has-text("alice@example.com")`)
	s.b.accessible(t, "disconnected")
	s.b.shoot(t, "state-disconnected")
	s.edit(t, ctx, "bob@example.com", `{"data":{"GREETING":"good evening"}}`)
	if err := s.Reroll.Start(); err != nil {
		t.Fatal(err)
	}
	if err := s.Reroll.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	s.b.do(t, "wait", params{"selector": "[data-link=live]", "seconds": away})
	s.b.gone(t, ".banner")
	s.b.do(t, "until", params{"seconds": away, "script": `document.querySelectorAll('[data-row] .badge.good').length >= 2`})
	s.b.do(t, "away", params{"is": false})
}
