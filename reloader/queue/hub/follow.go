package hub

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/queue"
)

// Following connects a Member with what decides. All fields must be set, or none. Calls may overlap.
type Following struct {
	// Followed returns the configs of other clusters that workloads of this one follow. It is called every few seconds.
	Followed func() []reloader.Follow
	// Received takes a copy of one of them, perhaps more than once.
	Received func(reloader.Copy)
	// Wanted takes what another cluster wants to follow here, again and again.
	Wanted func(reloader.Want)
}

const (
	// followInterval is how often Followed is called. What it returns is published when it changes, and every wantInterval: an owner that was
	// restarted does not know what others follow.
	followInterval, wantInterval = 2 * time.Second, 2 * time.Minute
	// sendTime bounds the storing of one message at the hub.
	sendTime = 5 * time.Second
)

// Send has c stored at the hub as soon as it is reached, in the place of any older copy of the same config for the same target. It does not block.
func (m *Member) Send(c reloader.Copy) {
	subject, err := copySubject(c)
	if err != nil || c.Owner != m.Cluster {
		m.Logger.Error("a copy has no place at the hub", "config", c.Config.String(), "target", c.Target, "error", err)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.unsent[subject] = c
	select {
	case m.news <- struct{}{}:
	default: // it is known
	}
}

func copySubject(c reloader.Copy) (string, error) {
	if err := errors.Join(reloader.ValidateCluster(c.Owner), reloader.ValidateCluster(c.Target)); err != nil {
		return "", err
	}
	return queue.ConfigSubject(queue.CopyPrefix+"."+c.Owner, c.Target, c.Config)
}

func wantSubject(w reloader.Want) string { return queue.WantPrefix + "." + w.Target + "." + w.Owner }

// follow asks for copies, sends copies, and takes what the hub pushes, until ctx ends.
func (m *Member) follow(ctx context.Context, c *queue.Conn, to Following) error {
	sub, err := c.NATS.Subscribe(deliverSubject, func(msg *nats.Msg) { m.receive(msg, to) })
	if err != nil {
		return fmt.Errorf("listen to the hub: %w", err)
	}
	defer sub.Unsubscribe() //nolint:errcheck // the connection may be gone
	all, ctx := errgroup.WithContext(ctx)
	all.Go(func() error { return m.send(ctx, c) })
	all.Go(func() error { return m.ask(ctx, c, to.Followed) })
	return all.Wait()
}

// receive takes a copy or a want, and acknowledges it. The subject shows who wrote it; what it says about that must agree.
func (m *Member) receive(msg *nats.Msg, to Following) {
	if msg.Header.Get("Status") != "" {
		return
	}
	copied, copyErr := reloader.Decode[reloader.Copy](msg.Data)
	copyOn, _ := copySubject(copied)
	want, wantErr := reloader.Decode[reloader.Want](msg.Data)
	switch {
	case copyErr == nil && copyOn == msg.Subject && copied.Target == m.Cluster:
		to.Received(copied)
	case wantErr == nil && wantSubject(want) == msg.Subject && want.Owner == m.Cluster:
		to.Wanted(want)
	default:
		m.Logger.Warn("the hub delivers what cannot be understood", "subject", msg.Subject, "error", errors.Join(copyErr, wantErr))
	}
	if err := msg.Ack(); err != nil {
		m.Logger.Debug("could not acknowledge; it comes again", "subject", msg.Subject, "error", err)
	}
}

// send stores copies at the hub until ctx ends. One that fails is sent again, unless there is a newer one.
func (m *Member) send(ctx context.Context, c *queue.Conn) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-m.news:
		}
		if err := queue.Retry(ctx, m.Logger, "a copy of a config cannot be sent; trying again", func() error { return m.sendAll(ctx, c) }); err != nil {
			return err
		}
	}
}

func (m *Member) sendAll(ctx context.Context, c *queue.Conn) error {
	m.mu.Lock()
	unsent := maps.Clone(m.unsent)
	m.mu.Unlock()
	for subject, one := range unsent {
		if err := put(ctx, c, subject, one); err != nil {
			return fmt.Errorf("send a copy of %s to %s: %w", one.Config, one.Target, err)
		}
		m.mu.Lock()
		if m.unsent[subject].Same(one) { // otherwise there is a newer one
			delete(m.unsent, subject)
		}
		m.mu.Unlock()
	}
	return nil
}

// ask tells owners what is followed, until ctx ends.
func (m *Member) ask(ctx context.Context, c *queue.Conn, followed func() []reloader.Follow) error {
	told, toldAll := map[string]reloader.Want{}, time.Time{}
	return queue.Retry(ctx, m.Logger, "the owners of followed configs cannot be asked; trying again", func() error {
		for {
			again, began := time.Since(toldAll) >= wantInterval, time.Now()
			for owner, w := range m.wants(followed(), told) {
				if w.Equal(told[owner]) && !again {
					continue
				}
				if err := put(ctx, c, wantSubject(w), w); err != nil {
					return fmt.Errorf("ask %s for what is followed: %w", owner, err)
				}
				if told[owner] = w; len(w.Configs) == 0 {
					delete(told, owner)
				}
			}
			if again {
				toldAll = began
			}
			if !queue.Pause(ctx, followInterval) {
				return ctx.Err()
			}
		}
	})
}

// wants returns what each owner is asked for; nothing, if its configs are no longer followed.
func (m *Member) wants(followed []reloader.Follow, told map[string]reloader.Want) map[string]reloader.Want {
	wants := map[string]reloader.Want{}
	for owner := range told {
		wants[owner] = reloader.Want{Owner: owner, Target: m.Cluster}
	}
	for _, f := range followed {
		c := f.Config
		w := wants[c.Cluster]
		w.Owner, w.Target, c.Cluster = c.Cluster, m.Cluster, ""
		w.Configs = append(w.Configs, reloader.Follow{Config: c, Number: f.Number})
		wants[w.Owner] = w
	}
	return wants
}

// put stores a record at the hub.
func put[R reloader.Record](ctx context.Context, c *queue.Conn, subject string, r R) error {
	m, err := queue.MessageOf(prefix+subject, r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	_, err = c.JS.PublishMsg(ctx, m)
	return err
}
