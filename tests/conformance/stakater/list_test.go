//go:build nightly

package stakater_test

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"testing"

	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// TestListErrorIsNoSuccess: while the API server refuses to list Deployments, Reroll is not ready; a change that was made before is
// rolled as soon as they can be listed.
func TestListErrorIsNoSuccess(t *testing.T) {
	p := withFlags(t, nil)
	w := p.play(t, oneEdit)
	ctx, cancel := context.WithTimeout(t.Context(), 2*startTime)
	defer cancel()
	p.actAs(ctx, t, "unlisted", "testdata/unlisted.yaml")
	if _, err := w.Patch(ctx, "ConfigMap/app", scenario.PatchTypes["merge"], []byte(`{"data":{"a":"3"}}`)); err != nil {
		t.Fatal(err)
	}
	if err := shared.Reroll.Start(p.flags...); err != nil {
		t.Fatal(err)
	}
	awaitRefusals(ctx, t)
	if code, answer, err := shared.Reroll.Probe(ctx, "/readyz"); err != nil || code == http.StatusOK {
		t.Errorf("/readyz while nothing can be listed: %d %q, %v", code, answer, err)
	}
	if got, err := w.Generation(ctx, "Deployment/web"); err != nil || got != 2 {
		t.Errorf("generation %d, %v; want 2", got, err)
	}

	apply(ctx, t, "testdata/listed.yaml")
	if err := shared.Reroll.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	if err := w.Quiesce(ctx); err != nil {
		t.Fatal(err)
	}
	template, err := w.Template(ctx, "Deployment/web")
	if err != nil {
		t.Fatal(err)
	}
	expectVariable(t, "Deployment/web", template, 0, theirName("app", "CONFIGMAP"), scenario.StakaterHash("a=3"))
	if got, err := w.Generation(ctx, "Deployment/web"); err != nil || got != 3 {
		t.Errorf("generation %d, %v; want 3: it was created, rolled for the first edit, and rolled for the second", got, err)
	}
}

// actAs ends the process, and has the next one be a user who may do what a file grants and no more.
func (p *process) actAs(ctx context.Context, t *testing.T, user, grants string) {
	t.Helper()
	apply(ctx, t, grants)
	kubeconfig, err := shared.Kube.UserKubeconfig(user)
	if err != nil {
		t.Fatal(err)
	}
	if err := shared.Reroll.Terminate(ctx); err != nil {
		t.Fatal(err)
	}
	p.flags = append(p.flags, "--kubeconfig", kubeconfig)
}

func apply(ctx context.Context, t *testing.T, file string) {
	t.Helper()
	if output, err := shared.Kube.Kubectl(ctx, "apply", "--filename", file); err != nil {
		t.Fatal(output, err)
	}
	t.Cleanup(func() {
		_, _ = shared.Kube.Kubectl(context.Background(), "delete", "--ignore-not-found", "--filename", file)
	})
}

var refusals = regexp.MustCompile(`(?m)^rest_client_requests_total\{code="403",.*\} [3-9]`)

// awaitRefusals waits until Reroll was refused something, and has tried again.
func awaitRefusals(ctx context.Context, t *testing.T) {
	t.Helper()
	err := line.Poll(ctx, func(ctx context.Context) error {
		text, err := shared.Reroll.Metrics(ctx)
		if err == nil && !refusals.MatchString(text) {
			err = errors.New("no list was refused several times")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
