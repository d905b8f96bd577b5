package dialect

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/labels"
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
		return nil, fmt.Errorf("%.80q is not a label selector, such as app=web,tier in (front,back)", text)
	}
	switch all, _ := selector.Requirements(); {
	case len(all) == 0:
		return nil, errors.New("a selector that asks for nothing would select everything; a glob * in a list says that")
	case len(all) > maxSelectorRequirements:
		return nil, fmt.Errorf("the selector has %d requirements, more than %d", len(all), maxSelectorRequirements)
	}
	return selector, nil
}
