package dialect

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

const (
	// FollowKey on a workload lists configs of other clusters that it follows, as cluster/namespace/kind/name, separated by commas. A name
	// after = is that of the local copy, of the same kind and in the workload's namespace, from which it reads the content.
	FollowKey = OwnPrefix + "follow"
	// FollowersKey on a config lists the clusters whose workloads may follow it, separated by commas; * is every cluster.
	FollowersKey = OwnPrefix + "followers"
)

// MayFollow reports whether a config with these annotations lets workloads of a cluster follow it. One that says it rolls nothing does not.
func MayFollow(annotations map[string]string, cluster string) bool {
	if annotations[ownIgnore] == exactlyTrue {
		return false
	}
	for name := range strings.SplitSeq(annotations[FollowersKey], ",") {
		if name = strings.TrimSpace(name); name == "*" || name == cluster {
			return true
		}
	}
	return false
}

// maxFollowed bounds the configs that one workload follows.
const maxFollowed = 64

// followed is one item of a list of configs of other clusters.
type followed struct {
	config reloader.Config
	// replica is the local copy from which the workload reads the config's content; zero if it reads it elsewhere.
	replica reloader.Config
}

// parseFollow reads a list of configs of other clusters, with their local copies in a namespace. Faulty items are left out and named in
// problems.
func parseFollow(list, namespace string) (items []followed, problems []string) {
	for text := range strings.SplitSeq(list, ",") {
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		if len(items)+len(problems) >= maxFollowed {
			return items, append(problems, fmt.Sprintf("the list has more than %d items, and what follows is not read", maxFollowed))
		}
		one, err := parseFollowed(text, namespace)
		if i := slices.IndexFunc(items, func(f followed) bool { return f.config == one.config }); err == nil && i >= 0 && items[i] != one {
			err = errFollowTwice
		}
		if err != nil {
			problems = append(problems, fmt.Sprintf("item %.80q is left out: %v", text, err))
			continue
		}
		items = append(items, one)
	}
	return items, problems
}

var (
	errFollowForm = errors.New("it is not cluster/namespace/configmap/name or cluster/namespace/secret/name, perhaps with =name of a local copy")
	// errFollowTwice is that of a config that was listed with another local copy, or with none.
	errFollowTwice = errors.New("the config is listed before, and read elsewhere")
)

func parseFollowed(text, namespace string) (followed, error) {
	text, local, replicated := strings.Cut(text, "=")
	parts := strings.Split(text, "/")
	if len(parts) != 4 || parts[0] == "" || parts[3] == "" || replicated && local == "" {
		return followed{}, errFollowForm
	}
	f := followed{config: reloader.Config{Cluster: parts[0], Namespace: parts[1], Name: parts[3]}}
	for _, kind := range []reloader.ConfigKind{reloader.ConfigMap, reloader.Secret} {
		if strings.EqualFold(string(kind), parts[2]) {
			f.config.Kind = kind
		}
	}
	if f.config.Kind == "" {
		return followed{}, errFollowForm
	}
	if err := f.config.Validate(); err != nil || !replicated {
		return f, err
	}
	f.replica = reloader.Config{Kind: f.config.Kind, Namespace: namespace, Name: local}
	return f, f.replica.Validate()
}

// followed returns what a clause follows, and what is wrong with it.
func (s scope) followed(c Clause) ([]followed, []string) {
	type read struct {
		items    []followed
		problems []string
	}
	r := workload.Parse(s.w, use{c.Key, s.kind, 0}, s.value(c), func(text string) read {
		items, problems := parseFollow(text, s.w.Namespace)
		return read{items, problems}
	})
	return r.items, r.problems
}

// decideFollow asks for what is followed, and for the local copies of it.
func decideFollow(s scope, c Clause, config ConfigMeta) reloader.Reason {
	items, _ := s.followed(c)
	for _, f := range items {
		switch config.Config {
		case f.config:
			return reloader.ReasonFollowed
		case f.replica:
			return reloader.ReasonNamed
		}
	}
	return ""
}

func planFollow(s scope, c Clause, p *planner) {
	items, problems := s.followed(c)
	for _, problem := range problems {
		p.problem(c, problem)
	}
	for _, f := range items {
		if f.config.Kind != s.kind {
			continue
		}
		p.optedIn = true
		p.exact(s, f.config)
		if f.replica != (reloader.Config{}) {
			p.replica(s, c, f)
		}
	}
}

// replica notes the local copy of a config that is followed.
func (p *planner) replica(s scope, c Clause, f followed) {
	p.exact(s, f.replica)
	if !slices.Contains(p.interest.Exact, f.replica) {
		p.problem(c, fmt.Sprintf("the local copy %s of %s is excluded, and is not waited for", f.replica, f.config))
		return
	}
	if p.interest.Replicas == nil {
		p.interest.Replicas = map[reloader.Config]reloader.Config{}
	}
	p.interest.Replicas[f.config] = f.replica
}
