package line

import (
	"context"

	"github.com/reroll-dev/reroll/tests/port"
)

// NewProcess returns a process that is part of no line, with arguments and an environment, and free addresses for the API and for metrics and health.
// It is not started.
func NewProcess(ctx context.Context, environment []string, arguments ...string) (*Reroll, error) {
	addresses, err := port.Addresses(2)
	if err != nil {
		return nil, err
	}
	binary, err := Build(ctx)
	return &Reroll{
		API: "http://" + addresses[0], Ops: "http://" + addresses[1], binary: binary, environment: environment,
		arguments: append(arguments, "--api-address="+addresses[0], "--metrics-address="+addresses[1]),
	}, err
}

// StartAPI starts a process of the API alone, and returns when it is ready. The flags say where its NATS is. The caller ends it.
func StartAPI(ctx context.Context, flags ...string) (*Reroll, error) {
	r, err := NewProcess(ctx, nil, append([]string{"serve", "--components=api"}, flags...)...)
	if err != nil {
		return nil, err
	}
	if err := r.Start(); err != nil {
		return nil, err
	}
	if err := r.WaitReady(ctx); err != nil {
		r.Kill()
		return nil, err
	}
	return r, nil
}
