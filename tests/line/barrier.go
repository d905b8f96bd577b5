package line

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// Barrier waits until the dispatcher of the line has nothing in flight in a namespace: every write before the call is decided, and what follows from that
// is done or held back.
func (l *Line) Barrier(ctx context.Context, namespace string) error {
	err := Poll(ctx, func(ctx context.Context) error {
		var pending error
		for _, r := range append([]*Reroll{l.Dispatch, l.Reroll}, l.replicas...) { // one that does not lead is not ready for it
			if r == nil || r.PID() == 0 {
				continue
			}
			code, answer, err := r.Probe(ctx, "/barrier?namespace="+namespace)
			if err == nil && code == http.StatusOK {
				return nil
			}
			pending = errors.Join(pending, err, fmt.Errorf("%d: %s", code, answer))
		}
		return pending
	})
	if err != nil {
		return fmt.Errorf("barrier of namespace %s: %w", namespace, err)
	}
	return nil
}
