package applied_test

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/dispatcher/applied"
	"github.com/reroll-dev/reroll/reloader"
)

const uid = "0d6bb0cc-7d58-4dc9-8b48-9d2f7f5f0f5e"

func configNamed(name string) reloader.Config {
	return reloader.Config{Kind: reloader.ConfigMap, Namespace: "shop", Name: name}
}

// someState has entries of every form.
func someState() applied.State {
	return applied.State{
		Workload: uid, N: 7, Mark: "d41d8cd98f00b204e9800998ecf8427e", At: time.Unix(1_800_000_000, 0).UTC(), Noted: time.Unix(1_800_000_100, 0).UTC(), Listed: time.Unix(1_800_000_200, 0).UTC(),
		Rolls: 2.75, Requested: "0a1b", Retried: "2c3d",
		Writes: reloader.ByConfigOf(map[reloader.Config]applied.Write{
			configNamed("a"): {Version: "12", KeyID: "0123456789ab", Sum: "0123456789abcdef"},
			configNamed("b"): {Version: "13", KeyID: "0123456789ab", Sum: "ff", Used: "0f", Filter: "f1"},
			configNamed("c"): {},
			{Cluster: "hub", Kind: reloader.Secret, Namespace: "shop", Name: "d"}: {Version: "14", KeyID: "k", Sum: "1"},
			configNamed("e"): {Version: "15", KeyID: "k", Sum: "2", Out: true},
			configNamed("f"): {Out: true},
		}),
	}
}

func TestCodec(t *testing.T) {
	s := someState()
	onObject := s // is what the annotation keeps of it
	onObject.Noted, onObject.Listed, onObject.Retried = time.Time{}, time.Time{}, ""
	onObject.Writes = slices.DeleteFunc(slices.Clone(s.Writes), func(of reloader.OfConfig[applied.Write]) bool { return of.Value.Out })
	if got, err := applied.Parse(s.Annotation(), uid, nil); err != nil || !reflect.DeepEqual(got, onObject) {
		t.Errorf("annotation %s: %+v, %v", s.Annotation(), got, err)
	}
	if got, err := applied.Parse(s.Ledger(), uid, nil); err != nil || !reflect.DeepEqual(got, s) {
		t.Errorf("ledger %s: %+v, %v", s.Ledger(), got, err)
	}
	if got, err := applied.Parse("", uid, nil); err != nil || got.Known() {
		t.Errorf("no text: %+v, %v", got, err)
	}
}

func TestManyEntries(t *testing.T) {
	s := applied.State{Workload: uid, N: 1}
	var wanted []reloader.Config
	for i := range 1000 {
		c := configNamed(fmt.Sprintf("%0250d", i))
		s.Writes.Set(c, applied.Write{Version: "123456789", KeyID: "0123456789ab", Sum: "0123456789abcdef"})
		wanted = append(wanted, c)
	}
	text := s.Annotation()
	if len(text) > 60_000 {
		t.Errorf("the annotation of 1000 configs has %d bytes", len(text))
	}
	got, err := applied.Parse(text, uid, wanted)
	if err != nil || !reflect.DeepEqual(got, s) {
		t.Errorf("%d entries, %v", len(got.Writes), err)
	}
	if got, err := applied.Parse(text, uid, wanted[:10]); err != nil || len(got.Writes) != 10 {
		t.Errorf("10 are wanted: %d entries, %v", len(got.Writes), err)
	}
}

func TestDamaged(t *testing.T) {
	s := someState()
	text, ledger := s.Annotation(), s.Ledger()
	other := s
	other.Workload = "another"
	for text, want := range map[string]error{
		text[:len(text)-1]: applied.ErrDamaged, text[:60]: applied.ErrDamaged, uid: applied.ErrDamaged, "null": applied.ErrDamaged, " ": applied.ErrDamaged,
		strings.Replace(text, `"12,`, `"13,`, 1): applied.ErrDamaged, strings.Replace(text, `"n":7`, `"n":8`, 1): applied.ErrDamaged,
		other.Annotation(): applied.ErrAnother, other.Ledger(): applied.ErrAnother, strings.Replace(text, `"v1"`, `"v2"`, 1): applied.ErrDamaged,
		strings.Repeat("x", 300<<10): applied.ErrDamaged, strings.Replace(ledger, "12,", `12\u0000,`, 1): applied.ErrDamaged,
	} {
		if got, err := applied.Parse(text, uid, nil); !errors.Is(err, want) || got.Known() {
			t.Errorf("%.60q: %+v, %v; want %v", text, got, err, want)
		}
	}
}

// FuzzParse: what is read of an annotation or the ledger is written and read as the same, whatever the text, also with a right checksum.
func FuzzParse(f *testing.F) {
	f.Add(someState().Annotation(), uint64(1), 1.5, "r", "a", "12")
	f.Add(someState().Ledger(), uint64(7), -1.0, "\x00", "a/b", ",")
	f.Add("", uint64(1), math.Inf(1), "", "a", "12")
	f.Fuzz(func(t *testing.T, text string, n uint64, rolls float64, requested, name, write string) {
		wanted := []reloader.Config{configNamed("a")}
		forged := applied.State{Workload: uid, N: n, Rolls: rolls, Requested: requested, Writes: reloader.ByConfigOf(map[reloader.Config]applied.Write{
			configNamed(name): {Version: write, KeyID: write, Sum: write, Used: write, Filter: write},
		})}
		for _, text := range []string{text, forged.Annotation(), forged.Ledger()} {
			s, err := applied.Parse(text, uid, wanted)
			if err != nil && s.Known() || !(s.Rolls >= 0 && s.Rolls <= 10_000) {
				t.Fatalf("a state and an error, or too many rolls: %+v, %v", s, err)
			}
			again, err := applied.Parse(s.Ledger(), uid, wanted)
			if s.Known() && (err != nil || !reflect.DeepEqual(s, again)) {
				t.Fatalf("%q is read as %+v, and again as %+v, %v", text, s, again, err)
			}
		}
	})
}
