package reloader

import "time"

// Source says where a hint or a change came from.
type Source string

// The sources. A sweep and a baseline come from the dispatcher itself.
const (
	SourceAudit    Source = "audit"
	SourceShipped  Source = "shipped"
	SourceWatch    Source = "watch"
	SourceSweep    Source = "sweep"
	SourceBaseline Source = "baseline"
)

// SourceInfo describes a Source.
type SourceInfo struct {
	Source Source
	// Says is what reports the change, and Knows what the hints say about the author.
	Says, Knows string
	// Users means that the hints name the users of requests.
	Users bool
}

// Sources are all of them. docs/audit-events.md has the texts.
var Sources = []SourceInfo{
	{SourceAudit, "the API server, at `/v1/audit/{cluster}`", "the user, client and address", true},
	{SourceShipped, "a log shipper, at `/v1/shipped/{cluster}`", "the user, client and address", true},
	{SourceWatch, "a watch of metadata, which needs permission to list Secrets", "the field manager", false},
	{SourceSweep, "the resync, every `resyncInterval`", "nothing about the author", false},
	{SourceBaseline, "the first look at a config", "nothing about the author", false},
}

// Verb is the Kubernetes verb of the request that a hint is about.
type Verb string

// The verbs that can change a config.
const (
	VerbCreate           Verb = "create"
	VerbUpdate           Verb = "update"
	VerbPatch            Verb = "patch"
	VerbDelete           Verb = "delete"
	VerbDeleteCollection Verb = "deletecollection"
)

// Hint says that a config may have been written. It carries no content, may be lost, repeated, reordered or forged, and is
// harmless: all it can cause is a look at the live object.
type Hint struct {
	Cluster string `json:"cluster"`
	// Config is what was touched; with an empty Name, any config of that kind and namespace.
	Config Config `json:"config"`
	Verb   Verb   `json:"verb"`
	Source Source `json:"source"`
	Actor  Actor  `json:"actor"`
	// AuditID is the request's audit ID, chosen by its client: good for finding the request in an audit log, never a key.
	AuditID string `json:"auditID,omitempty"`
	// Code is the HTTP status of the request. Zero, or 500 and above, means that the outcome is unknown.
	Code int `json:"code,omitempty"`
	// Time is when the API server says that the request ended. It is shown and compared with, never used for order.
	Time time.Time `json:"time"`
	// Received is when Reroll got the hint.
	Received time.Time `json:"received"`
}

// created is the HTTP status of a request that made an object.
const created = 201

// Creates reports whether the request made the config. An apply does, too, if there was none.
func (h Hint) Creates() bool { return h.Verb == VerbCreate || h.Code == created }

// OutcomeUnknown reports whether the request may still be committed after it was answered, so that a second look is due.
func (h Hint) OutcomeUnknown() bool { return h.Code == 0 || h.Code >= 500 }

// Actor is who made a request, as far as the API server knows.
type Actor struct {
	User              string `json:"user,omitempty" doc:"The effective user of the request; the impersonated one if there was impersonation."`
	AuthenticatedUser string `json:"authenticatedUser,omitempty" doc:"The user who was authenticated, if that is not user."`
	UserAgent         string `json:"userAgent,omitempty" doc:"What the client called itself."`
	// SourceIP is the last address of the audit event, the only one that a client cannot choose.
	SourceIP     string `json:"sourceIP,omitempty" doc:"The address nearest to the API server, the only one that the client could not choose."`
	FieldManager string `json:"fieldManager,omitempty" doc:"The field manager that the request named."`
}

// Name returns the user, with the one who impersonated them, or, where only a watch has seen the write, the field manager; empty if neither is
// known.
func (a Actor) Name() string {
	switch {
	case a.User == "" && a.FieldManager != "":
		return "field manager " + a.FieldManager
	case a.AuthenticatedUser != "" && a.AuthenticatedUser != a.User:
		return a.User + " (impersonated by " + a.AuthenticatedUser + ")"
	}
	return a.User
}

// Limits on the text of a Hint; ingest cuts longer values, and decoders refuse them.
const (
	MaxUserLength         = 512
	MaxUserAgentLength    = 512
	MaxAuditIDLength      = 128
	MaxSourceIPLength     = 64
	MaxFieldManagerLength = 128
)
