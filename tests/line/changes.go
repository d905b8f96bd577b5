package line

import (
	"context"
	"net/url"
)

// Change is what the REST API says about a change, as far as tests read it.
type Change struct {
	ID     string `json:"id"`
	Type   string `json:"type"`
	Config struct {
		Kind, Namespace, Name string
	} `json:"config"`
	Old        Digest      `json:"old"`
	New        Digest      `json:"new"`
	Candidates []Candidate `json:"candidates"`
	Source     string      `json:"source"`
}

// Digest is the fingerprint of a content; empty if there is none.
type Digest struct {
	Sum string `json:"sum"`
}

// Changes returns the changes in a namespace, newest first, without baselines.
func (r *Reroll) Changes(ctx context.Context, namespace string) ([]Change, error) {
	return all[Change](ctx, r, "/api/v1/changes", url.Values{"namespace": {namespace}})
}
