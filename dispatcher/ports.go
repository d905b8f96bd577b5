package dispatcher

import (
	"context"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/live"
	"github.com/reroll-dev/reroll/reloader/mark"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Configs reads configs from the API server, never from a cache. Errors are those of the Kubernetes API.
type Configs interface {
	Meta(ctx context.Context, c reloader.Config) (live.Meta, error)
	Get(ctx context.Context, c reloader.Config) (live.Object, error)
	// List returns the configs of a kind in a namespace, each with its metadata as Meta returns it. The version of a SecretProviderClass is
	// that of the object, and not of what is mounted.
	List(ctx context.Context, kind reloader.ConfigKind, namespace string) (map[reloader.Config]live.Meta, error)
	// Terminating reports whether a namespace is being deleted, or is gone.
	Terminating(ctx context.Context, namespace string) (bool, error)
}

// Workloads reads and writes workloads.
type Workloads interface {
	// Tracked reports whether all workloads of a kind that exist were tracked: a kind that the API server may lack can be away for a while.
	Tracked(kind string) bool
	Read(ctx context.Context, ref reloader.WorkloadRef) (*workload.Workload, error)
	// Roll makes w run with new content in the way of its kind, and returns it as it is then. It fails as a conflict if w is not as it was
	// read. The same roll made twice is made once.
	Roll(ctx context.Context, w *workload.Workload, r mark.Roll) (*workload.Workload, error)
	Pods(ctx context.Context, w *workload.Workload) (workload.Pods, error)
	// Unseen returns a call that says which workloads of a namespace were not tracked yet as they are now, or not forgotten.
	Unseen(ctx context.Context, namespace string) (func() []reloader.WorkloadRef, error)
}

// Ledger keeps a text for each workload. Methods may be called at the same time.
type Ledger interface {
	// Load returns all entries, and when the ledger was born.
	Load(ctx context.Context) (entries map[reloader.WorkloadRef]string, born time.Time, err error)
	// Changed reports whether another process has written the entries of a namespace, and returns all of these if so.
	Changed(ctx context.Context, namespace string) (entries map[reloader.WorkloadRef]string, changed bool, err error)
	// Put stores entries of one namespace; an empty one is forgotten. After any error the same call may be made again, once Changed was asked.
	Put(ctx context.Context, namespace string, changed map[reloader.WorkloadRef]string) error
}

// History keeps changes, reloads and the records of workloads, for people and the API. No decision depends on it.
type History interface {
	LoadChanges(ctx context.Context, cluster string) (map[reloader.Config]reloader.Change, error)
	AppendChange(ctx context.Context, c reloader.Change) error
	LoadWorkloads(ctx context.Context, cluster string) ([]reloader.WorkloadRecord, error)
	PutWorkload(ctx context.Context, r reloader.WorkloadRecord) error
	DeleteWorkload(ctx context.Context, cluster string, ref reloader.WorkloadRef) error
	AppendReload(ctx context.Context, r reloader.Reload) error
	LastReload(ctx context.Context, cluster string, ref reloader.WorkloadRef) (reloader.Reload, bool, error)
}

// Announcer tells people in the cluster about a reload. It must not block.
type Announcer interface {
	Announce(w *workload.Workload, r reloader.Reload)
	// Complain says what is wrong with the annotations of w. To say the same again changes nothing.
	Complain(w *workload.Workload, problem string)
	// Stalled says that a reload's rollout has stalled.
	Stalled(w *workload.Workload, problem string)
}

// Webhook gets the reloads that another program makes.
type Webhook interface {
	Notify(ctx context.Context, r reloader.Reload) error
}

// Pods reaches the running pods of workloads. Errors are those of the Kubernetes API; the one about a pod that is gone is NotFound.
type Pods interface {
	// Running returns the pods of w that run and are not being deleted.
	Running(ctx context.Context, w *workload.Workload) ([]workload.RunningPod, error)
	// Refresh has the kubelet of pod refresh its volumes soon. The same value a second time changes nothing.
	Refresh(ctx context.Context, pod workload.RunningPod, value string) error
	// Exec runs a command in a container of pod. It fails if the command does.
	Exec(ctx context.Context, pod workload.RunningPod, container string, command []string) error
	// Secret returns the data of a Secret.
	Secret(ctx context.Context, namespace, name string) (map[string][]byte, error)
}

// Caller sends one request to a pod, with the credentials of a Secret's data unless that is nil, and returns its answer. An answer other than 2xx is an error; that of fateNever may not pass.
type Caller interface {
	Call(ctx context.Context, pod workload.RunningPod, r dialect.Request, secret map[string][]byte) (answer []byte, err error)
}

// Delivery is a hint on loan from the stream.
type Delivery interface {
	Hint() reloader.Hint
	Ack()
}
