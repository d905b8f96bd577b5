package notify

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// PayloadVersion is the version of Payload. Fields may be added to a version; none changes its meaning or goes away.
const PayloadVersion = 1

// Payload is the body sent to a webhook in place of a reload: which workload must be rolled, which configs changed, and who may have
// changed them. It holds no content of a config.
type Payload struct {
	V       int    `json:"v"`
	Cluster string `json:"cluster"`
	// Reload is the ID of the reload. Content that comes back has the same ID again.
	Reload string `json:"reload"`
	// IdempotencyKey is the same whenever this very call is repeated, and another one for every other call, also where the same
	// content came back. It is sent as a header of that name, too.
	IdempotencyKey string `json:"idempotencyKey"`
	// DecidedAt is when the quiet window closed.
	DecidedAt time.Time            `json:"decidedAt"`
	Workload  reloader.WorkloadRef `json:"workload"`
	// Configs has an entry for each change, in no particular order. A config that changed several times within the debounce window has several.
	Configs []PayloadConfig `json:"configs"`
	// Truncated says that configs, keys or candidates were left out to keep the body small.
	Truncated bool `json:"truncated,omitempty"`

	// The fields of Stakater Reloader v2, for receivers that were written for it. Kind, Namespace, ResourceName and ResourceType are
	// about one config: the one whose change was verified last. ResourceType is Kind in lower case.
	Kind         string `json:"kind"`
	Namespace    string `json:"namespace"`
	ResourceName string `json:"resourceName"`
	ResourceType string `json:"resourceType"`
	// Hash changes whenever that config's content does. It is its NewDigest: the unkeyed hash there would let every receiver test
	// guesses of a Secret's content.
	Hash string `json:"hash"`
	// Timestamp is DecidedAt, and Workloads has Workload alone.
	Timestamp time.Time              `json:"timestamp"`
	Workloads []reloader.WorkloadRef `json:"workloads"`
}

// PayloadConfig is one change of a config.
type PayloadConfig struct {
	Kind      reloader.ConfigKind `json:"kind"`
	Namespace string              `json:"namespace"`
	Name      string              `json:"name"`
	// Change is the ID of the change.
	Change string `json:"change"`
	// Why is the reason why the workload asks for this config; see reloader.Reasons.
	Why reloader.Reason `json:"why"`
	// Keys are the keys that were touched, sorted; empty if that is not known.
	Keys []reloader.KeyChange `json:"keys"`
	// OldDigest and NewDigest are the first 12 characters of the keyed fingerprints before and after.
	OldDigest string `json:"oldDigest,omitempty"`
	NewDigest string `json:"newDigest,omitempty"`
	// Candidates may have made the change. With more than one, no single one is asserted.
	Candidates []PayloadCandidate `json:"candidates"`
}

// PayloadCandidate is an actor who may have made a change.
type PayloadCandidate struct {
	User string        `json:"user"`
	Verb reloader.Verb `json:"verb"`
	Time time.Time     `json:"time"`
	// Sure reports whether this actor made the change.
	Sure bool `json:"sure"`
}

// The limits of a payload: how many configs it names, and for each how many keys and candidates.
const (
	maxPayloadConfigs    = 64
	maxPayloadKeys       = 64
	maxPayloadCandidates = 8
)

// PayloadOf returns the body about r.
func PayloadOf(r reloader.Reload) Payload {
	p := Payload{
		V: PayloadVersion, Cluster: r.Cluster, Reload: r.ID, IdempotencyKey: r.ID, DecidedAt: r.DecidedAt.UTC(),
		Workload: r.Workload, Configs: []PayloadConfig{},
		Timestamp: r.DecidedAt.UTC(), Workloads: []reloader.WorkloadRef{r.Workload},
	}
	for _, cause := range firstOf(maxPayloadConfigs, r.Causes, &p.Truncated) {
		p.Configs = append(p.Configs, payloadConfig(cause, &p.Truncated))
	}
	if len(r.Causes) == 0 {
		return p
	}
	newest := slices.MaxFunc(r.Causes, byAge)
	p.IdempotencyKey += "." + newest.ChangeID
	p.Kind, p.ResourceType = string(newest.Config.Kind), strings.ToLower(string(newest.Config.Kind))
	p.Namespace, p.ResourceName, p.Hash = newest.Config.Namespace, newest.Config.Name, short(newest.NewSum)
	return p
}

// byAge orders causes by the time of their verification; which of two of the same time is taken does not depend on their order.
func byAge(a, b reloader.Cause) int {
	return cmp.Or(a.VerifiedAt.Compare(b.VerifiedAt), strings.Compare(a.ChangeID, b.ChangeID))
}

func payloadConfig(cause reloader.Cause, truncated *bool) PayloadConfig {
	c := PayloadConfig{
		Kind: cause.Config.Kind, Namespace: cause.Config.Namespace, Name: cause.Config.Name, Change: cause.ChangeID, Why: cause.Why,
		Keys:      append([]reloader.KeyChange{}, firstOf(maxPayloadKeys, cause.Keys, truncated)...),
		OldDigest: short(cause.OldSum), NewDigest: short(cause.NewSum), Candidates: []PayloadCandidate{},
	}
	for _, who := range firstOf(maxPayloadCandidates, cause.Candidates, truncated) {
		c.Candidates = append(c.Candidates, PayloadCandidate{User: who.Actor.User, Verb: who.Verb, Time: who.Time.UTC(), Sure: who.Sure})
	}
	return c
}

// firstOf returns at most n elements of all, and takes note if there are more.
func firstOf[T any](n int, all []T, truncated *bool) []T {
	*truncated = *truncated || len(all) > n
	return all[:min(n, len(all))]
}

func short(sum string) string { return reloader.Digest{Sum: sum}.Short() }
