package reloader

import "time"

// ClusterStatusInterval is how often a dispatcher publishes the status of its cluster. A status that is much older means a dispatcher
// that is away.
const ClusterStatusInterval = 30 * time.Second

// ClusterStatus is what the dispatcher of a cluster says about itself, and about what holds back all reloads or many.
type ClusterStatus struct {
	Cluster   string    `json:"name" doc:"The cluster's name."`
	UID       string    `json:"uid,omitempty" doc:"The UID of its namespace kube-system. Absent if that may not be read."`
	Namespace string    `json:"namespace,omitempty" doc:"Reroll's own namespace, which has the ConfigMap reroll-control. Absent if that is not known."`
	At        time.Time `json:"updatedAt,omitzero" doc:"When it last published its status, by its own clock. Absent if it never has."`
	// StoredAt is when the status was stored, by the clock of where it is read. It is not on the wire, and zero if unknown.
	StoredAt time.Time `json:"-"`

	Version   string    `json:"version,omitempty" doc:"The version of its dispatcher."`
	Instance  string    `json:"instance,omitempty" doc:"The dispatcher's name among its replicas."`
	StartedAt time.Time `json:"startedAt,omitzero" doc:"When the dispatcher started."`
	Ready     bool      `json:"ready" doc:"Whether every dependency has a baseline, so that no edit can be missed."`
	DryRun    bool      `json:"dryRun,omitempty" doc:"Whether nothing is written to the cluster."`
	Notifies  bool      `json:"notifies,omitempty" doc:"Whether a webhook is called in the place of every roll."`
	Faults    []string  `json:"faults,omitempty" doc:"What is wrong with the dispatcher's process, part by part, for people." example:"nats: no servers available"`
	Hearing
	Backlog
}

// Hearing says how a dispatcher hears of changes. Sources and Drift are those since StartedAt.
type Hearing struct {
	Source  string         `json:"source,omitempty" doc:"How changes are reported: auto, by a watch of metadata and by audit events; audit, by these alone; watch, by the watch alone." example:"auto"`
	Sources []SourceStatus `json:"sources,omitempty" doc:"Where hints came from since the dispatcher started."`
	Feeds   []FeedStatus   `json:"feeds,omitempty" doc:"What canaries show about the audit events of each API server. Absent if none are sent."`
	SweptAt time.Time      `json:"sweptAt,omitzero" doc:"When the last resync ended. Absent until the one at the start has ended, and if resyncs are off."`
	Drift   int64          `json:"drift,omitempty" doc:"How many changes the resync alone has found since the dispatcher started: what the sources missed."`
}

// Backlog counts workloads, and has what people hold back.
type Backlog struct {
	Workloads       int            `json:"workloads" doc:"How many workloads are opted in."`
	Pending         int            `json:"pending,omitempty" doc:"How many of them wait to be rolled."`
	Held            map[Reason]int `json:"held,omitempty" doc:"The number of those by reason."`
	OldestPendingAt time.Time      `json:"oldestPendingAt,omitzero" doc:"When the oldest change that still waits for a roll was verified. Changes that held workloads wait for do not count, unless patches fail or a limit is on. Absent if there is none."`
	HintsPending    int64          `json:"hintsPending,omitempty" doc:"How many hints were stored and not done yet when they were last counted, at most some 15 s before updatedAt."`
	Freeze          *Pause         `json:"freeze,omitempty" doc:"The pause of the whole cluster, which may have no end. Absent if there is none."`
	Pauses          []Pause        `json:"pauses,omitempty" doc:"The pauses of some workloads that have not ended."`
	Windows         []Window       `json:"windows,omitempty" doc:"The maintenance windows. If there are any, reloads wait for one."`
	ControlProblem  string         `json:"controlProblem,omitempty" doc:"Why the ConfigMap reroll-control cannot be read, so that everything is frozen. Absent if it can."`
}

// SourceStatus is what came from one source of hints.
type SourceStatus struct {
	Source Source    `json:"source" doc:"Where the hints came from." example:"audit"`
	Hints  int64     `json:"hints" doc:"How many came since the dispatcher started."`
	LastAt time.Time `json:"lastAt" doc:"When the newest of them reached Reroll."`
}

// FeedStatus is what canaries have told about the audit events of one API server.
type FeedStatus struct {
	Address string    `json:"address" doc:"Where the API server is."`
	State   string    `json:"state" doc:"What canaries show: waiting, none has come back yet; heard, they come back; notSetUp, none ever came back from any API server, and none has to; silent, they are accepted and do not come back; refused, they are not accepted." example:"heard"`
	LastAt  time.Time `json:"lastAt,omitzero" doc:"When a canary last came back. Absent if none has."`
	// Quiet are sorted.
	Quiet []ConfigKind `json:"quiet,omitempty" doc:"The kinds of config whose canaries do not come back. Absent if those of all kinds do."`
}

// Pause holds back the workloads of a namespace, or of all if it is empty, whose labels match. One of all workloads is a freeze.
type Pause struct {
	Namespace string    `json:"namespace,omitempty" doc:"The namespace whose workloads are held back. Absent if those of all are."`
	Selector  string    `json:"selector,omitempty" doc:"The label selector of the workloads. Absent if it selects all." example:"app=cart"`
	Until     time.Time `json:"until,omitzero" doc:"When it ends by itself. Absent if never: only a freeze has no end."`
	Reason    string    `json:"reason,omitempty" doc:"The reason that the user gave for the pause."`
	By        string    `json:"by,omitempty" doc:"Who paused them. Absent if that is not known."`
	Since     time.Time `json:"since,omitzero" doc:"When they were paused. Absent if that is not known."`
}

// On reports whether p holds back anything at a time. No pause does not.
func (p *Pause) On(now time.Time) bool { return p != nil && (p.Until.IsZero() || p.Until.After(now)) }

// Window is a recurring time that lets reloads go. If a cluster has any, reloads wait for one.
type Window struct {
	Schedule string    `json:"schedule" doc:"When it opens, in the five fields of cron, and how long it stays open." example:"0 22 * * 1-5 6h"`
	Open     bool      `json:"open" doc:"Whether it was open when the dispatcher last published its status."`
	Next     time.Time `json:"next,omitzero" doc:"When it opens next. Absent if never."`
}
