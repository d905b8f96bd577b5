package queue

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"

	"github.com/reroll-dev/reroll/reloader"
)

// Following is what a Forwarder asks and tells about configs that are followed across clusters; every field must be set, or none. Calls
// may overlap.
type Following struct {
	// Followed returns the configs of other clusters that workloads of this one follow. It is asked every few seconds.
	Followed func() []reloader.Follow
	// Received gets the newest copy of each of them, more than once perhaps.
	Received func(reloader.Copy)
	// Wanted gets what other clusters want to follow here, again and again.
	Wanted func(reloader.Want)
}

const (
	// wantInterval is how often owners are told what is followed, and copyInterval how often copies are looked for although nobody told of
	// one. A config that is newly followed is asked for at followedInterval at the latest.
	wantInterval, copyInterval = 30 * time.Second, 10 * time.Second
	followedInterval           = 2 * time.Second
	// firstApartWait is when what a hub seems not to be set up for is first tried again, and refusedWait when it is at last.
	firstApartWait = time.Second
)

func copySubject(c reloader.Copy) (string, error) {
	if err := reloader.ValidateCluster(c.Target); err != nil {
		return "", err
	}
	return configSubject(followPrefix+"."+escape(c.Owner), c.Target, c.Config)
}

// Send has c stored at the hub as soon as it is reached, in the place of any older copy of the same config for the same target, and not in that of
// a later one. It does not block.
func (f *Forwarder) Send(c reloader.Copy) {
	subject, err := copySubject(c)
	if err != nil || c.Owner != f.Cluster {
		f.Logger.Error("a copy has no place at the hub", "config", c.Config.String(), "target", c.Target, "error", err)
		return
	}
	if !f.keep(subject, c, time.Now()) {
		return
	}
	select {
	case f.copyNews <- struct{}{}:
	default: // it is known that there are some
	}
}

// keep has c sent unless a later one was told before, and reports whether it is.
func (f *Forwarder) keep(subject string, c reloader.Copy, now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.copies[subject].Later(c, now) {
		return false
	}
	f.copies[subject] = c
	f.unsent[subject] = struct{}{}
	if f.heard[c.Target].IsZero() {
		f.heard[c.Target] = now
	}
	return true
}

// apart runs what a hub may not be set up for, so that records are forwarded to it all the same. A hub whose servers have just started looks
// like that for a moment, so that it is believed only if it lasts.
func (f *Forwarder) apart(ctx context.Context, run func() error) error {
	wait := firstApartWait
	for {
		began := time.Now()
		err := run()
		if ctx.Err() != nil || !errors.Is(err, ErrNotSetUp) && !errors.Is(err, ErrDenied) {
			return err
		}
		if time.Since(began) > refusedWait {
			wait = firstApartWait
		}
		if wait < refusedWait {
			f.Logger.Info("following across clusters was interrupted; trying again", "error", err)
		} else {
			f.Logger.Warn("the hub is not set up for configs that are followed across clusters", "error", err)
		}
		if !pause(ctx, wait) {
			return ctx.Err()
		}
		wait = min(2*wait, refusedWait)
	}
}

// send stores copies at the hub until something goes wrong. What is not stored by then is tried again.
func (f *Forwarder) send(ctx context.Context, h *hub) error {
	f.mu.Lock()
	f.dropSilent(time.Now())
	for subject := range f.copies {
		f.unsent[subject] = struct{}{} // the hub may have forgotten
	}
	f.mu.Unlock()
	for {
		for subject, c := range f.takeUnsent() {
			if err := h.putCopy(ctx, subject, c); err != nil {
				return fmt.Errorf("send a copy of %s to %s: %w", c.Config, c.Target, err)
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-f.copyNews:
		}
	}
}

func (f *Forwarder) takeUnsent() map[string]reloader.Copy {
	f.mu.Lock()
	defer f.mu.Unlock()
	taken := map[string]reloader.Copy{}
	for subject := range f.unsent {
		taken[subject] = f.copies[subject]
	}
	clear(f.unsent)
	return taken
}

// putCopy stores c unless the hub has just that, or a later one: another process of this cluster leads then. Where that had a clock ahead of ours and
// leads no more, c is dropped although it is newer. That ends when our clock has come to the time of the copy there: who wants the config
// asks again, and it is told anew.
func (h *hub) putCopy(ctx context.Context, subject string, c reloader.Copy) error {
	data, err := reloader.EncodeWithin(c, h.q.limit())
	if err != nil {
		return err
	}
	for range maxOutrun {
		last, err := h.last(ctx, followsStream, subject)
		if err != nil {
			return err
		}
		was, err := reloader.Decode[reloader.Copy](last.data)
		if err == nil && (was.Later(c, time.Now()) || was.Same(c)) {
			return nil
		}
		_, err = h.put(ctx, newMessage(subject, "copy", c.Owner, c.At, data), last.sequence)
		if err == nil || !errors.Is(err, reloader.ErrOutrun) {
			return err
		}
	}
	return reloader.ErrOutrun
}

// follow tells owners what is followed here, and hands over their copies, until something goes wrong.
func (f *Forwarder) follow(ctx context.Context, h *hub, to Following) error {
	touched, wanted := make(chan *nats.Msg, 1024), make(chan *nats.Msg, 1024)
	for subject, into := range map[string]chan *nats.Msg{
		toldPrefix + "." + followPrefix + ".*." + escape(f.Cluster) + ".>": touched,
		toldPrefix + "." + wantPrefix + "." + escape(f.Cluster) + ".*":     wanted,
	} {
		sub, err := h.q.nc.ChanSubscribe(subject, into)
		if err != nil {
			return fmt.Errorf("listen to %s: %w", subject, err)
		}
		defer sub.Unsubscribe() //nolint:errcheck // the connection may be gone
	}
	all, ctx := errgroup.WithContext(ctx)
	all.Go(func() error { return f.hearWants(ctx, wanted, to) })
	t := &tuning{f: f, h: h, to: to}
	all.Go(func() error { return t.run(ctx, touched) })
	return all.Wait()
}

func (f *Forwarder) hearWants(ctx context.Context, wanted <-chan *nats.Msg, to Following) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case m := <-wanted:
			w, err := reloader.Decode[reloader.Want](m.Data)
			if err != nil || m.Subject != toldPrefix+"."+wantSubject(w) {
				f.Logger.Warn("a cluster wants something that cannot be understood", "subject", m.Subject, "error", err)
				continue
			}
			to.Wanted(w) // from then on nothing more is sent to it
			f.dropCopies(w, time.Now())
		}
	}
}

// dropCopies forgets copies for the target of w of what it does not want any more, so that it cannot have more and more of them kept.
func (f *Forwarder) dropCopies(w reloader.Want, now time.Time) {
	wanted := make(map[reloader.Config]struct{}, len(w.Configs))
	for _, c := range w.Configs {
		wanted[c] = struct{}{}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.heard[w.Target] = now
	f.dropWhere(func(c reloader.Copy) bool {
		_, still := wanted[c.Config]
		return c.Target == w.Target && !still
	})
}

// dropSilent forgets the copies for targets that have not asked for anything for as long as anybody remembers them. The caller holds mu.
func (f *Forwarder) dropSilent(now time.Time) {
	maps.DeleteFunc(f.heard, func(_ string, at time.Time) bool { return now.Sub(at) > askedTime })
	f.dropWhere(func(c reloader.Copy) bool { return f.heard[c.Target].IsZero() })
}

// dropWhere forgets copies. The caller holds mu.
func (f *Forwarder) dropWhere(which func(reloader.Copy) bool) {
	for subject, c := range f.copies {
		if which(c) {
			delete(f.copies, subject)
			delete(f.unsent, subject)
		}
	}
}

func wantSubject(w reloader.Want) string {
	return wantPrefix + "." + escape(w.Owner) + "." + escape(w.Target)
}
