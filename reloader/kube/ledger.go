package kube

import (
	"context"
	"errors"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// Limits on the ledger.
const (
	// MaxLedgerEntry is the largest entry that the ledger takes, in bytes.
	MaxLedgerEntry = 64 << 10
)

// Errors of Ledger.Put.
var (
	// ErrLedgerMoved means that the ledger of a namespace is not what this process last read or wrote: another process wrote it, or it is gone. Call Changed, decide again, and call Put again.
	ErrLedgerMoved = errors.New("the ledger has changed since it was read")
	// ErrLedgerFull means that an entry is longer than MaxLedgerEntry, or that the ledger of the namespace has no room. Put wrote the other entries if it could.
	ErrLedgerFull = errors.New("the ledger does not take this entry")
)

// Ledger keeps one entry for each workload, an opaque text in UTF-8, in ConfigMaps of Reroll's own namespace. Each workload namespace has its own
// ConfigMaps, so that it affects no other one. Methods may be called at the same time; those for one namespace wait for each other.
//
// The leader alone calls Load and Put. If two processes lead for a moment, the resource versions of the ConfigMaps decide, and Put of the slower one returns ErrLedgerMoved.
type Ledger struct {
	cluster *Cluster
}

// NewLedger returns a ledger of which nothing has been read.
func NewLedger(c *Cluster) *Ledger { return &Ledger{cluster: c} }

// Load forgets what this process knows and reads all entries. It returns when the ledger was born: the creation of its oldest ConfigMap. The first Load makes one. A ConfigMap
// that cannot be read is logged, kept under another name, and treated as lost. In a dry run nothing is written, and a ledger that does not exist is born now.
func (l *Ledger) Load(ctx context.Context) (entries map[reloader.WorkloadRef]string, born time.Time, err error) {
	return nil, time.Time{}, errors.ErrUnsupported
}

// Watch has Changed know what others write, until ctx ends. It returns once it sees what exists. Without it, Changed knows only of an ErrLedgerMoved.
func (l *Ledger) Watch(ctx context.Context) error { return errors.ErrUnsupported }

// Changed reports whether the ledger of a namespace has changed by others since Load, Put or Changed, and returns all of its entries then. If nothing
// has changed it makes no request. A ConfigMap that is gone is made again, with the entries that this process holds.
func (l *Ledger) Changed(ctx context.Context, namespace string) (entries map[reloader.WorkloadRef]string, changed bool, err error) {
	return nil, false, errors.ErrUnsupported
}

// Put stores the entries of workloads of one namespace; an empty entry is forgotten. It writes only the ConfigMaps that change. After any error some of the entries may be
// stored; the same call again is safe. In a dry run it does nothing.
func (l *Ledger) Put(ctx context.Context, namespace string, changed map[reloader.WorkloadRef]string) error {
	return errors.ErrUnsupported
}
