package control_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/reloader/control"
)

func TestRetryKey(t *testing.T) {
	for target, want := range map[string]string{
		"shop/Deployment/web":          "retry.Deployment.shop.web",
		"shop/ConfigMap/prices.v2":     "retry.ConfigMap.shop.prices.v2",
		"shop/SecretProviderClass/aws": "retry.SecretProviderClass.shop.aws",
		"shop/Deployment":              "",
		"shop/Deployment/":             "",
		"shop/ConfigMap/":              "",
		"shop/Pod/web":                 "",
		"Shop/Deployment/web":          "",
		"shop/Deployment/we b":         "",
		"shop/ConfigMap/a/b":           "",
		"":                             "",
	} {
		if got, err := control.RetryKey(target); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v; want %q", target, got, err, want)
		}
	}
}

func TestRetries(t *testing.T) {
	c := control.Parse(map[string]string{
		"retry.Deployment.shop.web":      "2026-01-31T18:00:00Z",
		"retry.ConfigMap.shop.prices.v2": "2026-01-31T19:00:00+01:00",
		"retry.Secret.shop.token":        "now",
		"retry.Secret.shop":              "2026-01-31T18:00:00Z",
		"retries":                        "2026-01-31T18:00:00Z",
	})
	at := time.Date(2026, 1, 31, 18, 0, 0, 0, time.UTC)
	want := map[string]time.Time{"Deployment/shop/web": at, "ConfigMap/shop/prices.v2": at}
	if diff := cmp.Diff(want, c.Retries, cmp.Comparer(time.Time.Equal)); diff != "" {
		t.Errorf("retries (-want +got):\n%s", diff)
	}
	if len(c.Problems) != 2 || !strings.Contains(strings.Join(c.Problems, "\n"), "retry.Secret.shop.token") {
		t.Errorf("problems: %q", c.Problems)
	}
	if got := c.Retried("Secret/shop/token"); !got.IsZero() {
		t.Errorf("what cannot be understood is taken for %s", got)
	}
}

// TestRetryKeyIsUnderstood: what the command line writes is what the dispatcher reads.
func TestRetryKeyIsUnderstood(t *testing.T) {
	key, err := control.RetryKey("shop/StatefulSet/db.main")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Now().UTC().Truncate(time.Second)
	c := control.Parse(map[string]string{key: at.Format(time.RFC3339)})
	if got := c.Retried("StatefulSet/shop/db.main"); !got.Equal(at) {
		t.Errorf("%s is read as %s", key, got)
	}
}
