//go:build nightly

package chart_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	rig "github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/natsserver"
)

// TestHubWorksWithItsRights runs a cluster of a fleet and its hub with the arguments that the chart gives them, each under its own account, and
// with the accounts in NATS that the program prints. What rolls in the cluster is told by the hub, to whom the API server believes and api.rights lets.
func TestHubWorksWithItsRights(t *testing.T) {
	cluster := startRig(t)
	optIn(t, cluster)
	url := natsserver.StartHub(t, []string{"c1"}).ClientURL()
	bind(t, cluster, "fleet-member")
	bind(t, cluster, "hub")
	member := newReleased(t, cluster, rendered(t, "fleet-member", "--set", "config.hub.tlsCA=,hub.url="+url))
	hub := newReleased(t, cluster, rendered(t, "hub", "--set", "nats.url="+url))
	if granted := hub.processes[0].granted; len(granted[""]) != 1 || len(granted) != 1 {
		t.Errorf("the hub may %q, want to ask who somebody is, and nothing else", granted)
	}
	stopMember, stopHub := member.start(t), hub.start(t)

	member.change(t, cluster, "configmaps/prices", "told to the hub")
	member.waitRolls(t, builtIn, 1)
	stranger, reader := accountToken(t, cluster, "shop"), accountToken(t, cluster, "billing")
	denied := func() {
		t.Helper()
		for token, want := range map[string]int{"": http.StatusUnauthorized, "made-up": http.StatusUnauthorized, stranger: http.StatusOK} {
			if got, body, err := hub.askReloads(t.Context(), token); err != nil || got != want || strings.Contains(body, "c1") {
				t.Errorf("%v, %d: %.500s, want %d, and nothing of the cluster", err, got, body, want)
			}
		}
	}
	denied()
	line.Eventually(t, "what the cluster did, which comes in its time", func(ctx context.Context) error {
		got, body, err := hub.askReloads(ctx, reader)
		if err == nil && (got != http.StatusOK || !strings.Contains(body, `"cluster":"c1"`)) {
			err = fmt.Errorf("%d: %.500s", got, body)
		}
		return err
	})
	denied() // also while there is something to tell

	member.expectUsed(t)
	hub.processes[0].granted[""] = []string{"authentication.k8s.io/tokenreviews create"} // api.rights decides, and nobody is asked what a user may
	hub.expectUsed(t)
	if refused := append(member.refused(), hub.refused()...); len(refused) > 0 {
		t.Errorf("requests that were refused: %q", refused)
	}
	stopHub()
	stopMember() // all has been said now
	for _, p := range slices.Concat(member.processes, hub.processes) {
		if strings.Contains(strings.ToLower(p.Log()), "permissions violation") {
			t.Errorf("NATS refused something:\n%s", p.Log())
		}
	}
}

// accountToken makes an account in a namespace, and returns a token of it.
func accountToken(t *testing.T, cluster *rig.Cluster, namespace string) string {
	t.Helper()
	kubectl(t, cluster, "create", "serviceaccount", "user", "--namespace="+namespace)
	token, err := cluster.Kubectl(t.Context(), "create", "token", "user", "--namespace="+namespace, "--audience=reroll")
	line.Must(t, err)
	return strings.TrimSpace(token)
}

// askReloads asks for reloads with a token, or without any.
func (r *released) askReloads(ctx context.Context, token string) (status int, body string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+r.api+"/api/v1/reloads", nil)
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}
