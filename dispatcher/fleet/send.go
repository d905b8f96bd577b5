package fleet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
)

// Export looks at c and sends a copy, or a refusal, to each cluster that wants it. After an error it must be called again. The time of a copy is when
// the look began: another process may have sent a newer copy during a long look.
func (f *Fleet) Export(ctx context.Context, c reloader.Config) error {
	f.mu.Lock()
	e := f.exports[c]
	if e == nil {
		f.mu.Unlock()
		return nil
	}
	at := time.Now()
	f.forget(c, e, at)
	e.looked = at
	targets := maps.Clone(e.targets)
	f.mu.Unlock()
	if len(targets) == 0 {
		return nil
	}
	seen, err := f.look(ctx, c, e, targets)
	if err != nil {
		return fmt.Errorf("export %s: %w", c, err)
	}
	for target, asked := range targets {
		f.send(copyFor(reloader.Copy{Owner: f.Cluster, Target: target, Config: c, Answers: asked.number, At: at}, seen))
	}
	return nil
}

// copyFor completes a copy by what was seen, as far as its target may know it.
func copyFor(c reloader.Copy, seen Seen) reloader.Copy {
	if seen.Present && Allows(seen.Meta, c.Target) && seen.Change.ID != "" {
		c.Change = seen.Change
		return c
	}
	c.Refused = fmt.Sprintf("it does not exist, may not be read, or its annotation %s does not name %s, or it says that it rolls nothing", dialect.FollowersKey, c.Target)
	return c
}

// look reads c if it lets one of the targets follow, and its metadata alone otherwise. It also reads c, so that its end is recorded, when c is gone
// and let one of them follow before. A config that may not be read is like an absent one.
func (f *Fleet) look(ctx context.Context, c reloader.Config, e *export, targets map[string]asker) (Seen, error) {
	meta, present, err := f.Configs.Meta(ctx, c)
	unreadable := errors.Is(err, ErrUnreadable)
	if err != nil && !unreadable {
		return Seen{}, err
	}
	seen := Seen{Meta: meta, Present: present && !unreadable}
	open := seen.Present && lets(meta, targets)
	was := f.setOpen(e, open)
	if open || was && !present && !unreadable {
		seen, err = f.Configs.Look(ctx, c)
		if err != nil {
			f.setOpen(e, was)
			seen = Seen{}
		}
		if err != nil && !errors.Is(err, ErrUnreadable) {
			return Seen{}, err
		}
	}
	return seen, nil
}

// setOpen notes whether a config lets some cluster follow, and returns what was noted before.
func (f *Fleet) setOpen(e *export, open bool) (was bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	was, e.open = e.open, open
	return was
}

// send sends c unless its target has stopped wanting it during the look. The hub would keep such a copy.
func (f *Fleet) send(c reloader.Copy) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if e := f.exports[c.Config]; e != nil {
		if _, wanted := e.targets[c.Target]; wanted {
			f.Copies.Send(c)
		}
	}
}
