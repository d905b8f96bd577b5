package kube

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/reloader"
)

func ref(name string) reloader.WorkloadRef {
	return reloader.WorkloadRef{Kind: "Deployment", Namespace: "shop", Name: name}
}

// large are n entries of which each ConfigMap holds 26.
func large(n int) noted {
	all := noted{}
	for i := range n {
		all[ref(fmt.Sprint("w", i))] = strings.Repeat("x", 10_000)
	}
	return all
}

// TestLedgerWrites: Put writes the ConfigMaps that change, and only those.
func TestLedgerWrites(t *testing.T) {
	s := newServer()
	l := s.ledger()
	same(t, "nothing", noted{}, loaded(t, l))
	same(t, "first start", []string{"create "}, s.written())
	put(t, l, noted{ref("a"): "1", ref("b"): "1"})
	put(t, l, noted{ref("a"): "1"})
	put(t, l, noted{ref("a"): "2", ref("c"): ""})
	same(t, "little", []string{"create -shop.0", "update -shop.0"}, s.written())
	same(t, "another process", noted{ref("a"): "2", ref("b"): "1"}, loaded(t, s.ledger()))
	put(t, l, large(60))
	same(t, "much", []string{"create -shop.2", "create -shop.1", "update -shop.0"}, s.written())
	put(t, l, noted{ref("a"): "3"})
	same(t, "one entry of many", []string{"update -shop.0"}, s.written())
	put(t, l, noted{ref("a"): strings.Repeat("y", MaxLedgerEntry)})
	same(t, "an entry that moves", []string{"update -shop.2", "update -shop.0"}, s.written())
	forgotten := loaded(t, s.ledger())
	if len(forgotten) != 62 || len(forgotten[ref("a")]) != MaxLedgerEntry {
		t.Errorf("%d entries", len(forgotten))
	}
	for r := range forgotten {
		forgotten[r] = ""
	}
	put(t, l, forgotten)
	same(t, "nothing is left", []string{"delete -shop.2", "delete -shop.1", "delete -shop.0"}, s.written())
	put(t, l, noted{ref("a"): "4"})
	same(t, "again", []string{"create -shop.0"}, s.written())
}

// TestLedgerBirth: the ledger is as old as its oldest ConfigMap, and is born at the first start.
func TestLedgerBirth(t *testing.T) {
	s := newServer()
	born := func(l *Ledger) int64 {
		t.Helper()
		_, at, err := l.Load(t.Context())
		must(t, err)
		return at.Unix()
	}
	same(t, "at the first start", 101, born(s.ledger()))
	l := s.ledger()
	same(t, "at the second start", 101, born(l))
	put(t, l, noted{ref("a"): "1"})
	must(t, s.CoreV1().ConfigMaps("ops").Delete(t.Context(), LedgerName, metav1.DeleteOptions{}))
	same(t, "the oldest that is left", 102, born(s.ledger()))
	before := time.Now().Add(-time.Second).Unix()
	dry := NewLedger(newCluster(&connection{client: newServer(), Namespace: "ops", options: Options{DryRun: true}}))
	if at := born(dry); at < before {
		t.Errorf("in a dry run: %d, before %d", at, before)
	}
}

// TestLedgerMoved: of two processes that have read the same, one writes, and the other learns what.
func TestLedgerMoved(t *testing.T) {
	for name, c := range map[string]struct {
		has   noted
		other func(t *testing.T, s *server, l *Ledger)
		want  noted
	}{
		"an entry": {noted{ref("a"): "1"}, func(t *testing.T, _ *server, l *Ledger) { t.Helper(); put(t, l, noted{ref("b"): "1"}) }, noted{ref("a"): "1", ref("b"): "1"}},
		"more ConfigMaps": {noted{ref("a"): "1"}, func(t *testing.T, _ *server, l *Ledger) {
			t.Helper()
			put(t, l, large(60))
		}, func() noted { all := large(60); all[ref("a")] = "1"; return all }()},
		"deleted by somebody": {noted{ref("a"): "1", ref("b"): "2"}, func(t *testing.T, s *server, _ *Ledger) {
			t.Helper()
			must(t, s.CoreV1().ConfigMaps("ops").Delete(t.Context(), pageName("shop", 0), metav1.DeleteOptions{}))
		}, noted{ref("a"): "1", ref("b"): "2"}},
		"damaged by somebody": {noted{ref("a"): "1", ref("b"): "2"}, func(t *testing.T, s *server, _ *Ledger) {
			t.Helper()
			s.edit(t, "-shop.0", func(m *corev1.ConfigMap) { m.Data = map[string]string{"Deployment.a": ""} })
		}, noted{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			one, two := s.ledger(), s.ledger()
			put(t, one, c.has)
			loaded(t, one)
			loaded(t, two)
			c.other(t, s, one)
			if err := two.Put(t.Context(), "shop", noted{ref("a"): "mine"}); err == nil {
				t.Fatal("what another process wrote is overwritten")
			}
			got, changed, err := two.Changed(t.Context(), "shop")
			if err != nil || !changed {
				t.Fatalf("changed %v, error %v", changed, err)
			}
			same(t, "what the other wrote", c.want, got)
			same(t, "what is stored", c.want, loaded(t, s.ledger()))
			if _, changed, err = two.Changed(t.Context(), "shop"); changed || err != nil {
				t.Errorf("changed again: %v, error %v", changed, err)
			}
			put(t, two, noted{ref("a"): "mine"})
			want := maps.Clone(c.want)
			want[ref("a")] = "mine"
			same(t, "what is stored then", want, loaded(t, s.ledger()))
		})
	}
}

// TestLedgerWatch: what the watch saw counts if this process neither wrote it nor knows something newer.
func TestLedgerWatch(t *testing.T) {
	s := newServer()
	l := s.ledger()
	loaded(t, l)
	put(t, l, noted{ref("a"): "1"}) // version 102
	for name, c := range map[string]struct {
		name, version string
		gone, want    bool
	}{
		"what this process wrote":       {"-shop.0", "102", false, false},
		"what came after":               {"-shop.0", "1000", false, true},
		"a version that is not ordered": {"-shop.0", "x", false, true},
		"deleted":                       {"-shop.0", "1000", true, true},
		"deleted, seen late":            {"-shop.0", "102", true, true},
		"deleted before it was created": {"-shop.0", "99", true, false},
		"one more":                      {"-shop.2", "1000", false, true},
	} {
		l.see(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: LedgerName + c.name, ResourceVersion: c.version}}, c.gone)
		got, changed, err := l.Changed(t.Context(), "shop")
		if err != nil || changed != c.want || changed && !maps.Equal(got, noted{ref("a"): "1"}) {
			t.Errorf("%s: changed %v to %v, error %v; want %v", name, changed, got, err, c.want)
		}
	}
}

// TestLedgerDamaged: what cannot be read is logged once, set aside under another key, and lost. All else is as it was.
func TestLedgerDamaged(t *testing.T) {
	for name, damage := range map[string]func(*corev1.ConfigMap){
		"no kind":           func(m *corev1.ConfigMap) { m.Data[strings.Repeat("x", maxKey)] = "x"; delete(m.Data, "Deployment.a") },
		"no entry":          func(m *corev1.ConfigMap) { m.Data["Deployment.a"] = "" },
		"too long an entry": func(m *corev1.ConfigMap) { m.Data["Deployment.a"] = strings.Repeat("x", MaxLedgerEntry+1) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			l := s.ledger()
			loaded(t, l)
			put(t, l, noted{ref("a"): "1", ref("b"): "1"})
			s.edit(t, "-shop.0", damage)
			var log strings.Builder
			fresh := s.ledger()
			fresh.cluster.options.Logger = slog.New(slog.NewTextHandler(&log, nil))
			want := noted{ref("b"): "1"}
			same(t, "entries", want, loaded(t, fresh))
			if !strings.Contains(log.String(), "ops/reroll-ledger-shop.0") {
				t.Errorf("log: %s", log.String())
			}
			put(t, fresh, noted{ref("a"): "2"})
			want[ref("a")] = "2"
			log.Reset()
			same(t, "entries", want, loaded(t, fresh))
			m, err := s.CoreV1().ConfigMaps("ops").Get(t.Context(), pageName("shop", 0), metav1.GetOptions{})
			keys := slices.Sorted(maps.Keys(m.Data))
			if err != nil || len(keys) != 3 || !strings.HasPrefix(keys[2], reloader.DamagedPrefix) || log.Len() > 0 {
				t.Errorf("stored under %q, %v; logged again: %q", keys, err, log.String())
			}
		})
	}
}

// TestLedgerCutShort: wherever a process ends while it writes several ConfigMaps, the next one knows of each entry what was before or after, and
// no entry is in two of them.
func TestLedgerCutShort(t *testing.T) {
	for cut := range 4 {
		t.Run(fmt.Sprint("after ", cut, " writes"), func(t *testing.T) {
			s := newServer()
			l := s.ledger()
			loaded(t, l)
			before := large(26)
			before[ref("w0")] = "1"
			put(t, l, before)
			s.written()
			s.fail = func(string) error {
				if len(s.writes) >= cut {
					return errors.New("cut")
				}
				return nil
			}
			after := large(60)
			after[ref("w0")] = strings.Repeat("y", MaxLedgerEntry) // it moves
			err := l.Put(t.Context(), "shop", after)
			if (err == nil) != (cut == 3) {
				t.Errorf("error %v", err)
			}
			s.fail = nil
			got := loaded(t, s.ledger())
			for r, entry := range got {
				if entry != before[r] && entry != after[r] {
					t.Errorf("%s is %.20s", r, entry)
				}
			}
			for r := range before {
				if got[r] == "" {
					t.Errorf("%s is lost", r)
				}
			}
			if _, _, err = l.Changed(t.Context(), "shop"); err != nil {
				t.Fatal(err)
			}
			put(t, l, after)
			same(t, "after another try", after, loaded(t, s.ledger()))
			left, err := s.CoreV1().ConfigMaps("ops").List(t.Context(), metav1.ListOptions{})
			n := 0
			for _, m := range left.Items {
				n += len(m.Data)
			}
			if err != nil || n != len(after) {
				t.Errorf("%d values are stored for %d entries, error %v", n, len(after), err)
			}
		})
	}
}
