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
	// FollowKey on a workload lists configs of other clusters that it follows, as cluster/namespace/kind/name, separated by commas.
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

// parseFollow reads a list of configs of other clusters. Faulty items are left out and named in problems.
func parseFollow(list string) (configs []reloader.Config, problems []string) {
	for text := range strings.SplitSeq(list, ",") {
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		if len(configs)+len(problems) >= maxFollowed {
			return configs, append(problems, fmt.Sprintf("the list has more than %d items, and what follows is not read", maxFollowed))
		}
		c, err := parseFollowed(text)
		if err != nil {
			problems = append(problems, fmt.Sprintf("item %.80q is left out: %v", text, err))
			continue
		}
		configs = append(configs, c)
	}
	return configs, problems
}

var errFollowForm = errors.New("it is not cluster/namespace/configmap/name or cluster/namespace/secret/name")

func parseFollowed(text string) (reloader.Config, error) {
	parts := strings.Split(text, "/")
	if len(parts) != 4 || parts[0] == "" || parts[3] == "" {
		return reloader.Config{}, errFollowForm
	}
	c := reloader.Config{Cluster: parts[0], Namespace: parts[1], Name: parts[3]}
	for _, kind := range plainConfigs {
		if strings.EqualFold(string(kind), parts[2]) {
			c.Kind = kind
		}
	}
	if c.Kind == "" {
		return reloader.Config{}, errFollowForm
	}
	return c, c.Validate()
}

// followed returns what a clause follows, and what is wrong with it.
func (s scope) followed(c Clause) ([]reloader.Config, []string) {
	type read struct {
		configs  []reloader.Config
		problems []string
	}
	r := workload.Parse(s.w, use{c.Key, s.kind, 0}, s.value(c), func(text string) read {
		configs, problems := parseFollow(text)
		return read{configs, problems}
	})
	return r.configs, r.problems
}

func decideFollow(s scope, c Clause, config ConfigMeta) reloader.Reason {
	if configs, _ := s.followed(c); slices.Contains(configs, config.Config) {
		return reloader.ReasonFollowed
	}
	return ""
}

func planFollow(s scope, c Clause, p *planner) {
	configs, problems := s.followed(c)
	for _, problem := range problems {
		p.problem(c, problem)
	}
	for _, config := range configs {
		if config.Kind == s.kind {
			p.optedIn = true
			p.exact(s, config)
		}
	}
}
