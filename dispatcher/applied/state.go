package applied

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// Key is the annotation of a workload that holds its State.
const Key = "reroll.dev/applied"

// Write is one state of a config: which write it was, and which content it left. A Write without Sum is the absence of the config.
type Write struct {
	// Version is the resourceVersion of the write. For a SecretProviderClass it is that of the PodStatus that decides. An absent config has
	// none. Two writes of one config never have the same Version, so the object's UID is not needed.
	Version string
	// KeyID names the key of Sum and Used. Sum is the keyed digest of all keys of the config.
	KeyID, Sum string
	// Used is the keyed digest of the keys that count, and Filter says which those are. Both are empty if every key counts.
	Used, Filter string
	// Out says that the workload does not want the config any more. It is in the ledger alone.
	Out bool
}

// Absent reports whether w is the absence of a config.
func (w Write) Absent() bool { return w.Sum == "" }

// Unsure returns the entry of a config that pods may have read in part: no content is equal to it, and each is newer. keyID names a known key.
func (w Write) Unsure(keyID string) Write {
	return Write{Version: w.Version, KeyID: keyID, Sum: "ffffffffffffffff"}
}

// State is what is known about one workload.
type State struct {
	// Workload is the UID of the workload. The zero State has none and says that nothing is known. A Job's State on the object has NoUID.
	Workload string
	// N is the number of rolls of this object, and At is when the last of them was decided. Only a roll raises N.
	N  uint64
	At time.Time
	// Rolls counts the rolls until At; older ones count less.
	Rolls float64
	// Mark is the hash that roll N wrote into the pod template. Anyone who rolls sets it.
	Mark string
	// Writes has the write that each config was applied by.
	Writes reloader.ByConfig[Write]
	// Noted is when Writes were last changed. It is in the ledger alone, as is Listed: when the workload's patterns were
	// last matched against all configs, so that a config that is new to the workload and older was there; zero if they have changed since.
	Noted, Listed time.Time
	// Requested and Retried stand for the handled values of the annotations that request a roll or another try. Retried is in
	// the ledger alone.
	Requested, Retried string
}

// NoUID stands for the UID of a Job that does not exist yet.
const NoUID = "-"

// Known reports whether s says anything.
func (s State) Known() bool { return s.Workload != "" }

// AsOf returns a time at or after which s was true: that of the last roll or note.
func (s State) AsOf() time.Time { return reloader.Later(s.At, s.Noted) }

// Contents returns the content that s has applied of each config, as the hash in the pod template takes it.
func (s State) Contents() map[reloader.Config]string {
	contents := make(map[reloader.Config]string, len(s.Writes))
	for c, w := range s.wanted().All() {
		contents[c] = w.KeyID + ":" + w.Sum + ":" + w.Used
	}
	return contents
}

// Note returns s with other writes of some configs, as of a time of our clock.
func (s State) Note(writes map[reloader.Config]*Write, now time.Time) State {
	if len(writes) == 0 {
		return s
	}
	s.Writes = slices.Clone(s.Writes)
	for c, w := range writes {
		s.Writes.Set(c, *w)
	}
	s.Noted = now
	return s
}

// Roll returns s after one more roll. It drops dependencies that the workload no longer has.
func (s State) Roll(now time.Time) State {
	s.N, s.At, s.Writes = s.N+1, now, s.wanted()
	return s
}

// wanted returns the writes of configs that the workload still wants.
func (s State) wanted() reloader.ByConfig[Write] {
	return slices.DeleteFunc(slices.Clone(s.Writes), func(of reloader.OfConfig[Write]) bool { return of.Value.Out })
}

// CompareVersions orders resource versions of one cluster, which are numbers. It returns 0 if one is not a number.
func CompareVersions(a, b string) int {
	if !isNumber(a) || !isNumber(b) {
		return 0
	}
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

func isNumber(s string) bool {
	return s != "" && s[0] != '0' && strings.Trim(s, "0123456789") == ""
}
