package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/reroll-dev/reroll/reloader"
)

// ClusterPath names one cluster.
type ClusterPath struct {
	Cluster string `path:"cluster" maxLength:"63" doc:"The cluster's name."`
}

// Pausing says which workloads are held back, for how long, and why.
type Pausing struct {
	Namespace string    `json:"namespace,omitempty" required:"false" nullable:"true" maxLength:"63" doc:"The namespace whose workloads are held back. Those of all if absent, which one must be allowed in all namespaces."`
	Selector  string    `json:"selector,omitempty" required:"false" nullable:"true" maxLength:"512" doc:"The label selector of the workloads. All if absent." example:"app=cart"`
	Until     time.Time `json:"until" doc:"When the pause ends, in 30 days at most."`
	Reason    string    `json:"reason,omitempty" required:"false" nullable:"true" maxLength:"256" doc:"Why, for those who ask."`
}

// Resuming says which pause ends.
type Resuming struct {
	Namespace string `json:"namespace,omitempty" required:"false" nullable:"true" maxLength:"63" doc:"The namespace of the pause. Absent for one of all namespaces."`
	Selector  string `json:"selector,omitempty" required:"false" nullable:"true" maxLength:"512" doc:"The label selector of the pause. Absent for one of all workloads."`
}

// Freezing says how long everything is held back, and why.
type Freezing struct {
	Until  time.Time `json:"until,omitzero" required:"false" nullable:"true" doc:"When the freeze ends by itself. Never if absent."`
	Reason string    `json:"reason,omitempty" required:"false" nullable:"true" maxLength:"256" doc:"Why, for those who ask."`
}

type pauseInput struct {
	ClusterPath
	CommandHeader
	Body Pausing
}

func (a *server) pauseWorkloads(ctx context.Context, in *pauseInput) (*commandOutput, error) {
	c := reloader.Command{
		Verb: reloader.CommandPause, Namespace: in.Body.Namespace, Selector: in.Body.Selector, Until: in.Body.Until, Reason: cutText(in.Body.Reason),
	}
	return a.commandCluster(ctx, in.CommandHeader, in.Cluster, Deed{Resource: resourcePauses, Namespace: in.Body.Namespace}, c)
}

type resumeInput struct {
	ClusterPath
	CommandHeader
	Body Resuming
}

func (a *server) resumeWorkloads(ctx context.Context, in *resumeInput) (*commandOutput, error) {
	c := reloader.Command{Verb: reloader.CommandResume, Namespace: in.Body.Namespace, Selector: in.Body.Selector}
	return a.commandCluster(ctx, in.CommandHeader, in.Cluster, Deed{Resource: resourcePauses, Namespace: in.Body.Namespace}, c)
}

type freezeInput struct {
	ClusterPath
	CommandHeader
	Body *Freezing
}

func (a *server) freezeCluster(ctx context.Context, in *freezeInput) (*commandOutput, error) {
	c := reloader.Command{Verb: reloader.CommandFreeze}
	if in.Body != nil {
		c.Until, c.Reason = in.Body.Until, cutText(in.Body.Reason)
	}
	return a.commandCluster(ctx, in.CommandHeader, in.Cluster, Deed{Resource: resourceClusters, Name: in.Cluster}, c)
}

type thawInput struct {
	ClusterPath
	CommandHeader
}

func (a *server) thawCluster(ctx context.Context, in *thawInput) (*commandOutput, error) {
	return a.commandCluster(ctx, in.CommandHeader, in.Cluster, Deed{Resource: resourceClusters, Name: in.Cluster}, reloader.Command{Verb: reloader.CommandThaw})
}

func (a *server) commandCluster(ctx context.Context, header CommandHeader, cluster string, deed Deed, c reloader.Command) (*commandOutput, error) {
	c.Cluster = cluster
	_, found := a.records.Cluster(cluster)
	return a.known(ctx, header, deed, c, found)
}

// commandID derives the ID of a command from the key that its giver chose: the same key of two users is two commands.
func commandID(user, key string) string {
	sum := sha256.Sum256([]byte(user + "\x00" + key))
	return "k-" + hex.EncodeToString(sum[:16])
}

// cutText bounds a text that was counted in characters to what a command may have in bytes.
func cutText(text string) string {
	if len(text) <= reloader.MaxCommandReasonLength {
		return text
	}
	text = text[:reloader.MaxCommandReasonLength]
	for len(text) > 0 && !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return strings.TrimSpace(text)
}
