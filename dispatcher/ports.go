package dispatcher

import (
	"context"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/live"
	"github.com/reroll-dev/reroll/reloader/strategy"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Configs reads configs from the API server, never from a cache. Errors are those of the Kubernetes API.
type Configs interface {
	Meta(ctx context.Context, c reloader.Config) (live.Meta, error)
	Get(ctx context.Context, c reloader.Config) (live.Object, error)
	// List returns the configs of a kind in a namespace, each with its metadata as Meta returns it; of a SecretProviderClass the version is that
	// of the object, and not of what is mounted.
	List(ctx context.Context, kind reloader.ConfigKind, namespace string) (map[reloader.Config]live.Meta, error)
	// Terminating reports whether a namespace is being deleted, or is gone.
	Terminating(ctx context.Context, namespace string) (bool, error)
}

// Workloads writes workloads.
type Workloads interface {
	// Tracked reports whether all workloads of a kind that exist were tracked: those of a kind that the API server may lack can be away for a
	// while.
	Tracked(kind string) bool
	Read(ctx context.Context, ref reloader.WorkloadRef) (*workload.Workload, error)
	// Roll makes w run with new content in the way of its kind, and returns it as it is then. It fails like a conflict if w is no
	// longer as it was read. The same roll made twice is made once.
	Roll(ctx context.Context, w *workload.Workload, r strategy.Roll) (*workload.Workload, error)
	// StartedBy reports whether some container of w's pods started at t or before. Pods tell their start by the second; a start in
	// the same second as t counts. A container that has not started yet does not: it will read what is there then. An init container counts
	// also once it has ended, since what it made of the content is still in use.
	StartedBy(ctx context.Context, w *workload.Workload, t time.Time) (bool, error)
	// StartedAfter reports whether some container of w's pods runs, and none has started at t or before.
	StartedAfter(ctx context.Context, w *workload.Workload, t time.Time) (bool, error)
	// StartedBetween reports whether one of the containers of w's pods with these names runs that is certain to have started after one time
	// and before another. Init containers count also once they have ended. Pods that are going away do not count.
	StartedBetween(ctx context.Context, w *workload.Workload, after, before time.Time, containers []string) (bool, error)
}

// Announcer tells people in the cluster about a reload. It must not block.
type Announcer interface {
	Announce(w *workload.Workload, r reloader.Reload)
	// Complain says what is wrong with the annotations of w. Saying the same again changes nothing.
	Complain(w *workload.Workload, problem string)
	// Stalled says that a reload's rollout has stalled.
	Stalled(w *workload.Workload, problem string)
}

// Webhook is told of reloads that somebody else is to make.
type Webhook interface {
	Notify(ctx context.Context, r reloader.Reload) error
}

// Changes keeps the changes of each config, of which the newest is the state.
type Changes interface {
	LoadChanges(ctx context.Context, cluster string) (map[reloader.Config]reloader.StoredChange, error)
	LatestChange(ctx context.Context, cluster string, c reloader.Config) (reloader.StoredChange, bool, error)
	// ChangesOf returns the changes of one config that are kept, the oldest first.
	ChangesOf(ctx context.Context, cluster string, c reloader.Config) ([]reloader.StoredChange, error)
	// AppendChange fails with reloader.ErrOutrun if the newest change of the config is not the one at expectedLast.
	AppendChange(ctx context.Context, c reloader.Change, expectedLast uint64) (uint64, error)
}

// Records keeps what became of workloads.
type Records interface {
	LoadWorkloads(ctx context.Context, cluster string) ([]reloader.WorkloadRecord, error)
	PutWorkload(ctx context.Context, r reloader.WorkloadRecord) error
	DeleteWorkload(ctx context.Context, cluster string, ref reloader.WorkloadRef) error
	AppendReload(ctx context.Context, r reloader.Reload) error
	LastReload(ctx context.Context, cluster string, ref reloader.WorkloadRef) (reloader.Reload, bool, error)
}

// Hints looks back at the newest hint about a config.
type Hints interface {
	LastHint(ctx context.Context, cluster string, c reloader.Config) (reloader.Hint, bool, error)
}

// Delivery is a hint on loan from the stream: it must be acknowledged or given back.
type Delivery interface {
	Hint() reloader.Hint
	Ack()
	Retry(after time.Duration)
}
