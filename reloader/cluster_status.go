package reloader

import "time"

// ClusterStatusInterval is how often a dispatcher publishes the status of its cluster. A status that is much older tells of a dispatcher
// that is away.
const ClusterStatusInterval = 30 * time.Second

// ClusterStatus is what the dispatcher of a cluster says about itself, and about what holds back all reloads or many.
type ClusterStatus struct {
	Cluster string `json:"cluster"`
	// UID is that of the namespace kube-system; empty if it may not be read.
	UID string `json:"uid,omitempty"`
	// Namespace is Reroll's own namespace there.
	Namespace string `json:"namespace,omitempty"`
	// Version is the dispatcher's, and Instance its name among the replicas.
	Version   string    `json:"version"`
	Instance  string    `json:"instance,omitempty"`
	StartedAt time.Time `json:"startedAt"`
	// At is when all this was so, by the dispatcher's clock.
	At time.Time `json:"at"`
	// Sequence is where the status was stored, and StoredAt when, by the clock of where it is read. They are not on the wire, and zero if nobody
	// says.
	Sequence uint64    `json:"-"`
	StoredAt time.Time `json:"-"`
	// Ready says that every dependency has a baseline, so that no edit can be missed.
	Ready bool `json:"ready"`
	// DryRun says that nothing is written to the cluster.
	DryRun bool `json:"dryRun,omitempty"`
	// Ephemeral says that the records are kept where they go with the pod.
	Ephemeral bool `json:"ephemeral,omitempty"`
	// Notifies says that a webhook is called in the place of every roll.
	Notifies bool `json:"notifies,omitempty"`
	// Faults are the parts of the dispatcher's process that are not well.
	Faults []Fault `json:"faults,omitempty"`
	// Source is how changes are reported: auto, audit or watch.
	Source string `json:"source,omitempty"`
	// Sources are those that hints came from since StartedAt.
	Sources []SourceStatus `json:"sources,omitempty"`
	// Feeds are the API servers whose audit events are watched over; empty if none are.
	Feeds []FeedStatus `json:"feeds,omitempty"`
	// SweptAt is when every config was last looked at; zero until the sweep at the start has ended, and if there are no others.
	SweptAt time.Time `json:"sweptAt,omitzero"`
	// Drift counts the changes that the sweep alone found since StartedAt: what the sources missed.
	Drift int64 `json:"drift,omitempty"`
	// Workloads are opted in, Pending of them wait to be rolled, and Held says how many of those wait for which reason.
	Workloads int            `json:"workloads"`
	Pending   int            `json:"pending,omitempty"`
	Held      map[Reason]int `json:"held,omitempty"`
	// OldestPendingAt is when the oldest change was verified that is still on its way to a workload: what somebody holds back, or has to mend, is
	// not. Zero if none is.
	OldestPendingAt time.Time `json:"oldestPendingAt,omitzero"`
	// HintsPending counts the hints that were stored and not done yet when they were last counted, at most some 15 s before.
	HintsPending int64 `json:"hintsPending,omitempty"`

	Freeze  Freeze   `json:"freeze,omitzero"`
	Pauses  []Pause  `json:"pauses,omitempty"`
	Windows []Window `json:"windows,omitempty"`
	// ControlProblem is why the ConfigMap reroll-control cannot be read, so that everything is frozen; empty if it can.
	ControlProblem string `json:"controlProblem,omitempty"`
	// Forward is how far the cluster's records have come to the hub that has this status; nil if it is the cluster's own NATS.
	Forward *Forwarding `json:"forward,omitempty"`
}

// Fault is a part of a process that is not well, and why.
type Fault struct {
	Part   string `json:"part"`
	Reason string `json:"reason"`
}

// SourceStatus is what came from one source of hints.
type SourceStatus struct {
	Source Source `json:"source"`
	Hints  int64  `json:"hints"`
	// LastAt is when the newest hint reached Reroll.
	LastAt time.Time `json:"lastAt"`
}

// FeedStatus is what canaries have told about the audit events of one API server.
type FeedStatus struct {
	Address string `json:"address"`
	// State is waiting, heard, notSetUp, silent or refused.
	State string `json:"state"`
	// LastAt is when a canary last came back; zero if none has.
	LastAt time.Time `json:"lastAt,omitzero"`
}

// Freeze holds back every reload of a cluster.
type Freeze struct {
	Frozen bool   `json:"frozen"`
	Reason string `json:"reason,omitempty"`
	// Until is when it ends, or has ended, by itself; zero is never.
	Until time.Time `json:"until,omitzero"`
	// By is who froze it, and Since when; empty and zero if that is not known.
	By    string    `json:"by,omitempty"`
	Since time.Time `json:"since,omitzero"`
}

// Pause holds back the workloads of a namespace, or of all if it is empty, whose labels match.
type Pause struct {
	Namespace string `json:"namespace,omitempty"`
	// Selector is a label selector; empty matches all.
	Selector string    `json:"selector,omitempty"`
	Until    time.Time `json:"until"`
	Reason   string    `json:"reason,omitempty"`
	// By is who paused them; empty if that is not known.
	By string `json:"by,omitempty"`
}

// Window is a time that comes again and again, in which reloads are let go. If a cluster has any, reloads wait for one.
type Window struct {
	// Schedule is the window as it was written: five fields of cron, and a length.
	Schedule string `json:"schedule"`
	Open     bool   `json:"open"`
	// Next is when it opens next; zero if never.
	Next time.Time `json:"next,omitzero"`
}

// ClusterGone says that a cluster was removed from a hub: its records up to a sequence of each kind are no longer stored. What was stored later is
// of a cluster that came back, or of another one of that name.
type ClusterGone struct {
	Cluster                               string
	Changes, Reloads, Workloads, Statuses uint64
}
