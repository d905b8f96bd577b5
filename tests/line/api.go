package line

import (
	"context"
	"path/filepath"

	"github.com/reroll-dev/reroll/tests/port"
)

// StartWatching starts a process of all roles that watches the configs of a cluster instead of receiving audit events, with its records in dir, and
// returns when it is ready. The flags say which cluster. The caller ends it.
func StartWatching(ctx context.Context, dir string, flags ...string) (*Reroll, error) {
	addresses, err := port.Addresses(2)
	if err != nil {
		return nil, err
	}
	r := &Reroll{
		API: "http://" + addresses[0], Ops: "http://" + addresses[1],
		arguments: append([]string{
			"serve", "--cluster-name", ClusterName, "--data-dir", filepath.Join(dir, "data"),
			"--source", "watch", "--api-address", addresses[0], "--metrics-address", addresses[1],
		}, flags...),
	}
	return r, r.startAlone(ctx)
}

// StartAPI starts a process of the API alone, and returns when it is ready. The flags say where its NATS is. The caller ends it.
func StartAPI(ctx context.Context, flags ...string) (*Reroll, error) {
	addresses, err := port.Addresses(2)
	if err != nil {
		return nil, err
	}
	r := &Reroll{
		API: "http://" + addresses[0], Ops: "http://" + addresses[1],
		arguments: append([]string{"serve", "--components=api", "--api-address", addresses[0], "--metrics-address", addresses[1]}, flags...),
	}
	return r, r.startAlone(ctx)
}

// startAlone starts a process that is not part of a line, and returns when it is ready. Of one that does not get ready nothing is left.
func (r *Reroll) startAlone(ctx context.Context) (err error) {
	if r.binary, err = Build(ctx); err != nil {
		return err
	}
	if err := r.Start(); err != nil {
		return err
	}
	if err := r.WaitReady(ctx); err != nil {
		r.Kill()
		return err
	}
	return nil
}
