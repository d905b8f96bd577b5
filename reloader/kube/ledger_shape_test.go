package kube

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/reroll-dev/reroll/reloader"
)

// TestShardNames: each name is valid, belongs to one namespace only, and says which ConfigMap it is.
func TestShardNames(t *testing.T) {
	long := strings.Repeat("n", 63)
	namespaces := []string{"a", "shop", "shop-0-of-1", strings.Repeat("x", 40), strings.Repeat("x", 41), long, long[:62], long[:62] + "m", "abcdef-" + long[:56], "abcdef" + long[:57]}
	of := map[string]string{}
	for _, namespace := range namespaces {
		for _, n := range shardCounts {
			name := shardName(namespace, n-1, n)
			if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 || len(name) > validation.DNS1123LabelMaxLength {
				t.Errorf("%s, %d characters: %v", name, len(name), problems)
			}
			if other, taken := of[name]; taken {
				t.Errorf("%s and %s are both named %s", namespace, other, name)
			}
			of[name] = namespace
			for _, asked := range namespaces {
				if i, count := shardNamed(asked, name); (count > 0) != (asked == namespace) || count > 0 && (i != n-1 || count != n) {
					t.Errorf("%s in namespace %s: %d of %d", name, asked, i, count)
				}
			}
		}
	}
	for _, name := range []string{"", LedgerName, "reroll-ledger-shop", "reroll-ledger-shop.1-of-1", "reroll-ledger-shop.-1-of-4", "reroll-ledger-shop.0-of-5", "reroll-ledger-shop.+0-of-4", "reroll-ledger-shop.00-of-4", "reroll-ledger-shop.0-of-4x"} {
		if i, n := shardNamed("shop", name); n != 0 {
			t.Errorf("%q: %d of %d", name, i, n)
		}
	}
}

// TestLedgerKeys: a key stands for one workload, also of a name that is too long for a key.
func TestLedgerKeys(t *testing.T) {
	longest := strings.Repeat("n", 253)
	for _, ref := range []reloader.WorkloadRef{ref("web"), ref("web.v1"), ref(longest), ref(longest[:240]), ref(longest[:242]), ref(longest[:243])} {
		key, prefix := keyOf(ref)
		if problems := validation.IsConfigMapKey(key); len(problems) > 0 {
			t.Errorf("key %s: %v", key, problems)
		}
		if got, entry, ok := entryOf("shop", key, prefix+"{}\n"); !ok || got != ref || entry != "{}\n" {
			t.Errorf("%s comes back as %s with entry %q, %v", ref, got, entry, ok)
		}
	}
	hashed, _ := keyOf(ref(longest))
	for name, bad := range map[string][2]string{
		"no kind":                 {"web", "x"},
		"empty kind":              {".web", "x"},
		"no name":                 {"Deployment.", "x"},
		"not a name":              {"Deployment.Web_1", "x"},
		"no entry":                {"Deployment.web", ""},
		"too long an entry":       {"Deployment.web", strings.Repeat("x", MaxLedgerEntry+1)},
		"a hash without a name":   {hashed, "x"},
		"a hash of another name":  {hashed, "web\nx"},
		"a hash that is not said": {"Deployment..web", "web\nx"},
	} {
		if got, entry, ok := entryOf("shop", bad[0], bad[1]); ok {
			t.Errorf("%s: %s, %.20q", name, got, entry)
		}
	}
}

func ref(name string) reloader.WorkloadRef {
	return reloader.WorkloadRef{Kind: "Deployment", Namespace: "shop", Name: name}
}

// TestSpread: a namespace has as many ConfigMaps as it needs and never fewer than it has.
func TestSpread(t *testing.T) {
	for name, c := range map[string]struct{ entries, size, has, want int }{
		"nothing":              {0, 0, 4, 0},
		"little":               {100, 100, 0, 1},
		"much":                 {1000, 500, 0, 4},
		"much more":            {5000, 500, 1, 16},
		"little of what was":   {1, 100, 16, 16},
		"above the good size":  {600, 50_000, 0, 64},
		"more than there is":   {2000, 50_000, 0, -1},
		"the largest entries":  {3, MaxLedgerEntry, 0, 1},
		"more than one of one": {5, MaxLedgerEntry, 0, 4},
	} {
		all, entry := map[string]string{}, strings.Repeat("x", c.size)
		for i := range c.entries {
			all[fmt.Sprint("Deployment.w", i)] = entry
		}
		next, ok := spread(all, c.has)
		got := map[string]string{}
		for i, shard := range next {
			for key := range shard {
				if shardOf(key, len(next)) != i {
					t.Errorf("%s: %s is in %d", name, key, i)
				}
			}
			maps.Copy(got, shard)
		}
		if ok != (c.want >= 0) || ok && (len(next) != c.want || !maps.Equal(got, all)) {
			t.Errorf("%s: %d ConfigMaps with %d of %d entries, %v; want %d", name, len(next), len(got), len(all), ok, c.want)
		}
	}
}

func TestLedgerHolds(t *testing.T) {
	l := NewLedger(&Cluster{Namespace: "reroll"})
	for c, want := range map[reloader.Config]bool{
		{Kind: reloader.ConfigMap, Namespace: "reroll", Name: LedgerName}:                   true,
		{Kind: reloader.ConfigMap, Namespace: "reroll", Name: shardName("shop", 0, 1)}:      true,
		{Kind: reloader.ConfigMap, Namespace: "reroll"}:                                     false,
		{Kind: reloader.ConfigMap, Namespace: "reroll", Name: "reroll-ledgers"}:             false,
		{Kind: reloader.Secret, Namespace: "reroll", Name: LedgerName}:                      false,
		{Kind: reloader.ConfigMap, Namespace: "shop", Name: shardName("shop", 0, 1)}:        false,
		{Kind: reloader.ConfigMap, Namespace: "reroll", Name: "my-" + LedgerName + "-shop"}: false,
	} {
		if got := l.Holds(c); got != want {
			t.Errorf("the ledger holds %s: %v", c, got)
		}
	}
}
