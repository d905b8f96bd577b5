package fleet

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/tests/line"
)

// reader reads a local copy of the flags of c1.
const reader = "reader"

// replicates fails the test unless the reader, for whom the flags of c1 have changed, waits for its copy, says so, and rolls once for both
// when the copy has changed.
func (c *cluster) replicates(ctx context.Context) {
	c.t.Helper()
	must(c.t, line.Poll(ctx, func(ctx context.Context) error {
		var w struct {
			Hold *struct{ Reason string }
		}
		if err := c.Reroll.Get(ctx, "/api/v1/workloads/"+c.name+"/"+namespace+"/Deployment/"+reader, &w); err != nil {
			return err
		}
		if w.Hold == nil || w.Hold.Reason != "WaitingForReplica" {
			return fmt.Errorf("%s in %s is held by %+v", reader, c.name, w.Hold)
		}
		return nil
	}))
	must(c.t, line.Poll(ctx, c.tellsOfWait))
	if n := c.rolls(ctx, reader); n != 0 {
		c.t.Errorf("%s rolled %d times before its copy has changed", reader, n)
	}
	must(c.t, c.give(ctx, reader, "1", nil))
	c.waitRolls(ctx, reader, 1)
	must(c.t, line.Poll(ctx, c.namesBoth))
}

// tellsOfWait returns nil if an Event says that the reader waits.
func (c *cluster) tellsOfWait(ctx context.Context) error {
	events, err := c.Kube.Client().CoreV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: "reason=ReloadHeld,involvedObject.name=" + reader})
	if err == nil && len(events.Items) == 0 {
		err = fmt.Errorf("no Event says that %s waits", reader)
	}
	return err
}

// namesBoth returns nil if the reader's roll is told to be for the change of the owner and that of the copy.
func (c *cluster) namesBoth(ctx context.Context) error {
	var page struct {
		Items []struct {
			Outcome string
			Causes  []struct {
				Why string
			}
		}
	}
	if err := c.Reroll.Get(ctx, "/api/v1/reloads?cluster="+c.name+"&namespace="+namespace+"&kind=Deployment&name="+reader, &page); err != nil {
		return err
	}
	why := map[string]bool{}
	for _, r := range page.Items {
		for _, cause := range r.Causes {
			why[r.Outcome+" "+cause.Why] = true
		}
	}
	if !why["Reloaded Named"] || !why["Reloaded Followed"] {
		return fmt.Errorf("the reloads of %s are told as %+v", reader, page.Items)
	}
	return nil
}
