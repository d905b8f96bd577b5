package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Sight is something that can be seen besides the changes of templates. Exactly one of Object, Jobs, Events and Reloads says where.
type Sight struct {
	// Object is the object itself.
	Object Ref `json:"object,omitempty"`
	// Jobs are those that a CronJob controls.
	Jobs Ref `json:"jobs,omitempty"`
	// Events are those on the object.
	Events Ref `json:"events,omitempty"`
	// Reloads are what Reroll has on record for a workload.
	Reloads Ref `json:"reloads,omitempty"`
	// Has is a part of what is there. A field that is null must be absent, "*" is anything but nothing, and a text behind ~ is an
	// expression that the value matches. A list must have something like each item.
	Has map[string]any `json:"has,omitempty"`
	// None says that nothing there has it. Otherwise something must, and all of the Jobs.
	None bool `json:"none,omitempty"`
}

// Ref names the object at which s looks.
func (s Sight) Ref() Ref {
	for _, ref := range []Ref{s.Object, s.Jobs, s.Events, s.Reloads} {
		if ref != "" {
			return ref
		}
	}
	return ""
}

func (s Sight) validate() error {
	said := 0
	for _, ref := range []Ref{s.Object, s.Jobs, s.Events, s.Reloads} {
		if ref != "" {
			said++
		}
	}
	if said != 1 {
		return errors.New("it must be exactly one of object, jobs, events and reloads")
	}
	if _, _, _, err := s.Ref().Split(); err != nil {
		return err
	}
	return checkExpressions(s.Has)
}

func checkExpressions(want any) error {
	switch v := want.(type) {
	case map[string]any:
		for _, value := range v {
			if err := checkExpressions(value); err != nil {
				return err
			}
		}
	case []any:
		for _, value := range v {
			if err := checkExpressions(value); err != nil {
				return err
			}
		}
	case string:
		if expression, ok := strings.CutPrefix(v, "~"); ok {
			_, err := regexp.Compile(expression)
			return err
		}
	}
	return nil
}

// see waits until there is what s says.
func (r *runner) see(ctx context.Context, when string, s Sight) {
	r.t.Helper()
	looker := r.real()
	deadline := time.After(patience)
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		found, err := looker.Look(ctx, s)
		r.must(when, err)
		problem := s.problem(found)
		if problem == "" {
			return
		}
		select {
		case <-time.After(pause):
		case <-deadline:
			r.t.Errorf("%s: %s: %s", when, s.Ref(), problem)
			return
		}
	}
}

// problem says how what was found differs from s; empty if it does not.
func (s Sight) problem(found []map[string]any) string {
	fits := func(object map[string]any) bool { return partOf("", s.Has, object) == "" }
	switch {
	case s.None && slices.ContainsFunc(found, fits):
		return fmt.Sprintf("something is there that has %s", jsonOf(s.Has))
	case s.None:
		return ""
	case len(found) == 0:
		return "nothing is there"
	case s.Jobs == "" && slices.ContainsFunc(found, fits):
		return ""
	}
	for _, object := range found {
		if difference := partOf("", s.Has, object); difference != "" {
			return difference + " in " + jsonOf(object)
		}
	}
	return ""
}

func jsonOf(value any) string {
	text, _ := json.Marshal(value)
	return string(text)
}

// partOf says what of want is not in got; empty if it is all there.
func partOf(path string, want, got any) string {
	switch w := want.(type) {
	case nil:
		if got != nil {
			return path + " is there"
		}
		return ""
	case map[string]any:
		g, _ := got.(map[string]any)
		for key, value := range w {
			if difference := partOf(path+"/"+key, value, g[key]); difference != "" {
				return difference
			}
		}
		return ""
	case []any:
		return missing(path, w, got)
	}
	if !equal(want, got) {
		return fmt.Sprintf("%s is not %v", path, want)
	}
	return ""
}

// missing says which item of want nothing in the list got has; empty if there is none.
func missing(path string, want []any, got any) string {
	list, _ := got.([]any)
	for i, item := range want {
		if !slices.ContainsFunc(list, func(g any) bool { return partOf("", item, g) == "" }) {
			return fmt.Sprintf("%s has nothing like item %d", path, i)
		}
	}
	return ""
}

// equal compares one value with what is asked for.
func equal(want, got any) bool {
	text := fmt.Sprint(want)
	if text == "*" {
		return got != nil && got != ""
	}
	if expression, ok := strings.CutPrefix(text, "~"); ok {
		return got != nil && regexp.MustCompile(expression).MatchString(fmt.Sprint(got))
	}
	return got != nil && fmt.Sprint(got) == text
}
