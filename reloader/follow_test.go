package reloader_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

func TestFollowNamesConfigsOfTheOwner(t *testing.T) {
	foreign := prices
	foreign.Cluster = "red"
	for name, c := range map[string]reloader.Config{"of a third cluster": foreign, "of no name": {Kind: reloader.Secret, Namespace: "shop"}} {
		data, err := reloader.Encode(reloader.Copy{Owner: "blue", Target: "green", Config: c})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := reloader.Decode[reloader.Copy](data); !errors.Is(err, reloader.ErrInvalidName) {
			t.Errorf("a copy %s: %v", name, err)
		}
	}
	if got := wholeCopy.Followed().String(); got != "blue/ConfigMap/shop/prices.v2" {
		t.Errorf("followed as %s", got)
	}
}

// TestWantIsBounded: a cluster may ask for so much that it fits on the wire whatever its names are, and no more.
func TestWantIsBounded(t *testing.T) {
	w := reloader.Want{Owner: strings.Repeat("o", 63), Target: strings.Repeat("t", 63), Configs: make([]reloader.Config, reloader.MaxWanted), Numbers: make([]uint64, reloader.MaxWanted)}
	for i := range w.Configs {
		w.Numbers[i] = math.MaxUint64
		w.Configs[i] = reloader.Config{Kind: reloader.SecretProviderClass, Namespace: strings.Repeat("n", 63), Name: strings.Repeat("c", 253)}
	}
	data, err := reloader.Encode(w)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := reloader.Decode[reloader.Want](data); err != nil || len(got.Configs) != reloader.MaxWanted {
		t.Errorf("as many as are allowed: %d, %v", len(got.Configs), err)
	}
	w.Configs, w.Numbers = make([]reloader.Config, reloader.MaxWanted+1), nil
	for i := range w.Configs {
		w.Configs[i] = prices
	}
	if data, err = reloader.Encode(w); err != nil {
		t.Fatal(err)
	}
	if _, err := reloader.Decode[reloader.Want](data); err == nil || !strings.Contains(err.Error(), "more than 1000") {
		t.Errorf("one more: %v", err)
	}
}

// TestSameCopies: what is said later about the same change is another copy, and what the wire has made of a copy is none.
func TestSameCopies(t *testing.T) {
	data, err := reloader.Encode(wholeCopy)
	if err != nil {
		t.Fatal(err)
	}
	again, err := reloader.Decode[reloader.Copy](data)
	if err != nil {
		t.Fatal(err)
	}
	local := wholeCopy
	local.At = at.Add(1)
	local.Change.Candidates = slices.Clone(local.Change.Candidates)
	for i := range local.Change.Candidates {
		local.Change.Candidates[i].Time = local.Change.Candidates[i].Time.In(time.FixedZone("somewhere", 3600))
	}
	if len(local.Change.Candidates) == 0 || !again.Same(local) {
		t.Errorf("%+v is another copy than %+v", again, local)
	}
	attributed := local
	attributed.Change.Candidates = append(attributed.Change.Candidates, reloader.Candidate{Actor: reloader.Actor{User: "bob"}})
	renamed := local
	renamed.Change.Candidates = slices.Clone(local.Change.Candidates)
	renamed.Change.Candidates[0].Basis = reloader.BasisAmbiguous
	if local.Same(attributed) || local.Same(renamed) {
		t.Error("one that names others is the same")
	}
}
