// Package audit turns the audit events of Kubernetes API servers into hints: Decode those that a server posts to its audit webhook, an
// EventList of audit.k8s.io/v1, and DecodeShipped those that log shippers post.
//
// Guarantees:
//   - An event becomes a hint unless it cannot have changed a ConfigMap or Secret. An unknown outcome counts as a change.
//   - An update of a SecretProviderClassPodStatus becomes a hint about every SecretProviderClass of its namespace.
//   - An event that is too long, nested too deeply or not JSON is skipped and counted, and costs no other event of its body. A body that is
//     bad as a whole yields no hint.
//   - Every hint names a config that reloader.Config.Validate accepts, and its texts are within the limits of package reloader.
//   - Request bodies, response bodies and other annotations are not decoded. No error quotes anything of a body.
//   - Memory grows with the hints and with one event at a time, besides the body itself.
//
// The keys of the list and of its events are matched exactly, with case. Repeated keys and invalid UTF-8 are tolerated, the last
// value wins: API servers up to 1.36 copy the body of a PATCH into the event unread, so that refusing either would let anyone who
// may patch a ConfigMap destroy a whole batch. Only a repeated list of items is refused, since no API user can cause that.
package audit

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// Limits bound what Decode does for one body. A zero field means its default. The length of the body is for the caller to limit.
type Limits struct {
	// MaxItems is how many events a body may hold.
	MaxItems int
	// MaxHints is how many different hints a body may yield, and with it how many different configs it may name.
	MaxHints int
	// MaxEventBytes is how long one event may be, and one compressed record when it is not. No API server makes events of the default length: it
	// takes at most 3 MiB of request and stores half of that.
	MaxEventBytes int
	// MaxInflatedBytes is how long all compressed records of a shipped body may be together when they are not.
	MaxInflatedBytes int
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
	// Cluster, Received and Source are copied into every hint.
	Cluster  string
	Received time.Time
	Source   reloader.Source
	Limits   Limits
}

// Result is what a body held. Received equals the number of hints and of all skipped events together.
type Result struct {
	// Hints are in the order of their configs' first appearance.
	Hints []reloader.Hint
	// Received is how many events the body held.
	Received int
	// Skipped says why the other events became no hint of their own.
	Skipped map[Skip]int
}

// The classes of errors.
var (
	// ErrMalformed means that the body is not an EventList of audit.k8s.io/v1 or, if it was shipped, that nothing of it is an audit event.
	ErrMalformed = errors.New("malformed body")
	// ErrTooLarge means that the body exceeds one of the Limits.
	ErrTooLarge = errors.New("body too large")
)

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

// What an EventList says of itself.
const (
	listKind       = "EventList"
	listAPIVersion = "audit.k8s.io/v1"
)

// Decode reads body, one EventList. An error comes without a result.
func Decode(body []byte, opts Options) (Result, error) {
	list := trimLeft(body)
	switch {
	case len(list) == 0:
		return Result{}, malformed("it is empty")
	case list[0] != '{':
		return Result{}, malformed("it is not a JSON object")
	}
	b := newBatch(opts)
	rest, err := b.list(list)
	switch {
	case errors.Is(err, errSplit):
		return Result{}, malformed("it is not valid JSON, or is incomplete: %v", err)
	case err != nil:
		return Result{}, err
	case len(trimLeft(rest)) > 0:
		return Result{}, malformed("something follows the EventList at byte %d", len(body)-len(rest))
	}
	return b.Result, nil
}

// list adds the hints of an EventList, whose members may be in any order, and returns what follows it.
func (b *batch) list(body []byte) (rest []byte, err error) {
	head := map[string]string{}
	hasItems := false
	rest, err = splitObject(body, func(name, at []byte) ([]byte, error) {
		isItems := string(name) == "items"
		if isItems && hasItems {
			return nil, malformed("it has items twice")
		}
		if hasItems = hasItems || isItems; isItems && at[0] == '[' {
			return splitArray(at, b.item)
		}
		value, rest := splitValue(at)
		switch {
		case isItems && string(value) != "null":
			return nil, malformed("its items are not an array")
		case string(name) == "kind" || string(name) == "apiVersion":
			text, _ := unquote(nil, value) // a value that is not a text does not match
			head[string(name)] = string(text)
		}
		return rest, nil
	})
	if err == nil && (head["kind"] != listKind || head["apiVersion"] != listAPIVersion) {
		err = malformed("it is not kind %s of apiVersion %s; set --audit-webhook-version to that apiVersion", listKind, listAPIVersion)
	}
	return rest, err
}

// item adds the event that at starts with, and returns what follows it. Where one ends that cannot be read, its brackets say.
func (b *batch) item(at []byte) (rest []byte, err error) {
	if rest, ok := b.read(at); ok {
		return rest, b.add(&b.event)
	}
	_, rest = splitValue(at)
	return rest, b.skip(SkipMalformed)
}

// read reads the event that at starts with, and returns what follows it, if there is one.
func (b *batch) read(at []byte) (rest []byte, ok bool) {
	if at[0] != '{' {
		return nil, false
	}
	b.start(at, b.opts.Limits.MaxEventBytes)
	b.readEvent(&b.event)
	return at[b.decoder.InputOffset():], b.err == nil
}
