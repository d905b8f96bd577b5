package line

import (
	"context"
	"net/url"
	"time"
)

// Reload is what the REST API says about a reload, as far as tests read it.
type Reload struct {
	ID       string `json:"id"`
	Workload struct {
		Kind, Namespace, Name string
	} `json:"workload"`
	Outcome    string    `json:"outcome"`
	Message    string    `json:"message"`
	Strategy   string    `json:"strategy"`
	Causes     []Cause   `json:"causes"`
	Generation int64     `json:"generation"`
	DecidedAt  time.Time `json:"decidedAt"`
	PatchedAt  time.Time `json:"patchedAt"`
}

// Cause is one cause of a Reload.
type Cause struct {
	ChangeID string `json:"changeID"`
	Config   struct {
		Kind, Namespace, Name string
	} `json:"config"`
	Why    string `json:"why"`
	OldSum string `json:"oldSum"`
	NewSum string `json:"newSum"`
	Keys   []struct {
		Key, Op string
	} `json:"keys"`
	Candidates  []Candidate `json:"candidates"`
	Source      string      `json:"source"`
	RequestedAt time.Time   `json:"requestedAt"`
	ReceivedAt  time.Time   `json:"receivedAt"`
	VerifiedAt  time.Time   `json:"verifiedAt"`
}

// Candidate is an actor who may have made a change.
type Candidate struct {
	User         string    `json:"user"`
	FieldManager string    `json:"fieldManager"`
	UserAgent    string    `json:"userAgent"`
	Verb         string    `json:"verb"`
	AuditID      string    `json:"auditID"`
	Time         time.Time `json:"time"`
	Basis        string    `json:"basis"`
}

// page is a list of the REST API.
type page[T any] struct {
	Items    []T `json:"items"`
	Metadata struct {
		Continue string `json:"continue"`
	} `json:"metadata"`
}

// Reloads returns the reloads of a namespace, newest first.
func (r *Reroll) Reloads(ctx context.Context, namespace string) ([]Reload, error) {
	return all[Reload](ctx, r, "/api/v1/reloads", url.Values{"namespace": {namespace}})
}

// all reads every page of a list.
func all[T any](ctx context.Context, r *Reroll, path string, query url.Values) ([]T, error) {
	var items []T
	query.Set("limit", "500")
	for {
		var p page[T]
		if err := r.Get(ctx, path+"?"+query.Encode(), &p); err != nil {
			return nil, err
		}
		items = append(items, p.Items...)
		if p.Metadata.Continue == "" {
			return items, nil
		}
		query.Set("continue", p.Metadata.Continue)
	}
}

// workload is what the REST API says about a workload, as far as tests read it.
type workload struct {
	Workload     struct{ Name string } `json:"workload"`
	Dependencies []struct {
		Config  struct{ Name string } `json:"config"`
		Handled *struct{}             `json:"handled"`
	} `json:"dependencies"`
}

// baselines returns how many of the configs that w depends on it has a baseline for, and whether that is all of them.
func (w workload) baselines() (n int, complete bool) {
	for _, d := range w.Dependencies {
		if d.Handled != nil {
			n++
		}
	}
	return n, n == len(w.Dependencies)
}

// Baselines returns how many configs of a Deployment have a baseline.
func (r *Reroll) Baselines(ctx context.Context, namespace, deployment string) (int, error) {
	var w workload
	if err := r.Get(ctx, "/api/v1/workloads/"+ClusterName+"/"+namespace+"/Deployment/"+deployment, &w); err != nil {
		return 0, err
	}
	n, _ := w.baselines()
	return n, nil
}

// Problems returns what Reroll says is wrong with a Deployment.
func (r *Reroll) Problems(ctx context.Context, namespace, deployment string) ([]string, error) {
	var w struct {
		Problems []string `json:"problems"`
	}
	err := r.Get(ctx, "/api/v1/workloads/"+ClusterName+"/"+namespace+"/Deployment/"+deployment, &w)
	return w.Problems, err
}

// Settled returns the names of the workloads of a namespace that have a baseline for every config that they depend on, and how
// many have not.
func (r *Reroll) Settled(ctx context.Context, namespace string) (names []string, open int, err error) {
	workloads, err := all[workload](ctx, r, "/api/v1/workloads", url.Values{"namespace": {namespace}})
	for _, w := range workloads {
		if _, complete := w.baselines(); complete {
			names = append(names, w.Workload.Name)
		} else {
			open++
		}
	}
	return names, open, err
}

// Hold is what holds back a workload.
type Hold struct {
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
	Due     time.Time `json:"until"`
}

// Hold returns what holds back a Deployment; the zero Hold if nothing does.
func (r *Reroll) Hold(ctx context.Context, namespace, deployment string) (Hold, error) {
	var w struct {
		Hold Hold `json:"hold"`
	}
	err := r.Get(ctx, "/api/v1/workloads/"+ClusterName+"/"+namespace+"/Deployment/"+deployment, &w)
	return w.Hold, err
}
