package notify

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/reloader"
)

// wholeReload has a config that changed twice, with the older change of another one between.
func wholeReload() reloader.Reload {
	return reload(
		cause("c-1", prices, 0, sumA, sumB, key("eur", reloader.KeyChanged), key("gbp", reloader.KeyAdded)),
		cause("c-3", prices, 2, sumB, sumC, key("usd", reloader.KeyRemoved)),
		cause("c-2", token, 1, sumA, sumB, key("token", reloader.KeyChanged)),
	)
}

func TestPayload(t *testing.T) {
	body, err := fit(PayloadOf(wholeReload()))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "payload.v1.json", body)
}

func TestPayloadWithoutCauses(t *testing.T) {
	body, err := fit(PayloadOf(reload()))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]any{}, got["configs"]); diff != "" {
		t.Errorf("configs (-want +got):\n%s", diff)
	}
}

func TestTouchedKeys(t *testing.T) {
	const added, changed, removed = reloader.KeyAdded, reloader.KeyChanged, reloader.KeyRemoved
	// Every entry is what a row of changes did to one key; empty means that the key is not among those touched any more.
	cases := []struct {
		ops  []reloader.KeyOp
		want reloader.KeyOp
	}{
		{[]reloader.KeyOp{added}, added},
		{[]reloader.KeyOp{changed}, changed},
		{[]reloader.KeyOp{removed}, removed},
		{[]reloader.KeyOp{added, changed}, added},
		{[]reloader.KeyOp{added, removed}, ""},
		{[]reloader.KeyOp{added, removed, added}, added},
		{[]reloader.KeyOp{changed, changed}, changed},
		{[]reloader.KeyOp{changed, removed}, removed},
		{[]reloader.KeyOp{removed, added}, changed},
		{[]reloader.KeyOp{removed, added, removed}, removed},
	}
	for _, tc := range cases {
		t.Run(fmt.Sprint(tc.ops), func(t *testing.T) {
			var causes []reloader.Cause
			for i, op := range tc.ops {
				causes = append(causes, cause(fmt.Sprint("c-", i), prices, i, sumA, sumB, key("k", op)))
			}
			want := []reloader.KeyChange{}
			if tc.want != "" {
				want = append(want, key("k", tc.want))
			}
			if diff := cmp.Diff(want, touched(causes)); diff != "" {
				t.Errorf("keys (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("one of them does not say", func(t *testing.T) {
		got := touched([]reloader.Cause{cause("c-1", prices, 0, "", sumA), cause("c-2", prices, 1, sumA, sumB, key("k", added))})
		if diff := cmp.Diff([]reloader.KeyChange{}, got); diff != "" {
			t.Errorf("keys (-want +got):\n%s", diff)
		}
	})
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

func TestFit(t *testing.T) {
	cases := map[string]struct {
		configs, keys, candidates             int
		keptConfigs, keptKeys, keptCandidates int
	}{
		"small":           {3, 100, 5, 3, 100, 5},
		"one large":       {1, 5000, 100, 1, 1024, 64},
		"many actors":     {1, 1, 100, 1, 1, 64},
		"many keys":       {100, 500, 16, 100, 16, 4},
		"many configs":    {800, 20, 8, 256, 0, 0},
		"too many to say": {5000, 1, 1, 256, 0, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			body, err := fit(PayloadOf(reload(manyCauses(tc.configs, tc.keys, tc.candidates)...)))
			if err != nil {
				t.Fatal(err)
			}
			if len(body) > maxPayloadBytes {
				t.Errorf("body has %d bytes, more than %d", len(body), maxPayloadBytes)
			}
			var got Payload
			if err := json.Unmarshal(body, &got); err != nil {
				t.Fatal(err)
			}
			if len(got.Configs) != tc.keptConfigs || len(got.Configs[0].Keys) != tc.keptKeys || len(got.Configs[0].Candidates) != tc.keptCandidates {
				t.Errorf("kept %d configs, %d keys, %d candidates; want %d, %d, %d", len(got.Configs), len(got.Configs[0].Keys),
					len(got.Configs[0].Candidates), tc.keptConfigs, tc.keptKeys, tc.keptCandidates)
			}
			if want := tc.keptConfigs < tc.configs || tc.keptKeys < tc.keys || tc.keptCandidates < tc.candidates; got.Truncated != want {
				t.Errorf("truncated: %t, want %t", got.Truncated, want)
			}
		})
	}
}

// TestFitChangesNothing: the payload is the caller's.
func TestFitChangesNothing(t *testing.T) {
	p := PayloadOf(reload(manyCauses(800, 20, 8)...))
	if _, err := fit(p); err != nil {
		t.Fatal(err)
	}
	if len(p.Configs) != 800 || len(p.Configs[0].Keys) != 20 || len(p.Configs[0].Candidates) != 8 || p.Truncated {
		t.Error("the payload was cut itself, want a copy")
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
