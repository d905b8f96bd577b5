package app

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/reloader/kube"
)

// controls passes reroll-control to the dispatcher. As long as it cannot be read, everything is held back.
type controls struct {
	mu sync.Mutex
	// set is the dispatcher's.
	set func(control.Control)
	// redact leaves out the names of those who froze and paused.
	redact bool
	// read says that the ConfigMap was read, and unread why it was not although there was time enough.
	read   bool
	unread error
}

func (c *controls) say(data map[string]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read, c.unread = true, nil
	read := control.Parse(data)
	if c.redact {
		read = read.Redacted()
	}
	c.set(read)
}

// fail takes why the ConfigMap could not be read so far.
func (c *controls) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.read {
		c.unread = err
		c.set(control.Unread())
	}
}

// healthy fails while everything is held back because the ConfigMap could not be read.
func (c *controls) healthy(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unread != nil {
		return fmt.Errorf("every reload is held back, because there may be a freeze: %w", c.unread)
	}
	return nil
}

// watchControl has the dispatcher hold back what must be held back. It returns when that is known, or has waited long enough.
func (p *program) watchControl(ctx context.Context, cluster *kube.Cluster) {
	if err := cluster.WatchControl(ctx, p.controls.say); err != nil && !errors.Is(err, context.Canceled) {
		p.logger.Warn("every reload is held back, because there may be a freeze", "error", err)
		p.controls.fail(err)
	}
}
