package queue

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
)

// interrupts ends waiting calls early when the connection tells that their answer will never come: the server does not answer
// what it does not permit, and cannot answer once it is gone.
type interrupts struct {
	mu    sync.Mutex
	calls map[*call]struct{}
	// advice says how to go on after a denied message on a subject.
	advice func(subject string) string
}

type call struct {
	prefixes []string
	cancel   context.CancelCauseFunc
}

// guard returns a context for a call that publishes on subjects with one of the prefixes. The caller must call the function when
// the call has returned.
func (i *interrupts) guard(ctx context.Context, prefixes ...string) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	c := &call{prefixes: prefixes, cancel: cancel}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.calls == nil {
		i.calls = map[*call]struct{}{}
	}
	i.calls[c] = struct{}{}
	return ctx, func() {
		i.mu.Lock()
		delete(i.calls, c)
		i.mu.Unlock()
		cancel(nil)
	}
}

// disconnected ends every call.
func (i *interrupts) disconnected() {
	i.end(func(*call) bool { return true }, ErrDisconnected)
}

var deniedSubject = regexp.MustCompile(`(?i)(publish|subscription) to "([^"]+)"`)

// denied ends the calls that wait for what the server has denied, and returns an error that names it. Without an inbox no call gets an
// answer; whoever may not listen elsewhere goes on without that.
func (i *interrupts) denied(err error) error {
	named := fmt.Errorf("%w: %s", ErrDenied, strings.TrimPrefix(err.Error(), nats.ErrPermissionViolation.Error()+": "))
	match := deniedSubject.FindStringSubmatch(err.Error())
	if match == nil {
		return named
	}
	subject := match[2]
	if strings.EqualFold(match[1], "subscription") {
		if roles, reason := needing(subscriptionTable, subject); len(roles) > 0 { // where nobody waits for an answer
			return fmt.Errorf("%w; the role %s needs that, to %s", named, roleList(roles), reason)
		}
		named = fmt.Errorf("%w; answers come there: see --nats-inbox-prefix", named)
		i.end(func(*call) bool { return true }, named)
		return named
	}
	if i.advice != nil {
		named = fmt.Errorf("%w; %s", named, i.advice(subject))
	}
	i.end(func(c *call) bool {
		return slices.ContainsFunc(c.prefixes, func(prefix string) bool { return strings.HasPrefix(subject, prefix) })
	}, named)
	return named
}

func (i *interrupts) end(which func(*call) bool, cause error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for c := range i.calls {
		if which(c) {
			c.cancel(cause)
		}
	}
}

// isDenied reports whether the server told that it does not permit something.
func isDenied(err error) bool { return errors.Is(err, nats.ErrPermissionViolation) }
