package audit

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/reroll-dev/reroll/reloader"
)

// batch collects the hints of one body. A repeated hint replaces the earlier one: within a body, events are in the order in which their requests
// ended. Hints of different actors are all kept, so that each can be named as a candidate.
type batch struct {
	Result
	opts  Options
	index map[hintKey]int
	// event is the one that is read, so that it is allocated once.
	event event
	reader
}

// hintKey is what makes two hints the same. An unknown outcome needs a second look, which a known one must not hide.
type hintKey struct {
	config  reloader.Config
	verb    reloader.Verb
	actor   reloader.Actor
	unknown bool
}

func newBatch(opts Options) *batch {
	opts.Limits = opts.Limits.withDefaults()
	return &batch{Result: Result{Skipped: map[Skip]int{}}, opts: opts, index: map[hintKey]int{}}
}

// count counts one more event, unless there are too many.
func (b *batch) count() error {
	if b.Received == b.opts.Limits.MaxItems {
		return fmt.Errorf("%w: it holds more than %d events", ErrTooLarge, b.Received)
	}
	b.Received++
	return nil
}

// skip counts an event that becomes no hint.
func (b *batch) skip(why Skip) error {
	if err := b.count(); err != nil {
		return err
	}
	b.Skipped[why]++
	return nil
}

// add adds the hint of e, or counts why there is none.
func (b *batch) add(e *event) error {
	if why := gate(e); why != "" {
		return b.skip(why)
	}
	query := queryOf(e.RequestURI)
	if isDryRun(e, query) {
		return b.skip(SkipDryRun)
	}
	h := b.hint(e, query)
	if !canExist(e, h) {
		return b.skip(SkipBadName)
	}
	key := hintKey{config: h.Config, verb: h.Verb, actor: h.Actor, unknown: h.OutcomeUnknown()}
	if i, repeated := b.index[key]; repeated {
		b.Hints[i] = h
		return b.skip(SkipRepeated)
	}
	if len(b.Hints) == b.opts.Limits.MaxHints {
		return fmt.Errorf("%w: it holds more than %d different changes", ErrTooLarge, len(b.Hints))
	}
	b.index[key] = len(b.Hints)
	b.Hints = append(b.Hints, h)
	return b.count()
}

func (b *batch) hint(e *event, query string) reloader.Hint {
	return reloader.Hint{
		Cluster:  b.opts.Cluster,
		Config:   configOf(e),
		Verb:     mutatingVerb(e.Verb),
		Source:   b.opts.Source,
		Actor:    actorOf(e, query),
		AuditID:  clean(e.AuditID, reloader.MaxAuditIDLength),
		Code:     e.Code,
		Time:     stageTime(e.Timestamp, b.opts.Received),
		Received: b.opts.Received,
	}
}

// configOf returns the config that e is about. Its names are never cleaned, since a cleaned name would be another object's.
func configOf(e *event) reloader.Config {
	config := reloader.Config{Kind: configKind(e.ObjectRef), Namespace: e.ObjectRef.Namespace, Name: e.ObjectRef.Name}
	if e.Verb == string(reloader.VerbDeleteCollection) || config.Kind.External() {
		config.Name = ""
	}
	return config
}

// canExist reports whether Kubernetes accepts the names of what e and its hint are about. An event is without a name where the API server chose
// that of the created object, which it does not tell, and where it is about a whole namespace.
func canExist(e *event, h reloader.Hint) bool {
	named := e.ObjectRef.Name != "" || h.Verb == reloader.VerbCreate || h.Verb == reloader.VerbDeleteCollection
	return named && h.Config.Validate() == nil
}

func actorOf(e *event, query string) reloader.Actor {
	actor := reloader.Actor{
		User:         clean(e.User, reloader.MaxUserLength),
		UserAgent:    clean(e.UserAgent, reloader.MaxUserAgentLength),
		SourceIP:     clean(e.SourceIP, reloader.MaxSourceIPLength),
		FieldManager: clean(parameter(query, "fieldManager"), reloader.MaxFieldManagerLength),
	}
	effective := clean(e.ImpersonatedUser, reloader.MaxUserLength)
	if effective != "" && effective != actor.User {
		actor.User, actor.AuthenticatedUser = effective, actor.User
	}
	return actor
}

// stageTime returns when the request ended, in UTC: what the event says if that can be stored, and otherwise when it came in.
func stageTime(text string, received time.Time) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil || !reloader.Storable(t) {
		return received
	}
	return t.UTC()
}

// clean returns the printable characters of s, as valid UTF-8 of at most limit bytes. It drops control characters and those that change the
// direction or the look of what follows them.
func clean(s string, limit int) string {
	if len(s) <= limit && isPlain(s) {
		return s
	}
	var out strings.Builder
	for _, r := range s {
		if !unicode.IsPrint(r) {
			continue
		}
		if out.Len()+utf8.RuneLen(r) > limit {
			break
		}
		out.WriteRune(r)
	}
	return out.String()
}

// isPlain reports whether s is printable ASCII.
func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
