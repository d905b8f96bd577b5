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
)

// large are n entries of which each ConfigMap holds 25.
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
	same(t, "little", []string{"create -shop.0-of-1", "update -shop.0-of-1"}, s.written())
	same(t, "another process", noted{ref("a"): "2", ref("b"): "1"}, loaded(t, s.ledger()))
	put(t, l, large(60))
	same(t, "a split", []string{"create -shop.3-of-4", "create -shop.2-of-4", "create -shop.1-of-4", "create -shop.0-of-4", "delete -shop.0-of-1"}, s.written())
	put(t, l, noted{ref("a"): "3"})
	if writes := s.written(); len(writes) != 1 || !strings.HasPrefix(writes[0], "update ") {
		t.Errorf("one entry of many: %v", writes)
	}
	forgotten := loaded(t, s.ledger())
	if len(forgotten) != 62 || forgotten[ref("a")] != "3" {
		t.Errorf("%d entries", len(forgotten))
	}
	for r := range forgotten {
		forgotten[r] = ""
	}
	put(t, l, forgotten)
	same(t, "nothing is left", []string{"delete -shop.0-of-4", "delete -shop.1-of-4", "delete -shop.2-of-4", "delete -shop.3-of-4"}, s.written())
	same(t, "nothing", noted{}, loaded(t, s.ledger()))
	put(t, l, noted{ref("a"): "4"})
	same(t, "again", []string{"create -shop.0-of-1"}, s.written())
}

// TestLedgerRefuses: what is too large leaves all else as it would be.
func TestLedgerRefuses(t *testing.T) {
	s := newServer()
	l := s.ledger()
	put(t, l, noted{ref("a"): "1"})
	err := l.Put(t.Context(), "shop", noted{ref("a"): strings.Repeat("x", MaxLedgerEntry+1), ref("b"): "1", {Kind: "Deployment", Namespace: "other", Name: "c"}: "1"})
	if !errors.Is(err, ErrLedgerFull) || errors.Is(err, ErrLedgerMoved) || !strings.Contains(err.Error(), "Deployment/shop/a") {
		t.Errorf("error %v", err)
	}
	all, largest := noted{}, strings.Repeat("x", MaxLedgerEntry)
	for i := range 1000 {
		all[ref(fmt.Sprint("w", i))] = largest
	}
	if err := l.Put(t.Context(), "shop", all); !errors.Is(err, ErrLedgerFull) {
		t.Errorf("64 MB: %v", err)
	}
	same(t, "what is stored", noted{ref("a"): "1", ref("b"): "1"}, loaded(t, s.ledger()))
}

// TestLedgerBirth: the ledger is as old as its oldest ConfigMap, and is born at the first start.
func TestLedgerBirth(t *testing.T) {
	s := newServer()
	born := func(l *Ledger) int64 {
		t.Helper()
		_, at, err := l.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return at.Unix()
	}
	same(t, "at the first start", 101, born(s.ledger()))
	l := s.ledger()
	same(t, "at the second start", 101, born(l))
	put(t, l, noted{ref("a"): "1"})
	if err := s.CoreV1().ConfigMaps("ops").Delete(t.Context(), LedgerName, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	same(t, "the oldest that is left", 102, born(s.ledger()))
	before := time.Now().Add(-time.Second).Unix()
	dry := NewLedger(&Cluster{client: newServer(), Namespace: "ops", options: Options{DryRun: true}})
	if at := born(dry); at < before {
		t.Errorf("in a dry run: %d, before %d", at, before)
	}
}

// TestLedgerDryRun: a dry run reads what there is and writes nothing.
func TestLedgerDryRun(t *testing.T) {
	s := newServer()
	put(t, s.ledger(), noted{ref("a"): "1"})
	s.written()
	l := NewLedger(&Cluster{client: s, Namespace: "ops", options: Options{DryRun: true}})
	same(t, "entries", noted{ref("a"): "1"}, loaded(t, l))
	put(t, l, noted{ref("a"): "2"})
	s.edit(t, "-shop.0-of-1", func(m *corev1.ConfigMap) { m.Data["?"] = "x" })
	same(t, "damaged", noted{}, loaded(t, l))
	same(t, "writes", []string{"update -shop.0-of-1"}, s.written())
}

// TestLedgerMoved: of two processes that have read the same, one writes, and the other learns what.
func TestLedgerMoved(t *testing.T) {
	for name, c := range map[string]struct {
		has   noted
		other func(t *testing.T, s *server, l *Ledger)
		want  noted
	}{
		"an entry":               {noted{ref("a"): "1"}, func(t *testing.T, _ *server, l *Ledger) { t.Helper(); put(t, l, noted{ref("b"): "1"}) }, noted{ref("a"): "1", ref("b"): "1"}},
		"the first entry of all": {noted{}, func(t *testing.T, _ *server, l *Ledger) { t.Helper(); put(t, l, noted{ref("b"): "1"}) }, noted{ref("b"): "1"}},
		"a split": {noted{ref("a"): "1"}, func(t *testing.T, _ *server, l *Ledger) {
			t.Helper()
			put(t, l, large(60))
		}, func() noted { all := large(60); all[ref("a")] = "1"; return all }()},
		"deleted by somebody": {noted{ref("a"): "1", ref("b"): "2"}, func(t *testing.T, s *server, _ *Ledger) {
			t.Helper()
			if err := s.CoreV1().ConfigMaps("ops").Delete(t.Context(), shardName("shop", 0, 1), metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}, noted{ref("a"): "1", ref("b"): "2"}},
		"damaged by somebody": {noted{ref("a"): "1", ref("b"): "2"}, func(t *testing.T, s *server, _ *Ledger) {
			t.Helper()
			s.edit(t, "-shop.0-of-1", func(m *corev1.ConfigMap) { m.Data = map[string]string{"Deployment.a": ""} })
		}, noted{ref("a"): "1", ref("b"): "2"}},
		"made immutable by somebody": {noted{ref("a"): "1"}, func(t *testing.T, s *server, _ *Ledger) {
			t.Helper()
			s.edit(t, "-shop.0-of-1", func(m *corev1.ConfigMap) { m.Immutable = new(bool); *m.Immutable = true })
		}, noted{ref("a"): "1"}},
		"a label removed by somebody": {noted{ref("a"): "1"}, func(t *testing.T, s *server, _ *Ledger) {
			t.Helper()
			s.edit(t, "-shop.0-of-1", func(m *corev1.ConfigMap) { delete(m.Labels, ledgerLabel) })
		}, noted{ref("a"): "1"}},
		"edited by somebody": {noted{ref("a"): "1", ref("b"): "2"}, func(t *testing.T, s *server, _ *Ledger) {
			t.Helper()
			s.edit(t, "-shop.0-of-1", func(m *corev1.ConfigMap) { m.Data = map[string]string{"Deployment.a": "0"} })
		}, noted{ref("a"): "0"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			one, two := s.ledger(), s.ledger()
			put(t, one, c.has)
			loaded(t, one)
			loaded(t, two)
			c.other(t, s, one)
			if err := two.Put(t.Context(), "shop", noted{ref("a"): "mine"}); !errors.Is(err, ErrLedgerMoved) {
				t.Fatalf("error %v", err)
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
		"what this process wrote":       {"-shop.0-of-1", "102", false, false},
		"what was before that":          {"-shop.0-of-1", "99", false, false},
		"what came after":               {"-shop.0-of-1", "1000", false, true},
		"a version that is not ordered": {"-shop.0-of-1", "x", false, true},
		"deleted":                       {"-shop.0-of-1", "1000", true, true},
		"deleted, seen late":            {"-shop.0-of-1", "102", true, true},
		"deleted before it was created": {"-shop.0-of-1", "99", true, false},
		"split":                         {"-shop.2-of-4", "1000", false, true},
		"split before, and undone":      {"-shop.2-of-4", "99", true, false},
		"of another namespace":          {"-other.0-of-1", "1000", false, false},
	} {
		namespace, _, _ := strings.Cut(c.name[1:], ".")
		l.see(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: LedgerName + c.name, ResourceVersion: c.version, Labels: map[string]string{ledgerNamespace: namespace}}}, c.gone)
		got, changed, err := l.Changed(t.Context(), "shop")
		if err != nil || changed != c.want || changed && !maps.Equal(got, noted{ref("a"): "1"}) {
			t.Errorf("%s: changed %v to %v, error %v; want %v", name, changed, got, err, c.want)
		}
	}
}

// TestLedgerDamaged: what cannot be read is logged, kept under another name, and lost. All else is as it was.
func TestLedgerDamaged(t *testing.T) {
	for name, damage := range map[string]func(*corev1.ConfigMap){
		"no kind":           func(m *corev1.ConfigMap) { m.Data["web"] = "x" },
		"no entry":          func(m *corev1.ConfigMap) { m.Data["Deployment.a"] = "" },
		"too long an entry": func(m *corev1.ConfigMap) { m.Data["Deployment.a"] = strings.Repeat("x", MaxLedgerEntry+1) },
		"binary data":       func(m *corev1.ConfigMap) { m.BinaryData = map[string][]byte{"x": {1}} },
		"another namespace": func(m *corev1.ConfigMap) { m.Labels[ledgerNamespace] = "shop2" },
		"no namespace":      func(m *corev1.ConfigMap) { delete(m.Labels, ledgerNamespace) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			l := s.ledger()
			loaded(t, l)
			put(t, l, noted{ref("a"): "1"})
			other := noted{{Kind: "Deployment", Namespace: "other", Name: "b"}: "1"}
			if err := l.Put(t.Context(), "other", other); err != nil {
				t.Fatal(err)
			}
			for range 2 { // a second time what is kept takes the place of what was kept first
				s.edit(t, "-shop.0-of-1", damage)
				var log strings.Builder
				fresh := s.ledger()
				fresh.cluster.options.Logger = slog.New(slog.NewTextHandler(&log, nil))
				same(t, "entries", other, loaded(t, fresh))
				if !strings.Contains(log.String(), "ops/reroll-ledger-shop.0-of-1") || !strings.Contains(log.String(), damagedStart) {
					t.Errorf("log: %s", log.String())
				}
				kept, err := s.CoreV1().ConfigMaps("ops").List(t.Context(), metav1.ListOptions{LabelSelector: ledgerLabel + "=" + ledgerDamaged})
				if err != nil || len(kept.Items) != 1 || kept.Items[0].Annotations[ledgerWasNamed] != "reroll-ledger-shop.0-of-1" || len(kept.Items[0].Data)+len(kept.Items[0].BinaryData) == 0 {
					t.Errorf("kept: %v, error %v", kept, err)
				}
				put(t, fresh, noted{ref("a"): "1"})
			}
			same(t, "entries", noted{ref("a"): "1", slices.Collect(maps.Keys(other))[0]: "1"}, loaded(t, s.ledger()))
		})
	}
}

// TestLedgerSplitCutShort: wherever a process ends while it splits a namespace, the next one knows all of before or all of after.
func TestLedgerSplitCutShort(t *testing.T) {
	for cut := range 6 {
		t.Run(fmt.Sprint("after ", cut, " writes"), func(t *testing.T) {
			s := newServer()
			l := s.ledger()
			loaded(t, l)
			put(t, l, noted{ref("a"): "1"})
			s.written()
			s.fail = func(string) error {
				if len(s.writes) >= cut {
					return errors.New("cut")
				}
				return nil
			}
			err := l.Put(t.Context(), "shop", large(60))
			if (err == nil) != (cut == 5) || errors.Is(err, ErrLedgerMoved) {
				t.Errorf("error %v", err)
			}
			s.fail = nil
			want := noted{ref("a"): "1"}
			if cut >= 4 {
				maps.Copy(want, large(60))
			}
			same(t, "after a start", want, loaded(t, s.ledger()))
			_, _, err = l.Changed(t.Context(), "shop")
			if err != nil {
				t.Fatal(err)
			}
			put(t, l, large(60))
			maps.Copy(want, large(60))
			same(t, "after another try", want, loaded(t, s.ledger()))
			left, err := s.CoreV1().ConfigMaps("ops").List(t.Context(), metav1.ListOptions{})
			if err != nil || len(left.Items) != 5 {
				t.Errorf("%d ConfigMaps, error %v", len(left.Items), err)
			}
		})
	}
}
