package control

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// ParseSelector reads a label selector as kubectl has it. One that no labels can match, such as a=b,a=c, is an error: it would select nothing for
// ever, and nothing would say so.
func ParseSelector(text string) (labels.Selector, error) {
	selector, err := labels.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%.200q: %w", text, err)
	}
	requirements, _ := selector.Requirements()
	byKey := map[string]labels.Requirements{}
	for _, r := range requirements {
		byKey[r.Key()] = append(byKey[r.Key()], r)
	}
	for key, all := range byKey {
		if !satisfiable(key, all) {
			return nil, fmt.Errorf("no object can match: what %.200q says about label %s contradicts itself", text, key)
		}
	}
	return selector, nil
}

// satisfiable reports whether a label can meet all requirements on it. They say that it is absent, that it has one of some values, that it is a number
// between two others, or that it has any value.
func satisfiable(key string, all labels.Requirements) bool {
	meets := func(set labels.Set) bool {
		return !slices.ContainsFunc(all, func(r labels.Requirement) bool { return !r.Matches(set) })
	}
	var candidates []string
	for _, r := range all {
		candidates = append(candidates, r.Values().UnsortedList()...)
	}
	for i := range len(candidates) + 1 { // one more than can be excluded
		candidates = append(candidates, fmt.Sprintf("another-%d", i))
		for _, r := range all {
			step := map[selection.Operator]int64{selection.GreaterThan: 1, selection.LessThan: -1}[r.Operator()]
			if n, err := strconv.ParseInt(strings.Join(r.Values().UnsortedList(), ""), 10, 64); err == nil && step != 0 {
				candidates = append(candidates, strconv.FormatInt(n+step*int64(i+1), 10))
			}
		}
	}
	return meets(nil) || slices.ContainsFunc(candidates, func(value string) bool { return meets(labels.Set{key: value}) })
}
