package line

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"time"
)

// named is a config or a workload.
type named struct{ Kind, Namespace, Name string }

// Reload is what the REST API says about a reload, as far as tests read it.
type Reload struct {
	ID, Outcome, Message, Strategy string
	Workload                       named
	Causes                         []Cause
	DecidedAt, PatchedAt           time.Time
	// Pods is empty unless running pods were asked to reload.
	Pods struct {
		Asked, Answered, Failed int
		FailedPods              []string
	}
}

// Cause is one cause of a Reload.
type Cause struct {
	ChangeID, OldSum, NewSum, Source    string
	Config                              named
	Keys                                []struct{ Key, Op string }
	Candidates                          []Candidate
	RequestedAt, ReceivedAt, VerifiedAt time.Time
}

// Candidate is an actor who may have made a change.
type Candidate struct {
	User, Verb, AuditID string
	Sure                bool
}

// Change is what the REST API says about a change. A Sum is empty if there is no content.
type Change struct {
	ID, Type, Source string
	Config           named
	Old, New         struct{ Sum string }
	Candidates       []Candidate
}

// page is a list of the REST API.
type page[T any] struct {
	Items    []T
	Continue string
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
		if p.Continue == "" {
			return items, nil
		}
		query.Set("continue", p.Continue)
	}
}

// Changes returns the changes in a namespace, newest first, without baselines.
func (r *Reroll) Changes(ctx context.Context, namespace string) ([]Change, error) {
	return all[Change](ctx, r, "/api/v1/changes", url.Values{"namespace": {namespace}})
}

// workload is what the REST API says about a workload, as far as tests read it.
type workload struct {
	Workload     named
	Dependencies []struct{ How string }
	Problems     []string
	Hold         Hold
}

// Hold is what holds back a workload.
type Hold struct{ Reason, Message string }

// deployment returns a Deployment.
func (r *Reroll) deployment(ctx context.Context, namespace, name string) (w workload, err error) {
	err = r.Get(ctx, "/api/v1/workloads/"+ClusterName+"/"+namespace+"/Deployment/"+name, &w)
	return w, err
}

// baselines returns how many of the configs that w depends on it has a baseline for, and whether that is all of them.
func (w workload) baselines() (n int, complete bool) {
	for _, d := range w.Dependencies {
		if d.How != "" {
			n++
		}
	}
	return n, n == len(w.Dependencies)
}

// Baselines returns how many configs of a Deployment have a baseline.
func (r *Reroll) Baselines(ctx context.Context, namespace, deployment string) (int, error) {
	w, err := r.deployment(ctx, namespace, deployment)
	n, _ := w.baselines()
	return n, err
}

// Problems returns what Reroll says is wrong with a Deployment.
func (r *Reroll) Problems(ctx context.Context, namespace, deployment string) ([]string, error) {
	w, err := r.deployment(ctx, namespace, deployment)
	return w.Problems, err
}

// Hold returns what holds back a Deployment; the zero Hold if nothing does.
func (r *Reroll) Hold(ctx context.Context, namespace, deployment string) (Hold, error) {
	w, err := r.deployment(ctx, namespace, deployment)
	return w.Hold, err
}

// Settled waits until n workloads of the namespace have a baseline for every config that they depend on, and no other lacks one.
func (r *Room) Settled(n int) {
	r.T.Helper()
	r.Await("baselines", func(ctx context.Context) error {
		workloads, err := all[workload](ctx, r.Line.Reroll, "/api/v1/workloads", url.Values{"namespace": {r.NS}})
		open := slices.IndexFunc(workloads, func(w workload) bool { _, complete := w.baselines(); return !complete })
		if err == nil && (open >= 0 || len(workloads) != n) {
			err = fmt.Errorf("of %d workloads there are %d; one that is open: %d", n, len(workloads), open)
		}
		return err
	})
}
