//go:build nightly

package chart_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/line"
)

// waitRolls waits until a workload of each kind was rolled for n changes.
func (r *released) waitRolls(t *testing.T, kinds []string, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	served := line.Reroll{API: "http://" + r.api}
	err := line.Poll(ctx, func(ctx context.Context) error {
		reloads, err := served.Reloads(ctx, "shop")
		if err != nil {
			return err
		}
		causes := map[string]int{}
		for _, one := range reloads {
			if one.Outcome == string(reloader.ReasonReloaded) {
				causes[one.Workload.Kind] += len(one.Causes)
			}
		}
		for _, kind := range kinds {
			if causes[kind] < n {
				return fmt.Errorf("a %s was rolled for %d of %d changes", kind, causes[kind], n)
			}
		}
		return nil
	})
	if err != nil {
		for _, p := range r.processes {
			t.Logf("%s:\n%s", p.arguments[0], p.Log())
		}
		t.Fatal(err)
	}
}

// expectStatusBy sends a request and returns an error unless the answer has that status.
func expectStatusBy(ctx context.Context, client *http.Client, method, url, body string, want int) error {
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+ingestToken)
	response, err := client.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // nothing is read
	if response.StatusCode != want {
		return fmt.Errorf("%s %s: %s", method, url, response.Status)
	}
	return nil
}
