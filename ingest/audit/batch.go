package audit

import (
	"fmt"

	"github.com/reroll-dev/reroll/reloader"
)

// batch collects the hints of one body. A repeated hint replaces the earlier one: within a body, events are in the order in
// which their requests ended. Hints of different actors are all kept, so that each can be named as a candidate.
type batch struct {
	opts    Options
	hints   []reloader.Hint
	index   map[hintKey]int
	valid   map[reloader.Config]struct{}
	strings texts
}

// hintKey is what makes two hints the same. An unknown outcome needs a second look, which a known one must not hide.
type hintKey struct {
	config  reloader.Config
	verb    reloader.Verb
	actor   reloader.Actor
	unknown bool
}

func newBatch(opts Options) batch {
	return batch{opts: opts, index: map[hintKey]int{}, valid: map[reloader.Config]struct{}{}, strings: texts{}}
}

// add adds the hint of e or says why e adds none. It fails if there are too many.
func (b *batch) add(e *event) (Skip, error) {
	if skip := gate(e, &b.opts); skip != "" {
		return skip, nil
	}
	config, ok := b.config(e)
	if !ok {
		return SkipBadName, nil
	}
	return b.keep(reloader.Hint{
		Cluster:  b.opts.Cluster,
		Config:   config,
		Verb:     mutatingVerb(e.verb),
		Source:   b.opts.Source,
		Actor:    b.actor(e),
		AuditID:  clean(e.auditID, reloader.MaxAuditIDLength),
		Code:     e.code,
		Time:     stageTime(e, b.opts.Received),
		Received: b.opts.Received,
	})
}

func (b *batch) keep(h reloader.Hint) (Skip, error) {
	key := hintKey{config: h.Config, verb: h.Verb, actor: h.Actor, unknown: h.OutcomeUnknown()}
	if i, repeated := b.index[key]; repeated {
		b.hints[i] = h
		return SkipRepeated, nil
	}
	if len(b.hints) == b.opts.Limits.MaxHints {
		return "", fmt.Errorf("%w: it holds more than %d different changes; %s", ErrTooLarge, len(b.hints), b.opts.advice())
	}
	if err := b.opts.claim(sizeOf(h)); err != nil {
		return "", err
	}
	b.index[key] = len(b.hints)
	b.hints = append(b.hints, h)
	return "", nil
}

// hintBytes is what a hint takes, with its places in the batch and without its texts.
const hintBytes = 1 << 10

func sizeOf(h reloader.Hint) int64 {
	a := h.Actor
	texts := len(h.Config.Namespace) + len(h.Config.Name) + len(h.AuditID) +
		len(a.User) + len(a.AuthenticatedUser) + len(a.UserAgent) + len(a.SourceIP) + len(a.FieldManager)
	return int64(hintBytes + texts)
}

// config returns the config that e is about, if it can exist.
func (b *batch) config(e *event) (reloader.Config, bool) {
	verb := mutatingVerb(e.verb)
	if len(e.object.name) == 0 && needsName(verb) {
		return reloader.Config{}, false
	}
	// Names are looked at as they are and never cleaned, since a cleaned name would be another object's.
	config := reloader.Config{Kind: configKind(&e.object), Namespace: b.strings.exact(e.object.namespace)}
	if verb != reloader.VerbDeleteCollection && config.Kind != reloader.SecretProviderClass {
		config.Name = b.strings.exact(e.object.name)
	}
	if _, known := b.valid[config]; known {
		return config, true
	}
	if config.Validate() != nil {
		return reloader.Config{}, false
	}
	b.valid[config] = struct{}{}
	b.strings.remember(config.Namespace)
	b.strings.remember(config.Name)
	return config, true
}

func (b *batch) actor(e *event) reloader.Actor {
	actor := reloader.Actor{
		User:         b.strings.clean(e.user, reloader.MaxUserLength),
		UserAgent:    b.strings.clean(e.userAgent, reloader.MaxUserAgentLength),
		SourceIP:     b.strings.clean(e.sourceIP, reloader.MaxSourceIPLength),
		FieldManager: clean([]byte(fieldManager(e.requestURI)), reloader.MaxFieldManagerLength),
	}
	if len(e.impersonatedUser) == 0 {
		return actor
	}
	if effective := b.strings.clean(e.impersonatedUser, reloader.MaxUserLength); effective != actor.User {
		actor.User, actor.AuthenticatedUser = effective, actor.User
	}
	return actor
}
