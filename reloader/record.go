package reloader

import (
	"slices"
	"time"
)

// Handled says to which content of a config a workload was brought, and how.
type Handled struct {
	KeyID string `json:"keyID,omitempty"`
	Sum   string `json:"sum,omitempty"`
	// How is Baseline, Reloaded, AlreadyCurrent, PodsNewer, Refused …: any reason that ends a reload.
	How Reason    `json:"how"`
	At  time.Time `json:"at"`
	// Mark is the mark that the workload carried for this config when it was handled; empty if none.
	Mark string `json:"mark,omitempty"`
	// Brought is the version of this config to which the workload said then that it was brought; empty if it did not say.
	Brought string `json:"brought,omitempty"`
	// Unsaid is a later version to which a process brought the workload that ended before it could record it; empty if there is none.
	Unsaid string `json:"unsaid,omitempty"`
}

// Use is one place in a pod template that refers to a config.
type Use struct {
	// How is the field: env, envFrom, volume, projectedVolume, imagePullSecret, …
	How string `json:"how"`
	// Container is the container that uses it; empty if the use belongs to the whole pod.
	Container string `json:"container,omitempty"`
	// Keys are the keys in use; empty means all of them.
	Keys []string `json:"keys,omitempty"`
}

// Edge is the dependency of a workload on a config.
type Edge struct {
	Config Config `json:"config"`
	Why    Reason `json:"why"`
	Clause string `json:"clause,omitempty"`
	Uses   []Use  `json:"uses,omitempty"`
	// UsedKeys says that of the keys of the config those alone matter that are in use, whatever Terms.Keys says.
	UsedKeys bool `json:"usedKeys,omitempty"`
	// Handled is zero as long as no baseline is recorded.
	Handled Handled `json:"handled,omitzero"`
	// Pending is the ID of the change that the workload waits for; empty if it is up to date.
	Pending string `json:"pending,omitempty"`
}

// Hold says why a pending workload is not rolled now.
type Hold struct {
	Reason  Reason    `json:"reason"`
	Message string    `json:"message,omitempty"`
	Since   time.Time `json:"since"`
	Due     time.Time `json:"due,omitzero"`
	// Attempts is how often in a row it was tried in vain; 0 for what was not tried.
	Attempts int `json:"attempts,omitempty"`
}

// DeadLetter reports whether h does not end by itself.
func (h *Hold) DeadLetter() bool { return h != nil && slices.Contains(DeadLetterReasons, h.Reason) }

// ForOthers reports whether h holds back for what becomes of other workloads.
func (h *Hold) ForOthers() bool {
	return h != nil && (h.Reason == ReasonWaitingForStep || h.Reason == ReasonHalted)
}

// Pace is how often a workload was rolled lately: At is when it was last, and Rolls counts the rolls until then, of which those of
// twelve hours before count 1/e, and older ones less.
type Pace struct {
	Rolls float64   `json:"rolls"`
	At    time.Time `json:"at"`
}

// Terms are what a workload itself asks for about when it is rolled and for what, and what keeps it from that. The zero Terms ask for
// nothing.
type Terms struct {
	// Windows are when it may be rolled, each as its annotation has it: five fields of cron and a length; at any time if there is none.
	Windows []string `json:"windows,omitempty"`
	// MinInterval is the shortest time between two of its rolls, in seconds, by its own word or the installation's, whichever is longer.
	MinInterval int64 `json:"minInterval,omitempty"`
	// Dormant is why it is not rolled at all as it is now, Suspended or Finished; empty if it is.
	Dormant Reason `json:"dormant,omitempty"`
	// Keys are the keys of all its configs whose change matters, as its annotation lists them; empty for every key. See dialect.ParseKeys.
	Keys string `json:"keys,omitempty"`
}

// Missing is a config that a workload names or refers to and that does not exist, or some of whose keys do not.
type Missing struct {
	Config Config `json:"config"`
	// Keys are the missing keys; none if the config itself is missing.
	Keys []string `json:"keys,omitempty"`
	// Meant is the name that was probably meant, with what makes that likely; empty if no name is near.
	Meant string `json:"meant,omitempty"`
	// Required says that no pod starts without it, and Awaited that the workload is not rolled without it, whatever else has changed.
	Required bool `json:"required,omitempty"`
	Awaited  bool `json:"awaited,omitempty"`
}

// Unreadable is a config that the dispatcher may not or cannot read, so that it sees no change of it.
type Unreadable struct {
	// Config is zero if it is not one config alone.
	Config  Config `json:"config,omitzero"`
	Message string `json:"message"`
}

// WorkloadRecord is what the dispatcher publishes about one opted-in workload: what it depends on and how far it is.
type WorkloadRecord struct {
	// Sequence is where the record was stored. It is not on the wire, and 0 if nobody says.
	Sequence uint64      `json:"-"`
	Cluster  string      `json:"cluster"`
	Workload WorkloadRef `json:"workload"`
	UID      string      `json:"uid"`
	Dialect  string      `json:"dialect"`
	Strategy string      `json:"strategy"`
	Edges    []Edge      `json:"edges"`
	// Problems are faults of the workload's own annotations.
	Problems []string `json:"problems,omitempty"`
	// Missing is what it names or refers to and is not there, and Unreadable is what cannot be read, the first ones.
	Missing    []Missing    `json:"missing,omitempty"`
	Unreadable []Unreadable `json:"unreadable,omitempty"`
	Hold       *Hold        `json:"hold,omitempty"`
	LastReload string       `json:"lastReload,omitempty"`
	// Rollout is what became of the last reload so far; nil if nobody follows it.
	Rollout *Rollout `json:"rollout,omitempty"`
	// Recent are the newest reloads on record, the newest last, and MarkedAt is when the newest of them marked the workload, by the API
	// server's clock.
	Recent   []string  `json:"recent,omitempty"`
	MarkedAt time.Time `json:"markedAt,omitzero"`
	// Pace says how often the workload was rolled lately.
	Pace Pace `json:"pace,omitzero"`
	// Terms are what holds it back by its own word or state.
	Terms Terms `json:"terms,omitzero"`
	// ListedAt is when the configs that patterns of the workload match were last looked for, of which each has an edge since; zero if there
	// is no pattern.
	ListedAt time.Time `json:"listedAt,omitzero"`
	// WaitsSince is from when on the maximum wait of what is pending counts; zero if nothing is.
	WaitsSince time.Time `json:"waitsSince,omitzero"`
	// Requested and Retried are the IDs of the values of the annotations reroll.dev/requested and reroll.dev/retry that are done with.
	Requested string `json:"requested,omitempty"`
	Retried   string `json:"retried,omitempty"`
	// Shortened has what is left out because the record would be too large; empty if nothing is.
	Shortened []Part    `json:"shortened,omitempty"`
	UpdatedAt time.Time `json:"updatedAt"`
}
