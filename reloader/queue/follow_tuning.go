package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"

	"github.com/reroll-dev/reroll/reloader"
)

// tuning looks for copies of the configs that are followed.
type tuning struct {
	f  *Forwarder
	h  *hub
	to Following
	// asked is what owners were told last, at askedAt, and pollAt is when all copies were last looked for.
	asked           []reloader.Follow
	askedAt, pollAt time.Time

	mu sync.Mutex
	// seen has the sequence of the copy on each subject that was last handed over.
	seen map[string]uint64
	// earlier is since when a copy is found on a subject that is earlier than that.
	earlier map[string]time.Time
}

func (t *tuning) run(ctx context.Context, touched <-chan *nats.Msg) error {
	tick := time.NewTicker(followedInterval)
	defer tick.Stop()
	for {
		if err := t.round(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		case m := <-touched:
			// It says that there may be a copy; which one counts, the stream says. A server that lags is asked again with all.
			if err := t.look(ctx, strings.TrimPrefix(m.Subject, toldPrefix+".")); err != nil {
				return err
			}
			t.pollAt = time.Now().Add(-copyInterval + followedInterval/2)
		}
	}
}

// round does what is due.
func (t *tuning) round(ctx context.Context) error {
	followed := t.to.Followed()
	now := time.Now()
	if !slices.Equal(followed, t.asked) || now.Sub(t.askedAt) >= wantInterval {
		if err := t.ask(followed); err != nil {
			return err
		}
		t.asked, t.askedAt, t.pollAt = followed, now, time.Time{}
	}
	if now.Sub(t.pollAt) < copyInterval {
		return nil
	}
	t.pollAt = now
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(looksAtOnce)
	for _, f := range followed {
		c := f.Config
		c.Cluster = ""
		subject, err := copySubject(reloader.Copy{Owner: f.Config.Cluster, Target: t.f.Cluster, Config: c})
		if err != nil {
			return errors.Join(err, all.Wait())
		}
		all.Go(func() error { return t.look(ctx, subject) })
	}
	return all.Wait()
}

// looksAtOnce is how many copies are looked for at a time.
const looksAtOnce = 16

// ask tells each owner what is followed.
func (t *tuning) ask(followed []reloader.Follow) error {
	wants := map[string]*reloader.Want{}
	for _, f := range followed {
		c := f.Config
		if wants[c.Cluster] == nil {
			wants[c.Cluster] = &reloader.Want{Owner: c.Cluster, Target: t.f.Cluster}
		}
		w := wants[c.Cluster]
		c.Cluster = ""
		w.Configs, w.Numbers = append(w.Configs, c), append(w.Numbers, f.Number)
	}
	for _, w := range wants {
		data, err := reloader.Encode(*w)
		if err != nil {
			return err
		}
		if err := t.h.q.nc.Publish(wantSubject(*w), data); err != nil {
			return fmt.Errorf("ask %s for what is followed: %w", w.Owner, err)
		}
	}
	return nil
}

// look hands over the copy on a subject if it is another one than last time.
func (t *tuning) look(ctx context.Context, subject string) error {
	last, err := t.h.last(ctx, followsStream, subject)
	if err != nil {
		return fmt.Errorf("look for a copy: %w", err)
	}
	if last.sequence == 0 || !t.isNews(subject, last.sequence, time.Now()) {
		return nil
	}
	c, err := reloader.Decode[reloader.Copy](last.data)
	if want, subjectErr := copySubject(c); err != nil || subjectErr != nil || want != subject {
		t.f.Logger.Warn("a copy cannot be understood", "subject", subject, "error", errors.Join(err, subjectErr))
		return nil
	}
	t.to.Received(c)
	return nil
}

// lagTime is for how long a server of the hub may answer with what was there before.
const lagTime = time.Minute

// isNews reports whether the copy on a subject is a later one than that before, and takes note of it. One that is earlier for longer than a
// server may lag is of a stream that was made anew.
func (t *tuning) isNews(subject string, sequence uint64, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if sequence < t.seen[subject] {
		since, before := t.earlier[subject]
		if !before {
			t.earlier[subject] = now
			return false
		}
		if now.Sub(since) < lagTime {
			return false
		}
	}
	delete(t.earlier, subject)
	news := t.seen[subject] != sequence
	t.seen[subject] = sequence
	return news
}
