//go:build nightly

package queue

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/reloader"
)

// TestForwardTellsOfNoGapAfterAKill: what was brought after the position was last told, and has gone since, is not missing.
func TestForwardTellsOfNoGapAfterAKill(t *testing.T) {
	address := hubServer(t, t.TempDir(), -1).ClientURL()
	sight := hubSight(t, address)
	q := open(t, Options{})
	stop := forwarding(t, q, address, "uid-1", nil)
	first := edit(t, q, "quiet", 0, 1)
	eventually(t, "the position", func() bool { return sight().Positions[reloader.ChangeRecords].Sequence == first })
	at := open(t, Options{URL: address, Role: RoleHubAdmin})
	told, err := newHub(at).status(testContext(t), "blue")
	if err != nil {
		t.Fatal(err)
	}
	last := uint64(0)
	const brought = 2 * changesPerConfig
	for n := range brought {
		last = edit(t, q, "busy", last, n)
		eventually(t, "the change", func() bool {
			m, err := newHub(at).last(testContext(t), changesStream, "reroll.change.blue.configmap.shop.busy")
			return err == nil && m.origin.sequence == last
		})
	}
	stop()
	if err := at.PutClusterStatus(testContext(t), told); err != nil { // as if the process had ended before it could tell
		t.Fatal(err)
	}
	const missing = 10
	for n := range changesPerConfig + missing {
		last = edit(t, q, "busy", last, brought+n) // of these the first ones are really missing
	}
	forwarding(t, q, address, "uid-1", nil)
	eventually(t, "the position", func() bool { return sight().Positions[reloader.ChangeRecords].Sequence == last })
	gaps := sight().Gaps
	var n uint64
	for _, gap := range gaps {
		n += gap.Records
	}
	if n != missing {
		t.Errorf("told of %d missing changes, and %d are: %+v", n, missing, gaps)
	}
}

func TestProofsFillHoles(t *testing.T) {
	hole := func(after, to uint64) reloader.Gap { return reloader.Gap{After: after, Records: to - after} }
	for name, c := range map[string]struct {
		proofs map[uint64]uint64
		want   []reloader.Gap
	}{
		"nothing":           {nil, []reloader.Gap{hole(10, 20), hole(30, 40)}},
		"all":               {map[uint64]uint64{10: 40}, nil},
		"the start":         {map[uint64]uint64{0: 15}, []reloader.Gap{hole(15, 20), hole(30, 40)}},
		"the end":           {map[uint64]uint64{35: 50}, []reloader.Gap{hole(10, 20), hole(30, 35)}},
		"the middle":        {map[uint64]uint64{12: 14}, []reloader.Gap{hole(10, 12), hole(14, 20), hole(30, 40)}},
		"two together":      {map[uint64]uint64{5: 15, 15: 32}, []reloader.Gap{hole(32, 40)}},
		"between the holes": {map[uint64]uint64{20: 30}, []reloader.Gap{hole(10, 20), hole(30, 40)}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, filled([]reloader.Gap{hole(10, 20), hole(30, 40)}, c.proofs)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestWhatIsWithdrawnIsRemembered: also where the hub was told less than what it got said of it.
func TestWhatIsWithdrawnIsRemembered(t *testing.T) {
	for name, c := range map[string]struct{ told, lost, want reloader.Position }{
		"told all":          {reloader.Position{Sequence: 500}, reloader.Position{Sequence: 3, Withdrawn: 500}, reloader.Position{Sequence: 3, Withdrawn: 500}},
		"told late":         {reloader.Position{Sequence: 2}, reloader.Position{Sequence: 3, Withdrawn: 500}, reloader.Position{Sequence: 2, Withdrawn: 500}},
		"told by another":   {reloader.Position{Sequence: 600}, reloader.Position{Sequence: 3, Withdrawn: 500}, reloader.Position{Sequence: 3, Withdrawn: 600}},
		"not the first one": {reloader.Position{Sequence: 70, Withdrawn: 900}, reloader.Position{Withdrawn: 70}, reloader.Position{Withdrawn: 900}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := lowered(c.told, c.lost); got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

func FuzzProof(f *testing.F) {
	f.Add("3 17")
	f.Add("17 3")
	f.Add("-1 18446744073709551616")
	f.Fuzz(func(t *testing.T, text string) {
		p := parseProof(text)
		if p.to < p.after {
			t.Errorf("%q is read as %+v", text, p)
		}
		if p != (proof{}) && parseProof(fmt.Sprint(p)) != p {
			t.Errorf("%q is written as %s", text, p)
		}
	})
}

// TestRecordsProveWhatCameBefore: with themselves, and unless they came while it was not known that some of that was lost.
func TestRecordsProveWhatCameBefore(t *testing.T) {
	for name, c := range map[string]struct {
		withdrawn uint64
		is        newest
		want      proof
	}{
		"the first of all":      {0, newest{origin: origin{"s", 1}, proof: proof{0, 0}}, proof{0, 1}},
		"the next":              {0, newest{origin: origin{"s", 8}, proof: proof{3, 7}}, proof{3, 8}},
		"one of a batch":        {0, newest{origin: origin{"s", 9}, proof: proof{3, 7}}, proof{3, 7}},
		"another stream":        {0, newest{origin: origin{"r", 1}, proof: proof{0, 0}}, proof{}},
		"said too soon":         {7, newest{origin: origin{"s", 8}, proof: proof{3, 7}}, proof{}},
		"said since":            {7, newest{origin: origin{"s", 9}, proof: proof{3, 8}}, proof{3, 9}},
		"none at all":           {0, newest{}, proof{}},
		"an old one, withdrawn": {7, newest{origin: origin{"s", 1}, proof: proof{0, 0}}, proof{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := forwardStream{at: reloader.Position{Stream: "s", Withdrawn: c.withdrawn}}
			if got := s.proves(c.is); got != c.want {
				t.Errorf("it proves %v, want %v", got, c.want)
			}
		})
	}
}
