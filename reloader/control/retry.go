package control

import (
	"fmt"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// RetryPrefix begins the keys that ask for another try: retry.KIND.NAMESPACE.NAME, with the time of asking in RFC 3339. Of a workload
// that means the patch that was refused, and of a config its change, whose rollout was halted, from the first step on. It names no cluster:
// of configs of other clusters that workloads follow, each of that name is meant.
const RetryPrefix = "retry."

// RetryKey returns the key that asks for another try of NAMESPACE/KIND/NAME, a workload or a config.
func RetryKey(target string) (string, error) {
	parts := strings.Split(target, "/")
	if len(parts) != 3 {
		return "", fmt.Errorf("%.80q is not NAMESPACE/KIND/NAME, such as shop/Deployment/web", target)
	}
	namespace, kind, name := parts[0], parts[1], parts[2]
	c := reloader.Config{Kind: reloader.ConfigKind(kind), Namespace: namespace, Name: name}
	w := reloader.WorkloadRef{Kind: kind, Namespace: namespace, Name: name}
	_, rolls := workload.KindNamed(kind)
	switch {
	case name == "":
		return "", fmt.Errorf("%.80q is not NAMESPACE/KIND/NAME: it has no name", target)
	case rolls:
		if err := w.Validate(); err != nil {
			return "", err
		}
	default:
		if err := c.Validate(); err != nil {
			return "", err
		}
	}
	return RetryPrefix + kind + "." + namespace + "." + name, nil
}

// parseRetries reads every key that asks for another try. Kinds and namespaces have no dots.
func (c *Control) parseRetries(data map[string]string) {
	for key, value := range data {
		target, found := strings.CutPrefix(key, RetryPrefix)
		if !found {
			continue
		}
		at, err := parseTime(value)
		parts := strings.SplitN(target, ".", 3)
		if err != nil || len(parts) != 3 {
			c.problem("%.80s: not %sKIND.NAMESPACE.NAME with a time, such as 2026-01-31T18:00:00Z; nothing is tried again", key, RetryPrefix)
			continue
		}
		if c.Retries == nil {
			c.Retries = map[string]time.Time{}
		}
		c.Retries[strings.Join(parts, "/")] = at
	}
}

// Retried returns when another try was last asked for of what is called Kind/namespace/name; zero if never.
func (c Control) Retried(name string) time.Time { return c.Retries[name] }
