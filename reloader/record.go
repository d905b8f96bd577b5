package reloader

import (
	"slices"
	"time"
)

// Use is one place in a pod template that refers to a config.
type Use struct {
	How       string   `json:"how" doc:"The field that refers to the config: env, envFrom, volume, projectedVolume, imagePullSecret and others." example:"envFrom"`
	Container string   `json:"container,omitempty" doc:"The container that uses it. Absent if the whole pod does."`
	Keys      []string `json:"keys,omitempty" doc:"The keys in use. Absent means all of them."`
	SubPath   bool     `json:"subPath,omitempty" doc:"Whether a container mounts a part of the volume with subPath, and so sees no change while it runs."`
}

// Edge is the dependency of a workload on a config.
type Edge struct {
	Config   Config `json:"config" doc:"The config that the workload asks for."`
	Why      Reason `json:"why" doc:"Why the workload asks for it."`
	Clause   string `json:"clause,omitempty" doc:"The annotation that says so."`
	Uses     []Use  `json:"uses,omitempty" doc:"Where the pod template refers to it. Absent if only an annotation names it."`
	UsedKeys bool   `json:"usedKeys,omitempty" doc:"Whether only the keys in use count, whatever countingKeys says."`
	// Applied has no Keys, and the part of the sum that an applied.Write has.
	Applied  Digest    `json:"applied,omitzero" doc:"The content that the workload runs with, by the first 16 digits of its fingerprint. Absent if the config did not exist, and as long as how is."`
	How      Reason    `json:"how,omitempty" doc:"How the workload came to run with that content. Absent as long as no baseline is recorded."`
	At       time.Time `json:"appliedAt,omitzero" doc:"When that was settled. Absent if how is."`
	Restarts string    `json:"restarts,omitempty" doc:"Why a change of this config restarts the pods although the strategy is http, refresh or exec. Absent if it does not, and for other strategies."`
	Pending  string    `json:"pendingChange,omitempty" doc:"The ID of the change that the workload waits for. Absent if it waits for none."`
}

// Hold says why a pending workload is not rolled now.
type Hold struct {
	Reason   Reason    `json:"reason" doc:"Why it waits."`
	Message  string    `json:"message,omitempty" doc:"The same for people, with the last error if there was one."`
	Since    time.Time `json:"since" doc:"When the wait began."`
	Due      time.Time `json:"until,omitzero" doc:"When the workload is tried again. Absent if no time is set."`
	Attempts int       `json:"attempts,omitempty" minimum:"0" doc:"How many attempts failed in a row. Absent if nothing was tried."`
}

// DeadLetter reports whether h does not end by itself.
func (h *Hold) DeadLetter() bool { return h != nil && slices.Contains(DeadLetterReasons, h.Reason) }

// Missing is a config that a workload names or refers to and that does not exist, some of whose keys do not, or that the dispatcher cannot read.
type Missing struct {
	Config   Config   `json:"config,omitzero" doc:"The config. Absent if it cannot be said which are not read."`
	Keys     []string `json:"keys,omitempty" doc:"The keys that it lacks. Absent if the config itself does not exist."`
	Meant    string   `json:"meant,omitempty" doc:"What was probably meant, and what makes that likely. Absent if no name is near."`
	Required bool     `json:"required,omitempty" doc:"Whether no pod of the workload starts without it."`
	Pattern  string   `json:"pattern,omitempty" doc:"The expression, glob or selector that finds no config; config has no name then. Absent if a config is named or referred to."`
	Clause   string   `json:"clause,omitempty" doc:"The annotation that has the pattern. Absent if there is none."`
	// Unreadable ones have no other field than Config.
	Unreadable string `json:"unreadable,omitempty" doc:"Why the dispatcher cannot read it, so that it sees no change of it, for people. Absent if that is not the trouble."`
	Awaited    bool   `json:"awaited,omitempty" doc:"Whether the workload waits for it, whatever else has changed."`
}

// WorkloadRecord is what the dispatcher publishes about one opted-in workload: what it depends on and how far it is.
type WorkloadRecord struct {
	Cluster  string      `json:"cluster" doc:"The cluster that the workload is in."`
	Workload WorkloadRef `json:"workload" doc:"The workload's name."`
	UID      string      `json:"uid" doc:"The UID of the workload."`
	Dialect  string      `json:"dialect" doc:"Whose annotations it carries." example:"stakater"`
	Strategy string      `json:"strategy" doc:"How marks are written on it." example:"env-vars"`
	Edges    []Edge      `json:"dependencies,omitempty" doc:"The configs that it asks for."`
	Dormant  bool        `json:"dormant,omitempty" doc:"Whether it is suspended or has finished, so that it does not roll in its present state."`
	// Keys are as the annotation lists them; see dialect.ParseKeys.
	Keys      string    `json:"countingKeys,omitempty" doc:"The keys of its configs whose change matters, as its annotation lists them. Absent for every key."`
	Shortened bool      `json:"shortened,omitempty" doc:"Whether the record lacks details, and perhaps the ends of its lists and texts, because it would have been too large."`
	UpdatedAt time.Time `json:"updatedAt" doc:"When its dispatcher last published it."`
	Problems  []string  `json:"problems,omitempty" doc:"Faults of the workload's own annotations, for people."`
	// Missing has the first ones: those that cannot be read, and then the others.
	Missing []Missing `json:"missing,omitempty" doc:"Configs that the workload names or refers to and that do not exist, lack a key, or cannot be read: the first ones."`
	Standing
}

// Standing is how far a workload is.
type Standing struct {
	Hold       *Hold     `json:"hold,omitempty" doc:"Why a pending reload is not done now. Absent if nothing holds it."`
	WaitsSince time.Time `json:"waitsSince,omitzero" doc:"Since when it waits for the oldest of its changes. Absent if it waits for none."`
	LastReload string    `json:"lastReload,omitempty" doc:"The ID of its last reload."`
	Rollout    *Rollout  `json:"rollout,omitempty" doc:"What became of the last reload so far. Absent if it is not followed."`
	Rolls      int       `json:"rolls,omitempty" doc:"About how often it rolled within the last twelve hours. Absent if it did not."`
}
