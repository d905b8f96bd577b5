package dashboard

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/tests/line"
)

// rights are those of an operator, who may do anything with what Reroll knows, and of a reader.
const rights = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: operator, namespace: shop}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: reader, namespace: shop}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: operate}
rules: [{apiGroups: [reroll.dev], resources: ["*"], verbs: ["*"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: read}
rules: [{apiGroups: [reroll.dev], resources: ["*"], verbs: [get, list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: operate}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: operate}
subjects: [{kind: ServiceAccount, name: operator, namespace: shop}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: read}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: read}
subjects: [{kind: ServiceAccount, name: reader, namespace: shop}]
`

// refusal has the API server refuse every roll of cart.
const refusal = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-rolls}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [apps], apiVersions: [v1], resources: [deployments], operations: [UPDATE]}]
  validations: [{expression: "object.spec == oldObject.spec", message: "no rolls today", reason: Invalid}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-rolls}
spec: {policyName: no-rolls, validationActions: [Deny]}
`

const cartPath = "/#/workloads/local/shop/Deployment/cart"

func TestOrdersAreCarriedOutOnARealCluster(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	l, err := line.Start(ctx, line.Options{Flags: []string{"--auth", "token", "--coalesce-window", "100ms"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Stop)
	s := scene{l, startBrowser(t)}
	s.prepare(t, ctx)
	s.apply(t, ctx, rights)

	s.enter(t, ctx, "reader")
	s.b.until(t, asked)
	if n := read[int](t, s.b, "evaluate", params{"script": `document.querySelectorAll('main button[aria-haspopup=dialog]').length`}); n != 0 {
		t.Errorf("a reader is offered %d things to do", n)
	}
	s.enter(t, ctx, "operator")
	s.reload(t, ctx)
	s.pauseAndResume(t, ctx)
	s.freezeAndThaw(t)
	s.retry(t, ctx)
	s.b.accessible(t, "orders")
}

// enter opens the page of cart as an account, and waits until cart has all its baselines.
func (s scene) enter(t *testing.T, ctx context.Context, account string) {
	t.Helper()
	token, err := s.Kube.Kubectl(ctx, "--namespace="+namespace, "create", "token", account)
	if err != nil {
		t.Fatal(err)
	}
	s.b.openFailing(t, s.Reroll.API+cartPath, "light", desk)
	s.b.do(t, "fill", params{"selector": "#token", "text": strings.TrimSpace(string(token))})
	s.b.press(t, "Enter")
	s.b.do(t, "wait", params{"selector": `tr:has-text("settings"):has(.badge)`, "seconds": away})
	s.b.do(t, "wait", params{"selector": `tr:has-text("password"):has(.badge)`, "seconds": away})
}

// goTo shows another view of the page, which keeps its token.
func (s scene) goTo(t *testing.T, path string) {
	t.Helper()
	s.b.do(t, "goto", params{"url": s.Reroll.API + path})
}

// order presses a button, and says yes.
func (s scene) order(t *testing.T, label string) {
	t.Helper()
	s.b.do(t, "wait", params{"selector": button(label), "seconds": away})
	s.b.click(t, button(label))
	s.b.click(t, "dialog button.main")
}

func (s scene) generation(t *testing.T, ctx context.Context) string {
	t.Helper()
	output, err := s.Kube.Kubectl(ctx, "--namespace="+namespace, "get", "deployment", "cart", "--output=jsonpath={.metadata.generation}")
	if err != nil {
		t.Fatal(err)
	}
	return string(output)
}

func (s scene) reload(t *testing.T, ctx context.Context) {
	t.Helper()
	before := s.generation(t, ctx)
	s.b.do(t, "wait", params{"selector": button("Reload now")})
	s.b.click(t, button("Reload now"))
	s.b.do(t, "fill", params{"selector": "dialog input", "text": "new certificates"})
	s.b.press(t, "Enter")
	s.b.gone(t, "dialog")
	s.b.wait(t, `.note:has-text("cart was reloaded.")`)
	s.b.wait(t, `.history li:has-text("shop/operator"):has-text("new certificates") .badge`)
	s.b.shoot(t, "orders-live")
	if after := s.generation(t, ctx); after == before {
		t.Errorf("the Deployment's generation is still %s", after)
	}
}

func (s scene) pauseAndResume(t *testing.T, ctx context.Context) {
	t.Helper()
	s.order(t, "Pause shop…")
	s.b.gone(t, "dialog")
	before := s.generation(t, ctx)
	s.order(t, "Reload now")
	s.b.wait(t, `dialog [role=alert]:has-text("paused")`)
	s.b.press(t, "Escape")
	if after := s.generation(t, ctx); after != before {
		t.Errorf("a paused Deployment was rolled: generation %s, before %s", after, before)
	}
	s.goTo(t, "/#/held")
	s.b.wait(t, `.box:has-text("Namespace shop"):has-text("put on by shop/operator")`)
	s.order(t, "Resume")
	s.b.gone(t, `.box:has-text("Namespace shop")`)
}

func (s scene) freezeAndThaw(t *testing.T) {
	t.Helper()
	s.goTo(t, "/#/clusters")
	s.order(t, "Freeze…")
	s.b.wait(t, `.card .badge:has-text("Frozen")`)
	s.order(t, "Thaw")
	s.b.wait(t, button("Freeze…"))
	s.b.gone(t, `.card .badge:has-text("Frozen")`)
}

// retry has a roll refused for good, and then tried again once it would be accepted.
func (s scene) retry(t *testing.T, ctx context.Context) {
	t.Helper()
	s.apply(t, ctx, refusal)
	err := line.Poll(ctx, func(ctx context.Context) error {
		if _, err := s.Kube.Kubectl(ctx, "--namespace="+namespace, "patch", "deployment", "cart", "--dry-run=server", "--type=merge", "-p", `{"spec":{"minReadySeconds":1}}`); err == nil {
			return errors.New("rolls are not refused yet")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s.edit(t, ctx, "alice@example.com", `{"data":{"GREETING":"good night"}}`)
	s.goTo(t, cartPath)
	s.b.do(t, "wait", params{"selector": `.box.bad:has-text("no rolls today")`, "seconds": away})
	s.b.shoot(t, "orders-dead")
	if _, err := s.Kube.Kubectl(ctx, "delete", "validatingadmissionpolicybinding,validatingadmissionpolicy", "no-rolls"); err != nil {
		t.Fatal(err)
	}
	// The API server goes on refusing for a moment.
	for range 5 {
		s.order(t, "Try again")
		s.b.gone(t, "dialog")
		if _, err := s.b.Do("wait", params{"selector": `.history li:has-text("alice@example.com") .badge.good`}); err == nil {
			return
		}
	}
	t.Error("the roll was not tried again")
}
