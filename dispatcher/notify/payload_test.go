package notify

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/reloader"
)

// wholeReload has a config that changed twice, and the change of another one between.
func wholeReload() reloader.Reload {
	return reload(
		cause("c-1", prices, 0, sumA, sumB, key("eur", reloader.KeyChanged), key("gbp", reloader.KeyAdded)),
		cause("c-3", prices, 2, sumB, sumC, key("usd", reloader.KeyRemoved)),
		cause("c-2", token, 1, sumA, sumB, key("token", reloader.KeyChanged)),
	)
}

func TestPayload(t *testing.T) {
	body, err := json.Marshal(PayloadOf(wholeReload()))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "payload.v1.json", body)
}

// TestIdempotencyKey: a receiver that drops what it has seen must drop a repeated call, and must not drop the second of two calls
// about content that came back.
func TestIdempotencyKey(t *testing.T) {
	toB, toA := cause("c-1", prices, 0, sumA, sumB), cause("c-2", prices, 1, sumB, sumA)
	toBAgain := cause("c-3", prices, 2, sumA, sumB)
	other := cause("c-4", token, 0, sumA, sumB)
	first := PayloadOf(reload(toB))
	t.Run("repeated later", func(t *testing.T) {
		r := reload(toB)
		r.DecidedAt = at.AddDate(0, 0, 1)
		if got := PayloadOf(r); got.IdempotencyKey != first.IdempotencyKey {
			t.Errorf("key %q, want %q again", got.IdempotencyKey, first.IdempotencyKey)
		}
	})
	t.Run("repeated by a process that knows only the newest change", func(t *testing.T) {
		r := reload(toA, toBAgain)
		r.ID = first.Reload
		if got, want := PayloadOf(r).IdempotencyKey, PayloadOf(reload(toBAgain)).IdempotencyKey; got != want {
			t.Errorf("key %q, want %q", got, want)
		}
	})
	t.Run("in another order", func(t *testing.T) {
		if a, b := PayloadOf(reload(toB, other)).IdempotencyKey, PayloadOf(reload(other, toB)).IdempotencyKey; a != b {
			t.Errorf("keys %q and %q, want one", a, b)
		}
	})
	t.Run("content that came back", func(t *testing.T) {
		again := PayloadOf(reload(toBAgain))
		if again.Reload != first.Reload || again.IdempotencyKey == first.IdempotencyKey {
			t.Errorf("reload %q with key %q after reload %q with key %q; want one reload and two keys",
				again.Reload, again.IdempotencyKey, first.Reload, first.IdempotencyKey)
		}
	})
}

// TestLimits: a body that nobody takes is worth less than one that leaves something out and says so.
func TestLimits(t *testing.T) {
	cases := map[string]struct {
		configs, keys, candidates             int
		keptConfigs, keptKeys, keptCandidates int
	}{
		"all that is kept":     {64, 64, 8, 64, 64, 8},
		"too many configs":     {65, 1, 1, 64, 1, 1},
		"too many keys":        {1, 65, 1, 1, 64, 1},
		"too many candidates":  {1, 1, 9, 1, 1, 8},
		"too many of anything": {5000, 100, 100, 64, 64, 8},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := reload(manyCauses(tc.configs, tc.keys, tc.candidates)...)
			got := PayloadOf(r)
			if len(got.Configs) != tc.keptConfigs || len(got.Configs[0].Keys) != tc.keptKeys || len(got.Configs[0].Candidates) != tc.keptCandidates {
				t.Errorf("kept %d configs, %d keys, %d candidates; want %d, %d, %d", len(got.Configs), len(got.Configs[0].Keys),
					len(got.Configs[0].Candidates), tc.keptConfigs, tc.keptKeys, tc.keptCandidates)
			}
			if want := tc.keptConfigs < tc.configs || tc.keptKeys < tc.keys || tc.keptCandidates < tc.candidates; got.Truncated != want {
				t.Errorf("truncated: %t, want %t", got.Truncated, want)
			}
			if want := r.Causes[tc.configs-1].ChangeID; !strings.HasSuffix(got.IdempotencyKey, "."+want) {
				t.Errorf("key %q, want one of change %s, also where that is left out", got.IdempotencyKey, want)
			}
		})
	}
}

func manyCauses(configs, keys, candidates int) []reloader.Cause {
	causes := make([]reloader.Cause, 0, configs)
	for i := range configs {
		c := cause(fmt.Sprint("c-", i), reloader.Config{Kind: reloader.ConfigMap, Namespace: "shop", Name: fmt.Sprint("n", i)}, i, sumA, sumB)
		for k := range keys {
			c.Keys = append(c.Keys, key(fmt.Sprintf("key-%05d", k), reloader.KeyAdded))
		}
		who := c.Candidates[0]
		c.Candidates = nil
		for range candidates {
			c.Candidates = append(c.Candidates, who)
		}
		causes = append(causes, c)
	}
	return causes
}
