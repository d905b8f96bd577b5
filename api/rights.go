package api

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/api/projection"
)

// Right lets a group see what the clusters and namespaces have whose names match. In both patterns * stands for any characters.
type Right struct{ Group, Clusters, Namespaces string }

// ParseRight reads GROUP CLUSTERS/NAMESPACES, such as "team-shop prod-*/shop".
func ParseRight(line string) (r Right, err error) {
	line = strings.TrimSpace(line)
	at := strings.LastIndexByte(line, ' ')
	clusters, namespaces, ok := strings.Cut(line[at+1:], "/")
	if at < 0 || !ok || clusters == "" || namespaces == "" {
		return r, fmt.Errorf("%.200q is not of the form GROUP CLUSTERS/NAMESPACES, such as team-shop prod-*/shop", line)
	}
	for _, pattern := range []string{clusters, namespaces} {
		if _, err := path.Match(pattern, ""); err != nil || strings.Contains(pattern, "/") {
			return r, fmt.Errorf("%.200q is not a pattern of names", pattern)
		}
	}
	return Right{strings.TrimSpace(line[:at]), clusters, namespaces}, nil
}

func matches(pattern, name string) bool {
	ok, _ := path.Match(pattern, name) // the pattern was checked
	return ok
}

// reach is which records one client may see.
type reach struct {
	everything bool
	rights     []Right
	// own is the cluster whose API server decides about each namespace; empty if rights decide.
	own string
}

// reach returns what the client of ctx may see. Rights of Kubernetes, which the caller asks about, are those of the cluster whose API server gives
// them: what another cluster has forwarded is shown to the groups that a.rights names alone.
func (a *server) reach(ctx context.Context) reach {
	user, _ := userOf(ctx)
	switch {
	case a.access == nil:
		return reach{everything: true}
	case len(a.rights) > 0:
		return reach{rights: slices.DeleteFunc(slices.Clone(a.rights), func(r Right) bool { return !slices.Contains(user.Groups, r.Group) })}
	}
	if c, ok := a.records.Cluster(a.cluster); ok && len(c.Positions) > 0 {
		return reach{} // a cluster of the same name, which has forwarded its records
	}
	return reach{own: a.cluster}
}

// sees reports whether the records of a namespace may be shown, or those of the whole cluster if namespace is empty.
func (r reach) sees(cluster, namespace string) bool {
	return r.somewhere(cluster, func(of Right) bool {
		return of.Namespaces == "*" || namespace != "" && matches(of.Namespaces, namespace)
	})
}

// enters reports whether anything of a cluster may be shown.
func (r reach) enters(cluster string) bool {
	return r.somewhere(cluster, func(Right) bool { return true })
}

func (r reach) somewhere(cluster string, in func(Right) bool) bool {
	return r.everything || r.own != "" && r.own == cluster ||
		slices.ContainsFunc(r.rights, func(of Right) bool { return matches(of.Clusters, cluster) && in(of) })
}

// nothing reports whether there are clusters, and nothing of them may be shown.
func (r reach) nothing(all []*projection.ClusterState) bool {
	return len(all) > 0 && !slices.ContainsFunc(all, func(c *projection.ClusterState) bool { return r.enters(c.Name) })
}

var errNoRights = errors.New("api: Rights need Access, which knows the groups of users")
