package auditlog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
)

// The steps of a Tail that can fail for long.
const (
	stepRead  = "read the audit log"
	stepStore = "store hints of the audit log"
	stepSave  = "save the place in the audit log"
)

// health remembers which steps fail.
type health struct {
	logger *slog.Logger

	mu     sync.Mutex
	failed map[string]error
}

// set remembers how step ended. It logs a failure when it begins or becomes another one, and its end.
func (h *health) set(step string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	was := h.failed[step]
	h.failed[step] = err
	switch {
	case err != nil && (was == nil || was.Error() != err.Error()):
		h.logger.Warn("audit log step fails", slog.String("step", step), slog.Any("error", err))
	case err == nil && was != nil:
		h.logger.Info("audit log step works again", slog.String("step", step))
	}
}

// Healthy returns nil if the log can be read, hints of it are stored, and the place in it is saved, or else what fails.
func (t *Tail) Healthy(context.Context) error {
	t.health.mu.Lock()
	defer t.health.mu.Unlock()
	var all error
	for _, step := range []string{stepRead, stepStore, stepSave} {
		if err := t.health.failed[step]; err != nil {
			all = errors.Join(all, fmt.Errorf("cannot %s: %w", step, err))
		}
	}
	return all
}
