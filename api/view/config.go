package view

import (
	"time"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/reloader"
)

// digestPrefix is how much of a fingerprint people need to tell two apart.
const digestPrefix = 12

// Presence says whether a config exists.
type Presence string

// The words of Presence.
const (
	Present   Presence = "Present"
	Absent    Presence = "Absent"
	NeverSeen Presence = "NeverSeen"
)

// ConfigState is one config: what it was last, and who depends on it.
type ConfigState struct {
	Cluster      string      `json:"cluster" doc:"The cluster that the config is in."`
	Config       Config      `json:"config" doc:"The config."`
	Presence     Presence    `json:"presence" enum:"Present,Absent,NeverSeen" doc:"Whether the config existed when it was last looked at. NeverSeen: a workload asks for it, and nothing about it is on record."`
	Digest       string      `json:"digest,omitempty" doc:"The first characters of the keyed fingerprint of its content. Absent if it does not exist."`
	DigestKeyID  string      `json:"digestKeyID,omitempty" doc:"Names the key that the fingerprint was made with."`
	LastChange   string      `json:"lastChange,omitempty" doc:"The ID of its newest change or baseline. Absent if none is on record."`
	LastType     string      `json:"lastType,omitempty" doc:"The type of that change: Baseline, Updated, Created or Deleted."`
	LastChangeAt time.Time   `json:"lastChangeAt,omitzero" doc:"When that change was verified."`
	Dependents   []Dependent `json:"dependents" nullable:"false" doc:"The workloads that ask for it, those of other clusters too."`
	Partial      bool        `json:"partial,omitempty" doc:"Whether dependents are left out, because they are in namespaces that the one who asks may not look into."`
}

// Dependent is a workload that asks for a config.
type Dependent struct {
	Cluster string `json:"cluster" doc:"The cluster that the workload is in."`
	WorkloadRef
}

// FromConfig returns the view of c.
func FromConfig(c *projection.ConfigState) ConfigState {
	v := ConfigState{
		Cluster: c.Key.Cluster, Config: fromConfig(c.Key.Config), Presence: NeverSeen,
		Dependents: each(c.Dependents, func(k projection.WorkloadKey) Dependent { return Dependent{k.Cluster, fromWorkloadRef(k.Workload)} }),
	}
	if c.Latest == nil {
		return v
	}
	v.Presence, v.LastChange, v.LastType, v.LastChangeAt = Absent, c.Latest.ID, string(c.Latest.Type), c.Latest.VerifiedAt
	if c.Latest.Present() {
		v.Presence, v.DigestKeyID = Present, c.Latest.New.KeyID
		v.Digest = c.Latest.New.Sum[:min(len(c.Latest.New.Sum), digestPrefix)]
	}
	return v
}

// DependencyRow is one dependency with its workload.
type DependencyRow struct {
	Cluster  string      `json:"cluster" doc:"The workload's cluster."`
	Workload WorkloadRef `json:"workload" doc:"The workload that depends on the config."`
	Dependency
}

// FromDependency returns the view of a workload's edge.
func FromDependency(w *reloader.WorkloadRecord, e reloader.Edge) DependencyRow {
	return DependencyRow{Cluster: w.Cluster, Workload: fromWorkloadRef(w.Workload), Dependency: fromEdge(e)}
}
