// Package audit turns audit events of Kubernetes API servers into hints: Decode those that a server posts to its audit webhook, an
// EventList of audit.k8s.io/v1, and DecodeShipped those that come from an audit log, by whatever shipper.
//
// Guarantees:
//   - An event becomes a hint unless it cannot have changed a ConfigMap or Secret; where its outcome is unknown it becomes one.
//   - An update of a SecretProviderClassPodStatus becomes a hint about every SecretProviderClass of its namespace.
//   - One bad event is skipped and counted, and never costs the others of its body. A body that is bad as a whole yields no hint.
//   - No event is too deep: whatever nests in the parts that are passed over, the event is read and so are those after it.
//   - Every hint names a config that reloader.Config.Validate accepts, and its texts are within the limits of package reloader.
//   - Request bodies, response bodies and annotations are passed over token by token. Nothing of them is kept, and no error quotes them.
//   - Memory grows with the hints, not with the body: with Limits.MaxHints and, once for each level of envelopes, with the longest single
//     event or text, itself at most Limits.MaxEventBytes. All of it is claimed before it is used (Options.Claim).
//
// The keys of the list and of its events are matched exactly, with case. Repeated keys and invalid UTF-8 are tolerated, the last
// value wins: API servers up to 1.36 copy the body of a PATCH into the event unread, so that refusing either would let anyone who
// may patch a ConfigMap destroy a whole batch. Only a repeated list of items is refused, since no API user can cause that.
package audit

import (
	"cmp"
	"errors"
	"io"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// Limits bound what Decode does for one body. A zero field means its default. The length of the body is for the caller to limit.
type Limits struct {
	// MaxItems is how many events a body may hold.
	MaxItems int
	// MaxHints is how many different hints a body may yield, and with it how many different configs it may name.
	MaxHints int
	// MaxEventBytes is how long one event may be. No API server makes events of the default length: it takes at most 3 MiB of
	// request and stores half of that.
	MaxEventBytes int64
	// MaxInflatedBytes is how long everything that is compressed within a body may be when it is not. Only shipped bodies hold such.
	MaxInflatedBytes int64
}

// The defaults of Limits.
const (
	DefaultMaxItems         = 50_000
	DefaultMaxHints         = 20_000
	DefaultMaxEventBytes    = 16 << 20
	DefaultMaxInflatedBytes = 128 << 20
)

func (l Limits) withDefaults() Limits {
	return Limits{
		MaxItems:         cmp.Or(l.MaxItems, DefaultMaxItems),
		MaxHints:         cmp.Or(l.MaxHints, DefaultMaxHints),
		MaxEventBytes:    cmp.Or(l.MaxEventBytes, DefaultMaxEventBytes),
		MaxInflatedBytes: cmp.Or(l.MaxInflatedBytes, DefaultMaxInflatedBytes),
	}
}

// Options say how hints are made.
type Options struct {
	// Cluster and Received are copied into every hint.
	Cluster  string
	Received time.Time
	// Source is copied into every hint; empty means reloader.SourceAudit.
	Source reloader.Source
	// KeepHelmReleases keeps events about the Secrets in which Helm stores its releases, which no workload uses.
	KeepHelmReleases bool
	Limits           Limits
	// Claim asks for more memory, in bytes, before it is used, and reports whether there is some; nil always has some. What was claimed
	// is needed until the result is.
	Claim func(bytes int64) bool
}

// claim asks for memory.
func (o Options) claim(bytes int64) error {
	if o.Claim == nil || o.Claim(bytes) {
		return nil
	}
	return ErrNoRoom
}

func (o Options) withDefaults() Options {
	o.Limits, o.Source = o.Limits.withDefaults(), cmp.Or(o.Source, reloader.SourceAudit)
	return o
}

// advice tells whoever sends bodies that are too large what to mend.
func (o Options) advice() string {
	if o.Source == reloader.SourceAudit {
		return "lower --audit-webhook-batch-max-size"
	}
	return "make the shipper send smaller requests"
}

// Result is what a body held. Received equals the number of hints and of all skipped events together.
type Result struct {
	// Hints are in the order in which their configs first appeared.
	Hints []reloader.Hint
	// Received is how many events the body held.
	Received int
	// Skipped says why the other events became no hint of their own.
	Skipped map[Skip]int
}

// The classes of errors. An error of neither class is one of the reader, and wraps it.
var (
	// ErrMalformed means that the body is not an EventList of audit.k8s.io/v1 or, if it was shipped, that nothing of it is JSON.
	ErrMalformed = errors.New("malformed body")
	// ErrTooLarge means that the body exceeds one of the Limits.
	ErrTooLarge = errors.New("body too large")
	// ErrNoRoom means that Options.Claim had no memory left: the body may be read later.
	ErrNoRoom = errors.New("no memory left for the body")
)

// Decode reads one EventList from r, up to its end. On an error there is no result at all.
func Decode(r io.Reader, opts Options) (Result, error) {
	d := newListDecoder(r, opts.withDefaults())
	if err := d.list(); err != nil {
		return Result{}, d.scan.explain(err)
	}
	return d.events.result(), nil
}
