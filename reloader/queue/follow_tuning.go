package queue

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
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

	// subjects are those of the copies that are looked for, and told has those of which somebody told, and when that was last.
	subjects map[string]struct{}
	told     map[string]time.Time
}

func (t *tuning) run(ctx context.Context, touched <-chan *nats.Msg) error {
	t.told = map[string]time.Time{}
	tick := time.NewTicker(followedInterval)
	defer tick.Stop()
	for {
		if err := t.round(ctx); err != nil {
			return err
		}
		subject, err := t.awaits(ctx, tick.C, touched)
		if err != nil {
			return err
		}
		if subject == "" {
			continue
		}
		// It says that there may be a copy; which one counts, the stream says. A server that lags is asked again.
		if err := t.look(ctx, subject); err != nil {
			return err
		}
		t.told[subject] = time.Now()
	}
}

// awaits returns the subject of the next copy that is told of, or "" when it is time to see what is due. An owner may tell of what nobody here
// follows, as often as it likes: that is not looked at.
func (t *tuning) awaits(ctx context.Context, tick <-chan time.Time, touched <-chan *nats.Msg) (string, error) {
	for {
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-tick:
			return "", nil
		case m := <-touched:
			subject := strings.TrimPrefix(m.Subject, toldPrefix+".")
			if _, followed := t.subjects[subject]; followed {
				return subject, nil
			}
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
		if err := t.aim(followed); err != nil {
			return err
		}
		t.asked, t.askedAt, t.pollAt = followed, now, time.Time{}
	}
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(looksAtOnce)
	for _, subject := range t.due(now) {
		all.Go(func() error { return t.look(ctx, subject) })
	}
	return all.Wait()
}

// due returns the subjects that are to be looked at now: all of them now and then, and in between those of which somebody told a moment ago.
func (t *tuning) due(now time.Time) (subjects []string) {
	if now.Sub(t.pollAt) >= copyInterval {
		t.pollAt = now
		return slices.Collect(maps.Keys(t.subjects))
	}
	for subject, at := range t.told {
		if now.Sub(at) >= followedInterval/2 {
			delete(t.told, subject)
			subjects = append(subjects, subject)
		}
	}
	return subjects
}

// aim has copies of what is followed be looked for, and of nothing else.
func (t *tuning) aim(followed []reloader.Follow) error {
	subjects := make(map[string]struct{}, len(followed))
	for _, f := range followed {
		c := f.Config
		c.Cluster = ""
		subject, err := copySubject(reloader.Copy{Owner: f.Config.Cluster, Target: t.f.Cluster, Config: c})
		if err != nil {
			return err
		}
		subjects[subject] = struct{}{}
	}
	t.subjects = subjects
	t.f.sights.keep(subjects)
	return nil
}

// looksAtOnce is how many copies are looked for at a time.
const looksAtOnce = 16

// ask tells each owner what is followed, also those of which nothing is any more.
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
	for _, owner := range t.f.parted(wants, time.Now()) {
		wants[owner] = &reloader.Want{Owner: owner, Target: t.f.Cluster}
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
	if last.sequence == 0 || !t.f.sights.isNews(subject, last, time.Now()) {
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
