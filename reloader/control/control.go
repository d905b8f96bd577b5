// Package control holds back reloads at the word of those who run the cluster, and lets them go: what the ConfigMap reroll-control says,
// and when maintenance windows are open. It is pure: whoever asks tells the time.
//
// The ConfigMap is meant for emergencies and plain kubectl. A word in it that cannot be understood holds back rather than lets go, and
// is told as a problem.
package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/reloader"
)

// ConfigMap is the name of the ConfigMap, in Reroll's own namespace.
const ConfigMap = "reroll-control"

// The keys of the ConfigMap.
const (
	// FreezeKey holds back everything if it is true.
	FreezeKey = "freeze"
	// ReasonKey says why, and UntilKey until when at most, in RFC 3339.
	ReasonKey = "freeze-reason"
	UntilKey  = "freeze-until"
	// ByKey says who froze it, and SinceKey when, in RFC 3339, if that is known.
	ByKey    = "freeze-by"
	SinceKey = "freeze-since"
	// PausesKey is a YAML list of pauses of some workloads.
	PausesKey = "pauses"
)

// Limits of what is read.
const (
	maxPauses = 256
	maxText   = 256
	// MaxPause is the longest that a pause may last after it was written: a pause that nobody remembers is an outage of its own.
	MaxPause = 30 * 24 * time.Hour
)

// Control is what the ConfigMap says. The zero value holds back nothing.
type Control struct {
	Frozen bool
	Reason string
	// Until is when the freeze ends by itself; zero is never.
	Until time.Time
	// By is who froze it, and Since when; empty and zero if that is not known.
	By     string
	Since  time.Time
	Pauses []Pause
	// Retries say when another try was asked for, by Kind/namespace/name of workloads and configs.
	Retries map[string]time.Time
	// Problems are what could not be understood.
	Problems []string
}

// Pause holds back the workloads of a namespace, or of all if it is empty, whose labels match.
type Pause struct {
	Namespace string
	Selector  labels.Selector
	Until     time.Time
	Reason    string
	// By is who paused them; empty if that is not known.
	By string
}

// pauseText is a pause as the ConfigMap has it.
type pauseText struct {
	Namespace string `json:"namespace,omitempty"`
	Selector  string `json:"selector,omitempty"`
	Until     string `json:"until"`
	Reason    string `json:"reason,omitempty"`
	By        string `json:"by,omitempty"`
}

// Unread is what holds as long as nobody could read the ConfigMap: it may say that everything is frozen.
func Unread() Control {
	return Control{Frozen: true, Reason: "the ConfigMap " + ConfigMap + " could not be read yet, and may say so"}
}

// Parse reads the ConfigMap's data.
func Parse(data map[string]string) Control {
	c := Control{Reason: cut(data[ReasonKey]), By: cut(data[ByKey])}
	if value := data[FreezeKey]; value != "" {
		frozen, err := strconv.ParseBool(value)
		c.Frozen = frozen || err != nil
		if err != nil {
			c.problem("%s: %.40q is neither true nor false; taken for true", FreezeKey, value)
		}
	}
	if value := data[UntilKey]; value != "" {
		until, err := parseTime(value)
		if err != nil {
			c.problem("%s: %.40q is no time, such as 2026-01-31T18:00:00Z; the freeze does not end by itself", UntilKey, value)
		}
		c.Until = until
	}
	if value := data[SinceKey]; value != "" {
		since, err := parseTime(value)
		if err != nil {
			c.problem("%s: %.40q is not a time, such as 2026-01-31T18:00:00Z", SinceKey, value)
		}
		c.Since = since
	}
	c.parsePauses(data[PausesKey])
	c.parseRetries(data)
	return c
}

// parsePauses reads the list of pauses. A pause that is not understood holds back as much as it could have meant, until it ends as every
// pause does: an operator writes one in the middle of an incident, and a slip of the pen must not let everything go.
func (c *Control) parsePauses(text string) {
	var items []json.RawMessage
	if err := yaml.UnmarshalStrict([]byte(text), &items); err != nil {
		c.pauseInDoubt("", unbounded, PausesKey, "not a list of namespace, selector, until and reason")
		return
	}
	if len(items) > maxPauses {
		c.pauseInDoubt("", unbounded, PausesKey, fmt.Sprintf("more than %d", maxPauses))
		items = items[:maxPauses]
	}
	for i, item := range items {
		c.parsePause(fmt.Sprintf("%s[%d]", PausesKey, i), item)
	}
}

func (c *Control) parsePause(where string, item json.RawMessage) {
	var p pauseText
	if err := json.Unmarshal(item, &p); err != nil {
		c.pauseInDoubt("", unbounded, where, "not a pause of namespace, selector, until and reason")
		return
	}
	until, err := parseTime(p.Until)
	if err != nil {
		c.problem("%s: until %.40q is not a time, such as 2026-01-31T18:00:00Z; the pause lasts as long as a pause can", where, p.Until)
		until = unbounded
	}
	selector, err := labels.Parse(p.Selector)
	switch {
	case p.Namespace != "" && validNamespace(p.Namespace) != nil:
		c.pauseInDoubt("", until, where, fmt.Sprintf("%.80q is not a namespace", p.Namespace))
	case err != nil:
		c.pauseInDoubt(p.Namespace, until, where, fmt.Sprintf("%.80q is not a label selector", p.Selector))
	case yaml.UnmarshalStrict(item, &pauseText{}) != nil:
		c.pauseInDoubt(p.Namespace, until, where, "a pause has namespace, selector, until and reason, and no other key")
	default:
		c.Pauses = append(c.Pauses, Pause{Namespace: p.Namespace, Selector: selector, Until: until, Reason: cut(p.Reason), By: cut(p.By)})
	}
}

// parseTime reads a time in RFC 3339 that can be stored.
func parseTime(text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, text)
	if err == nil && !reloader.Storable(t) {
		err = errors.New("too far away")
	}
	if err != nil {
		return time.Time{}, err
	}
	return t, nil
}

// unbounded is the end of a pause that does not say when it ends. Bounded brings it forward.
var unbounded = time.Date(2261, time.December, 31, 0, 0, 0, 0, time.UTC)

// pauseInDoubt pauses a namespace, or everything if that is empty, because of what cannot be understood.
func (c *Control) pauseInDoubt(namespace string, until time.Time, where, problem string) {
	what := "everything"
	if namespace != "" {
		what = "all of " + namespace
	}
	problem = fmt.Sprintf("%s: %s; %s is paused", where, problem, what)
	c.problem("%s", problem)
	c.Pauses = append(c.Pauses, Pause{Namespace: namespace, Selector: labels.Everything(), Until: until, Reason: cut(problem)})
}

func (c *Control) problem(format string, args ...any) {
	c.Problems = append(c.Problems, fmt.Sprintf(format, args...))
}

// cut bounds text, and leaves no half of a character at its end.
func cut(text string) string { return strings.ToValidUTF8(text[:min(len(text), maxText)], "") }

// Freeze reports whether everything is held back at a time, and until when; zero is until somebody thaws it.
func (c Control) Freeze(now time.Time) (frozen bool, until time.Time) {
	if !c.Frozen || !c.Until.IsZero() && !now.Before(c.Until) {
		return false, time.Time{}
	}
	return true, c.Until
}

// Bounded returns c, whose pauses end MaxPause after the ConfigMap was last written at the latest.
func (c Control) Bounded(written time.Time) Control {
	c.Pauses = slices.Clone(c.Pauses)
	for i, p := range c.Pauses {
		if latest := written.Add(MaxPause); p.Until.After(latest) {
			c.Pauses[i].Until = latest
		}
	}
	return c
}

// Paused returns the pause of a workload that lasts longest, if there is one at that time.
func (c Control) Paused(o metav1.Object, now time.Time) (Pause, bool) {
	var found Pause
	for _, p := range c.Pauses {
		if p.Namespace != "" && p.Namespace != o.GetNamespace() || !p.Selector.Matches(labels.Set(o.GetLabels())) {
			continue
		}
		if p.Until.After(now) && p.Until.After(found.Until) {
			found = p
		}
	}
	return found, !found.Until.IsZero()
}
