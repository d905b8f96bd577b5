package applied

import (
	"errors"

	"github.com/reroll-dev/reroll/reloader"
)

// Errors of Parse and ParseLedger.
var (
	// ErrDamaged means that the text is not one that Reroll wrote.
	ErrDamaged = errors.New("the text is damaged or was edited")
	// ErrAnother means that the text is that of another workload, as a copy has it.
	ErrAnother = errors.New("the text is that of another workload")
	// ErrNewer means that a newer version of Reroll wrote the text.
	ErrNewer = errors.New("the text is of a newer version of Reroll")
	// ErrTooLong means that the text is longer than any that Reroll writes.
	ErrTooLong = errors.New("the text is too long")
)

// Annotation returns the value of Key for s.
func (s State) Annotation() string { return "" }

// Parse reads the value of Key of the workload with a UID; NoUID for a Job. An empty text gives the zero State. More than 128 entries have
// no names, so those are read that are of one of wanted.
func Parse(text, uid string, wanted []reloader.Config) (State, error) { return State{}, nil }

// Ledger returns the text of s for the ledger: JSON.
func (s State) Ledger() string { return "" }

// ParseLedger reads the text of a workload with a UID from the ledger.
func ParseLedger(text, uid string) (State, error) { return State{}, nil }
