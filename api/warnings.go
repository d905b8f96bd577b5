package api

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/reloader/verdict"
)

// warnings says what any answer may be missing. Unknown clusters in a question are among that.
func (a *server) warnings(ctx context.Context, named ...string) []string {
	found, sight := []string{}, a.reach(ctx)
	if !a.records.CaughtUp() {
		found = append(found, "The stored records are still being read; some may be missing.")
	}
	for _, name := range named {
		if name != "" && a.records.CaughtUp() && !(a.records.HasCluster(name) && sight.enters(name)) {
			found = append(found, "Nothing is on record about a cluster "+name+".")
		}
	}
	if sight.nothing(a.records.Clusters()) {
		found = append(found, "Nothing is shown to you: no line of api.rights names one of your groups.")
	}
	now := time.Now()
	return append(found, a.doubts(ctx, a.records.Clusters(), func(c *projection.ClusterState) bool { return a.silent(c, now) })...)
}

// late returns the clusters that are heard of, and whose records may not be those of now.
func (a *server) late(now time.Time) []*projection.ClusterState {
	if !a.records.CaughtUp() {
		return nil
	}
	return slices.DeleteFunc(a.records.Clusters(), func(c *projection.ClusterState) bool {
		return verdict.Doubt(c.Status, c.Positions, now) == "" || a.silent(c, now)
	})
}

// silent reports whether a cluster has not been heard of lately.
func (a *server) silent(c *projection.ClusterState, now time.Time) bool {
	h := verdict.Heard(c.Status, now)
	return h == verdict.Away || h == verdict.Unknown && a.records.CaughtUp()
}

// maxDoubts is how many clusters an answer names whose records may not be those of now.
const maxDoubts = 20

// doubts says why the records of some clusters, each of which is silent or late, may not be those of now. It names clusters to users who may list them,
// and tells others only that some exist.
func (a *server) doubts(ctx context.Context, clusters []*projection.ClusterState, some func(c *projection.ClusterState) bool) (found []string) {
	now, sight, more, hidden := time.Now(), a.reach(ctx), 0, false
	for _, c := range clusters {
		switch {
		case !sight.enters(c.Name) || !some(c):
		case !sight.sees(c.Name, ""):
			hidden = true
		case len(found) == maxDoubts:
			more++
		default:
			found = append(found, "Cluster "+c.Name+": "+verdict.Doubt(c.Status, c.Positions, now))
		}
	}
	if more > 0 {
		found = append(found, fmt.Sprintf("The records of %d more clusters may be out of date.", more))
	}
	if len(found) > 0 && !a.sees(ctx, listClusters) {
		found, hidden = nil, true
	}
	if hidden {
		found = append(found, "Some clusters have not reported lately. Their records may be out of date.")
	}
	return found
}

// sight tells for one answer which namespaces the one who asks may look into: that of the question, which they were let to ask, and those where
// they may do what is needed.
type sight struct {
	reach reach
	may   func(namespace string) (bool, error)
	seen  map[string]bool
	// hides says that something was left out.
	hides bool
	// fault is the problem that the user's rights are unknown.
	fault error
}

// sightFrom returns the sight of those who were let to ask about a namespace; empty is all of them.
func (a *server) sightFrom(ctx context.Context, namespace string, needed Deed) *sight {
	return &sight{
		reach: a.reach(ctx),
		seen:  map[string]bool{namespace: true},
		may: func(other string) (bool, error) {
			needed.Namespace = other
			return a.may(ctx, needed)
		},
	}
}

// of reports whether what is in a namespace of a cluster may be shown. All namespaces are asked about once, before any single one.
func (s *sight) of(cluster, namespace string) bool {
	seen := s.reach.sees(cluster, namespace)
	if seen && !s.seen[namespace] {
		seen = s.look("") || s.look(namespace)
	}
	s.hides = s.hides || !seen
	return seen
}

func (s *sight) look(namespace string) bool {
	seen, ok := s.seen[namespace]
	if ok || s.fault != nil {
		return seen
	}
	seen, s.fault = s.may(namespace)
	s.seen[namespace] = seen
	return seen
}

// warnings says whether something was left out.
func (s *sight) warnings() []string {
	if s.hides {
		return []string{"Workloads that you may not see are left out."}
	}
	return nil
}
