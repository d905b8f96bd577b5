package auditlog

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/reroll-dev/reroll/ingest"
	"github.com/reroll-dev/reroll/ingest/audit"
	"github.com/reroll-dev/reroll/reloader"
)

// Options describe a Tail.
type Options struct {
	// Path is the file that the API server writes, its --audit-log-path. Rotated files are looked for in its folder.
	Path string
	// StatePath is the file in which the place in the log is saved. It belongs to this Tail alone.
	StatePath string
	// Cluster is the cluster whose log it is.
	Cluster string
	// KeepHelmReleases takes events about the Secrets in which Helm stores releases.
	KeepHelmReleases bool
	Limits           Limits

	// Sink stores the hints.
	Sink ingest.Sink
	// Logger and Registerer default to none.
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	// Now defaults to time.Now.
	Now func() time.Time
}

// Limits bound what a Tail does. A zero field means its default.
type Limits struct {
	// LineBytes is how long a line may be.
	LineBytes int
	// BatchLines is how many lines are stored together at most. Fewer are stored when there are no more at present.
	BatchLines int
	// Poll is how often the file is looked at when nothing is left to read.
	Poll time.Duration
	// RetryMin and RetryMax bound the pause before hints are stored again after that has failed; it doubles each time.
	RetryMin, RetryMax time.Duration
	// PutTimeout is the time for storing a batch, after which it is tried again.
	PutTimeout time.Duration
}

// The defaults of Limits.
const (
	DefaultLineBytes  = audit.DefaultMaxEventBytes
	DefaultBatchLines = 1000
	DefaultPoll       = 200 * time.Millisecond
	DefaultRetryMin   = 250 * time.Millisecond
	DefaultRetryMax   = 10 * time.Second
	DefaultPutTimeout = 10 * time.Second
)

func (l Limits) withDefaults() Limits {
	return Limits{
		LineBytes:  cmp.Or(l.LineBytes, DefaultLineBytes),
		BatchLines: cmp.Or(l.BatchLines, DefaultBatchLines),
		Poll:       cmp.Or(l.Poll, DefaultPoll),
		RetryMin:   cmp.Or(l.RetryMin, DefaultRetryMin),
		RetryMax:   cmp.Or(l.RetryMax, DefaultRetryMax),
		PutTimeout: cmp.Or(l.PutTimeout, DefaultPutTimeout),
	}
}

// Validate reports the first thing in o, but for the Sink, that would keep a Tail from working. Neither file has to exist.
func (o Options) Validate() error {
	l := o.Limits
	switch {
	case o.Path == "" || o.StatePath == "":
		return errors.New("the audit log needs both its path and the path of a file in which the place in it is saved")
	case filepath.Clean(o.Path) == filepath.Clean(o.StatePath):
		return fmt.Errorf("the place in the audit log cannot be saved in the audit log itself, %s", o.Path)
	case min(l.LineBytes, l.BatchLines) < 0 || min(l.Poll, l.RetryMin, l.RetryMax, l.PutTimeout) < 0:
		return errors.New("audit log limits must not be negative")
	}
	if err := reloader.ValidateCluster(o.Cluster); err != nil {
		return fmt.Errorf("audit log: %w", err)
	}
	return nil
}

func (o Options) withDefaults() Options {
	o.Limits = o.Limits.withDefaults()
	o.Path, o.StatePath = filepath.Clean(o.Path), filepath.Clean(o.StatePath)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Registerer == nil {
		o.Registerer = prometheus.NewRegistry()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}
