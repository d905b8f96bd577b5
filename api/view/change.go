package view

import (
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// Config names a config inside one cluster.
type Config struct {
	Cluster   string `json:"cluster,omitempty" doc:"The cluster that owns the config, if it is not the one of the record."`
	Kind      string `json:"kind" enum:"ConfigMap,Secret,SecretProviderClass" doc:"The kind of the config."`
	Namespace string `json:"namespace" doc:"The namespace of the config."`
	Name      string `json:"name" doc:"The name of the config."`
}

// KeyChange is one key of a config that a change touched.
type KeyChange struct {
	Key string `json:"key" doc:"The key's name."`
	Op  string `json:"op" enum:"Added,Changed,Removed" doc:"What happened to the key."`
}

// Candidate is an actor who may have made a change, and why we think so.
type Candidate struct {
	User              string    `json:"user,omitempty" doc:"The effective user of the request; the impersonated one if there was impersonation."`
	AuthenticatedUser string    `json:"authenticatedUser,omitempty" doc:"The user who was authenticated, if that is not user."`
	UserAgent         string    `json:"userAgent,omitempty" doc:"What the client called itself."`
	SourceIP          string    `json:"sourceIP,omitempty" doc:"The address nearest to the API server, the only one that the client could not choose."`
	FieldManager      string    `json:"fieldManager,omitempty" doc:"The field manager that the request named."`
	Verb              string    `json:"verb" doc:"The Kubernetes verb of the request." example:"patch"`
	AuditID           string    `json:"auditID,omitempty" doc:"The request's ID in the audit log. Its client can choose it."`
	Time              time.Time `json:"time" doc:"When the API server says that the request ended."`
	Basis             string    `json:"basis" enum:"OnlyWriter,FieldManager,Ambiguous" doc:"Why this actor is a candidate: OnlyWriter, no other write was reported; FieldManager, of several writes only this one names the manager that last wrote the data; Ambiguous, nothing tells the writers apart."`
}

// Change is a verified fact: the content of a config went from one digest to another.
type Change struct {
	ID              string      `json:"id" doc:"Identifies the change." example:"c-mfrggzdfmztwq2lk"`
	Cluster         string      `json:"cluster" doc:"The cluster that the config is in."`
	Config          Config      `json:"config" doc:"The config that changed."`
	Type            string      `json:"type" enum:"Baseline,Updated,Created,Deleted" doc:"What kind of fact this is. A Baseline is the first sight of a config: nothing rolls for it."`
	UID             string      `json:"uid,omitempty" doc:"The UID of the object that was read."`
	ResourceVersion string      `json:"resourceVersion,omitempty" doc:"The resource version of the object that was read."`
	OldDigest       string      `json:"oldDigest,omitempty" doc:"Keyed fingerprint of the content before, lower-case hex. Absent if there was none or it is not known. Comparable only inside one cluster and under one digest key."`
	OldDigestKeyID  string      `json:"oldDigestKeyID,omitempty" doc:"Names the key that oldDigest was made with."`
	NewDigest       string      `json:"newDigest,omitempty" doc:"Keyed fingerprint of the content after, lower-case hex. Absent if the config is gone."`
	NewDigestKeyID  string      `json:"newDigestKeyID,omitempty" doc:"Names the key that newDigest was made with."`
	Keys            []KeyChange `json:"keys" nullable:"false" doc:"The keys that the change touched. Empty if that is not known."`
	Candidates      []Candidate `json:"candidates" nullable:"false" doc:"Who may have made the change. With more than one, no single one is asserted."`
	Source          string      `json:"source" doc:"What made us look: audit, watch, shipped, sweep or baseline." example:"audit"`
	RequestedAt     time.Time   `json:"requestedAt,omitzero" doc:"When the API server ended the newest request behind this change. Absent if no request was reported."`
	ReceivedAt      time.Time   `json:"receivedAt,omitzero" doc:"When that report reached Reroll."`
	VerifiedAt      time.Time   `json:"verifiedAt" doc:"When the live object was read."`
	Shortened       []string    `json:"shortened,omitempty" enum:"candidates,keys" doc:"What the record lacks because it would have been too large with it. Absent if it is whole."`
	LatencySeconds  *float64    `json:"latencySeconds,omitempty" doc:"Seconds from requestedAt to verifiedAt, by the clocks of two machines. Absent if requestedAt is."`
}

// FromChange returns the view of c.
func FromChange(c *reloader.Change) Change {
	v := Change{
		ID:              c.ID,
		Cluster:         c.Cluster,
		Config:          fromConfig(c.Config),
		Type:            string(c.Type),
		UID:             c.UID,
		ResourceVersion: c.ResourceVersion,
		OldDigest:       c.Old.Sum,
		OldDigestKeyID:  c.Old.KeyID,
		Keys:            each(c.Keys, fromKeyChange),
		Candidates:      each(c.Candidates, fromCandidate),
		Source:          string(c.Source),
		RequestedAt:     c.RequestedAt,
		ReceivedAt:      c.ReceivedAt,
		VerifiedAt:      c.VerifiedAt,
		LatencySeconds:  seconds(c.RequestedAt, c.VerifiedAt),
		Shortened:       fromParts(c.Shortened),
	}
	if c.Present() { // A tombstone keeps the last digest for itself: it is not what the config went to.
		v.NewDigest, v.NewDigestKeyID = c.New.Sum, c.New.KeyID
	}
	return v
}

func fromConfig(c reloader.Config) Config {
	return Config{Cluster: c.Cluster, Kind: string(c.Kind), Namespace: c.Namespace, Name: c.Name}
}

func fromKeyChange(k reloader.KeyChange) KeyChange { return KeyChange{Key: k.Key, Op: string(k.Op)} }

func fromCandidate(c reloader.Candidate) Candidate {
	return Candidate{
		User:              c.Actor.User,
		AuthenticatedUser: c.Actor.AuthenticatedUser,
		UserAgent:         c.Actor.UserAgent,
		SourceIP:          c.Actor.SourceIP,
		FieldManager:      c.Actor.FieldManager,
		Verb:              string(c.Verb),
		AuditID:           c.AuditID,
		Time:              c.Time,
		Basis:             string(c.Basis),
	}
}

// fromParts returns the names of parts that a record lacks; nil if it is whole.
func fromParts(parts []reloader.Part) []string {
	if len(parts) == 0 {
		return nil
	}
	return each(parts, func(p reloader.Part) string { return string(p) })
}

// each returns f of every element, and never nil: lists are shown as [] when empty.
func each[T, V any](list []T, f func(T) V) []V {
	views := make([]V, 0, len(list))
	for _, element := range list {
		views = append(views, f(element))
	}
	return views
}

// seconds returns the time from start to end, or nil if either is unknown.
func seconds(start, end time.Time) *float64 {
	if start.IsZero() || end.IsZero() {
		return nil
	}
	s := end.Sub(start).Seconds()
	return &s
}
