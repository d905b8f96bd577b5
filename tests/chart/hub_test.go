//go:build nightly

package chart_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

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
	hub.expectDenied(t, "", http.StatusUnauthorized)
	hub.expectDenied(t, "made-up", http.StatusUnauthorized)
	hub.expectDenied(t, stranger, http.StatusOK)
	hub.expectAnswer(t, reader, http.StatusOK, `"cluster":"c1"`)
	hub.expectDenied(t, stranger, http.StatusOK) // also while there is something to tell

	member.expectUsed(t)
	hub.processes[0].granted[""] = []string{"authentication.k8s.io/tokenreviews create"} // api.rights decides, and nobody is asked what a user may
	hub.expectUsed(t)
	if refused := append(member.refused(), hub.refused()...); len(refused) > 0 {
		t.Errorf("requests that were refused: %q", refused)
	}
	stopHub()
	stopMember() // all has been said now
	if lines := append(member.told(natsRefuses), hub.told(natsRefuses)...); len(lines) > 0 {
		t.Errorf("NATS refused something:\n%s", strings.Join(lines, ""))
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

// expectAnswer asks for reloads with a token, or without any, until the answer has a status and a text: records come in their time, and rights
// are remembered for a moment.
func (r *released) expectAnswer(t *testing.T, token string, status int, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := line.Poll(ctx, func(ctx context.Context) error {
		got, body, err := r.askReloads(ctx, token)
		if err == nil && (got != status || !strings.Contains(string(body), text)) {
			err = fmt.Errorf("%d: %.500s, want %d and %q", got, body, status, text)
		}
		return err
	})
	if err != nil {
		t.Errorf("%v\n%s", err, r.processes[0].Log())
	}
}

// expectDenied asks for reloads once: nothing of the cluster may be in the first answer.
func (r *released) expectDenied(t *testing.T, token string, status int) {
	t.Helper()
	if got, body, err := r.askReloads(t.Context(), token); err != nil || got != status || strings.Contains(string(body), "c1") {
		t.Errorf("%v, %d: %.500s, want %d at once", err, got, body, status)
	}
}

// askReloads asks for reloads with a token, or without any.
func (r *released) askReloads(ctx context.Context, token string) (status int, body []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+r.api+"/api/v1/reloads", nil)
	if err != nil {
		return 0, nil, err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	body, err = io.ReadAll(io.LimitReader(response.Body, 1<<20))
	return response.StatusCode, body, err
}

// natsRefuses is in every line about something that NATS does not permit.
const natsRefuses = "permissions violation"

// told returns the lines in which processes tell of something, in small letters.
func (r *released) told(what string) (lines []string) {
	for _, p := range r.processes {
		for line := range strings.Lines(strings.ToLower(p.Log())) {
			if strings.Contains(line, what) {
				lines = append(lines, line)
			}
		}
	}
	return lines
}
