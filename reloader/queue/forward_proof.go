package queue

import (
	"strconv"
	"strings"
	"sync"

	"github.com/reroll-dev/reroll/reloader"
)

// How far the hub is stands in the status of the cluster, which comes a little after the records. What has been brought since then may be
// gone here when it is read again, and would look like a gap. So each record says at the hub what was brought before it.

// proof says that everything after one sequence of a stream and up to another was brought.
type proof struct{ after, to uint64 }

// String returns the two sequences.
func (p proof) String() string {
	return strconv.FormatUint(p.after, 10) + " " + strconv.FormatUint(p.to, 10)
}

// parseProof reads a proof; the zero value, which proves nothing, if there is none.
func parseProof(text string) proof {
	first, second, _ := strings.Cut(text, " ")
	after, err := strconv.ParseUint(first, 10, 64)
	if err != nil {
		return proof{}
	}
	to, err := strconv.ParseUint(second, 10, 64)
	if err != nil || to < after {
		return proof{}
	}
	return proof{after, to}
}

// with returns p with the record that has it, if that is the next one.
func (p proof) with(sequence uint64) proof {
	if sequence == p.to+1 {
		p.to = sequence
	}
	return p
}

// maxProofs bounds the proofs that are remembered. One too few makes a gap that may be none.
const maxProofs = 1024

// brought is what became of a batch.
type brought struct {
	mu sync.Mutex
	// stored are the records that the hub did not have.
	stored int
	proofs map[uint64]uint64
}

func (b *brought) add(stored bool, p proof) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if stored {
		b.stored++
	}
	if known, ok := b.proofs[p.after]; p.to > p.after && (ok && p.to > known || !ok && len(b.proofs) < maxProofs) {
		b.proofs[p.after] = p.to
	}
}

// filled returns what is left of holes where proofs, from one sequence to another, say that everything was brought before it went.
func filled(holes []reloader.Gap, proofs map[uint64]uint64) []reloader.Gap {
	for after, to := range proofs {
		var left []reloader.Gap
		for _, hole := range holes {
			end := hole.After + hole.Records
			left = appendHole(left, hole, hole.After, min(end, after))
			left = appendHole(left, hole, max(hole.After, to), end)
		}
		holes = left
	}
	return holes
}

// appendHole adds the part of a hole after one sequence and up to another, unless that is nothing.
func appendHole(holes []reloader.Gap, hole reloader.Gap, after, to uint64) []reloader.Gap {
	if after >= to {
		return holes
	}
	hole.After, hole.Records = after, to-after
	return append(holes, hole)
}
