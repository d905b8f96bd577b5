package dialect

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Limits on a label selector in an annotation.
const (
	maxSelectorBytes        = 2 << 10
	maxSelectorRequirements = 16
)

// parseSelector reads a label selector as kubectl has it: app=web, tier in (front, back), !legacy. All of it must match.
func parseSelector(text string) (labels.Selector, error) {
	if len(text) > maxSelectorBytes {
		return nil, fmt.Errorf("the selector has %d bytes, more than %d", len(text), maxSelectorBytes)
	}
	selector, err := labels.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%.80q is no label selector, such as app=web,tier in (front,back)", text)
	}
	switch n := requirements(selector); {
	case n == 0:
		return nil, errors.New("a selector that asks for nothing would select everything; a glob * in a list says that")
	case n > maxSelectorRequirements:
		return nil, fmt.Errorf("the selector has %d requirements, more than %d", n, maxSelectorRequirements)
	}
	return selector, nil
}

// selector returns what a clause selects.
func (s scope) selector(c Clause) (labels.Selector, error) {
	type read struct {
		selector labels.Selector
		err      error
	}
	r := workload.Parse(s.w, use{c.Key, s.kind, 0}, s.value(c), func(text string) read {
		selector, err := parseSelector(text)
		return read{selector, err}
	})
	return r.selector, r.err
}

func requirements(s labels.Selector) int {
	all, _ := s.Requirements()
	return len(all)
}

// anyName matches every name of a config.
var anyName = regexp.MustCompile(`^[-.a-z0-9]+$`)

// decideSelected asks for a config whose labels match now. What was written to it while they did not match is no change that waits: whoever
// was brought past it then is at the content that is there when they match again.
func decideSelected(s scope, c Clause, config ConfigMeta) reloader.Reason {
	value := s.value(c)
	if value == "" {
		return ""
	}
	selector, err := s.selector(c)
	switch {
	case err != nil:
		return ""
	case !selector.Matches(labels.Set(config.Labels)):
		return reloader.ReasonConfigUnselected
	}
	return reloader.ReasonSelected
}

// planSelected notes that any config of the kind may match: labels come and go.
func planSelected(s scope, c Clause, p *planner) {
	value := s.value(c)
	if value == "" {
		return
	}
	selector, err := s.selector(c)
	if err != nil {
		p.problem(c, err.Error()+"; it selects nothing")
		return
	}
	p.optedIn = true
	text := strings.ToLower(string(s.kind)) + "s with " + selector.String()
	p.interest.Patterns = append(p.interest.Patterns, Pattern{Kind: s.kind, Namespace: s.w.Namespace, item: item{text: text, expression: anyName}})
}
