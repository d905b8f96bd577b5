package cli

import (
	"fmt"
	"slices"
)

// spreadFields are the fields of a constraint that can be taken over, with what each may be. labelSelector is not among them: the chart fills it in.
var spreadFields = map[string]func(any) bool{
	"maxSkew":            isCount,
	"minDomains":         isCount,
	"topologyKey":        func(v any) bool { text, ok := v.(string); return ok && text != "" },
	"whenUnsatisfiable":  isOneOf("DoNotSchedule", "ScheduleAnyway"),
	"nodeAffinityPolicy": isOneOf("Honor", "Ignore"),
	"nodeTaintsPolicy":   isOneOf("Honor", "Ignore"),
}

// isCount reports whether a value is a whole number from 1 on.
func isCount(value any) bool {
	n, ok := value.(float64)
	return ok && n == float64(int32(n)) && n >= 1
}

func isOneOf(words ...string) func(any) bool {
	return func(value any) bool {
		text, ok := value.(string)
		return ok && slices.Contains(words, text)
	}
}

// takeSpread takes over topology spread constraints, all or none.
func takeSpread(c *conversion, value any) error {
	list, ok := value.([]any)
	if !ok {
		return fmt.Errorf("%s is no list of constraints", shortly(value))
	}
	var all []any
	for _, item := range list {
		constraint, err := spread(item)
		if err != nil {
			return err
		}
		all = append(all, constraint)
	}
	c.set("topologySpreadConstraints", all)
	return nil
}

// spread returns a constraint as our chart has it.
func spread(item any) (map[string]any, error) {
	theirs, ok := item.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s is no constraint", shortly(item))
	}
	ours := map[string]any{}
	for name, value := range theirs {
		if name == "labelSelector" {
			continue
		}
		if fits := spreadFields[name]; fits == nil || !fits(value) {
			return nil, fmt.Errorf("a constraint cannot have %s %s here", shortly(name), shortly(value))
		}
		ours[name] = value
	}
	for _, name := range []string{"maxSkew", "topologyKey", "whenUnsatisfiable"} {
		if ours[name] == nil {
			return nil, fmt.Errorf("a constraint has no %s", name)
		}
	}
	return ours, nil
}
