package app

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/reloader/kube"
)

// serveCommands carries out what is asked of the cluster, from when the dispatcher is ready until ctx ends.
func (p *program) serveCommands(ctx context.Context, cluster *kube.Cluster, d *dispatcher.Dispatcher) {
	if retry(ctx, firstPause, d.Ready) != nil {
		return
	}
	_ = p.insist(ctx, "commands could not be served", func(ctx context.Context) error {
		return p.queue.ServeCommands(ctx, p.settings.ClusterName, func(ctx context.Context, c reloader.Command) reloader.CommandAnswer {
			answer := p.carryOut(ctx, cluster, d, c)
			p.logger.Info("command", "command", c.ID, "reload", answer.ReloadID, "verb", c.Verb, "user", c.User, "result", answer.Result, "message", answer.Message)
			return answer
		})
	})
}

// carryOut does what a command says: it rolls a workload, or writes what is to be held back where everybody can read it.
func (p *program) carryOut(ctx context.Context, cluster *kube.Cluster, d *dispatcher.Dispatcher, c reloader.Command) reloader.CommandAnswer {
	if c.Verb == reloader.CommandReload {
		return d.Reload(ctx, c)
	}
	answer := reloader.CommandAnswer{ID: c.ID, Cluster: c.Cluster, Result: reloader.CommandDone}
	if p.settings.DryRun {
		answer.Result, answer.Message = reloader.CommandRefused, "this is a dry run: nothing is written, and so nothing is held back or let go"
		return answer
	}
	err := cluster.ChangeControl(ctx, func(data map[string]string) error { return control.Apply(data, c, time.Now()) })
	switch {
	case err == nil:
	case errors.Is(err, control.ErrRefused), apierrors.IsForbidden(err), apierrors.IsInvalid(err):
		answer.Result, answer.Message = reloader.CommandRefused, err.Error()
	default:
		answer.Result, answer.Message = reloader.CommandFailed, err.Error()
	}
	return answer
}
