package reloader_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/reroll-dev/reroll/reloader"
)

// TestByConfig: whatever is set and deleted in whichever order, a ByConfig has what a map has, sorted.
func TestByConfig(t *testing.T) {
	named := func(n int) reloader.Config {
		kinds := []reloader.ConfigKind{reloader.Secret, reloader.ConfigMap}
		return reloader.Config{Cluster: []string{"", "hub"}[n/2%2], Kind: kinds[n%2], Namespace: "shop", Name: string(rune('a' + n/4%5))}
	}
	var got reloader.ByConfig[int]
	want := map[reloader.Config]int{}
	for i := range 400 {
		c := named(i * 7)
		if i%3 == 0 {
			got.Delete(c)
			delete(want, c)
		} else {
			got.Set(c, i)
			want[c] = i
		}
		if !maps.Equal(maps.Collect(got.All()), want) || !slices.Equal(got, reloader.ByConfigOf(want)) {
			t.Fatalf("after %d steps: %v, want %v", i+1, got, want)
		}
		if v, found := got.Find(c); found != (i%3 != 0) || found && v != i || got.Get(c) != v {
			t.Fatalf("%s: %d, %t", c, v, found)
		}
	}
}
