package reloader

import (
	"fmt"
	"slices"
	"strings"
)

// Part is what a stored record lacks because the record would be too large with it.
type Part string

// The parts that a record can do without.
const (
	// PartMessages are the ends of long texts for people.
	PartMessages Part = "messages"
	// PartCandidates are the actors who may have made a change.
	PartCandidates Part = "candidates"
	// PartKeys are the keys that a change touched, and their fingerprints.
	PartKeys Part = "keys"
	// PartCauses are some of the changes behind a reload.
	PartCauses Part = "causes"
	// PartUses are the places in a pod template that refer to a config.
	PartUses Part = "uses"
	// PartTerms are the keys that a workload chooses, and what it waits for.
	PartTerms Part = "terms"
	// PartDependencies are some of the configs that a workload depends on, and what is known of them.
	PartDependencies Part = "dependencies"
)

// shortener is a record that may be too large for the store, and that still says something without a part of it.
type shortener interface {
	// shorten leaves out the part that is missed least, and notes that. It returns false if there is nothing left to leave out. It changes
	// nothing that the record refers to.
	shorten() bool
}

// maxShortMessage is the length of a text for people in a record that is too large.
const maxShortMessage = 1 << 10

func (c *Change) shorten() bool {
	switch {
	case len(c.Candidates) > 0:
		c.Candidates = nil
		return noted(&c.Shortened, PartCandidates)
	case c.Old.Keys != nil || c.New.Keys != nil || c.Keys != nil:
		// All or none: a list of some keys would say that the others have not changed.
		c.Old.Keys, c.New.Keys, c.Keys = nil, nil, nil
		return noted(&c.Shortened, PartKeys)
	}
	return false
}

// Lacks reports whether c was stored without a part.
func (c Change) Lacks(p Part) bool { return slices.Contains(c.Shortened, p) }

func (c *Copy) shorten() bool { return c.Change.shorten() }

func (r *Reload) shorten() bool {
	has := func(test func(Cause) bool) bool { return slices.ContainsFunc(r.Causes, test) }
	switch {
	case cut(&r.Message) || r.Rollout != nil && len(r.Rollout.Message) > maxShortMessage:
		if r.Rollout != nil {
			shown := *r.Rollout
			cut(&shown.Message)
			r.Rollout = &shown
		}
		return noted(&r.Shortened, PartMessages)
	case has(func(c Cause) bool { return len(c.Candidates) > 0 }):
		r.Causes = slices.Clone(r.Causes)
		for i := range r.Causes {
			r.Causes[i].Candidates = nil
		}
		return noted(&r.Shortened, PartCandidates)
	case has(func(c Cause) bool { return len(c.Keys) > 0 }):
		r.Causes = slices.Clone(r.Causes)
		for i := range r.Causes {
			r.Causes[i].Keys = nil
		}
		return noted(&r.Shortened, PartKeys)
	case len(r.Causes) > 1:
		r.Causes = r.Causes[:len(r.Causes)-(len(r.Causes)+3)/4]
		return noted(&r.Shortened, PartCauses)
	}
	return false
}

func (r *WorkloadRecord) shorten() bool {
	switch {
	case r.cutMessages():
		return noted(&r.Shortened, PartMessages)
	case slices.ContainsFunc(r.Edges, func(e Edge) bool { return len(e.Uses) > 0 }):
		r.Edges = slices.Clone(r.Edges)
		for i := range r.Edges {
			r.Edges[i].Uses = nil
		}
		return r.complain(PartUses)
	case r.Keys != "" || r.Missing != nil:
		r.Keys, r.Missing = "", nil
		return r.complain(PartTerms)
	case len(r.Edges) > 0:
		r.Edges = r.Edges[:len(r.Edges)-(len(r.Edges)+3)/4]
		return r.complain(PartDependencies)
	}
	return false
}

// tooLarge begins the Problem of a workload whose record lacks something that matters.
const tooLarge = "the record of the workload is too large for the store"

// complain notes that r lacks a part, and says so among the problems of the workload.
func (r *WorkloadRecord) complain(p Part) bool {
	noted(&r.Shortened, p)
	r.Problems = slices.DeleteFunc(slices.Clone(r.Problems), func(p string) bool { return strings.HasPrefix(p, tooLarge) })
	text := tooLarge + " and lacks its " + join(r.Shortened)
	if p == PartDependencies {
		text += fmt.Sprintf(": after a restart, only the first %d are known, and a change of another one made meanwhile is not noticed", len(r.Edges))
	}
	r.Problems = append(r.Problems, text)
	return true
}

func join(parts []Part) string {
	words := make([]string, len(parts))
	for i, p := range parts {
		words[i] = string(p)
	}
	return strings.Join(words, ", ")
}

// cutMessages cuts the texts of r, and reports whether one was too long.
func (r *WorkloadRecord) cutMessages() bool {
	was := false
	r.Problems = slices.Clone(r.Problems)
	for i := range r.Problems {
		was = cut(&r.Problems[i]) || was
	}
	r.Unreadable = slices.Clone(r.Unreadable)
	for i := range r.Unreadable {
		was = cut(&r.Unreadable[i].Message) || was
	}
	if r.Hold != nil {
		hold := *r.Hold
		was = cut(&hold.Message) || was
		r.Hold = &hold
	}
	if r.Rollout != nil {
		rollout := *r.Rollout
		was = cut(&rollout.Message) || was
		r.Rollout = &rollout
	}
	return was
}

// cut cuts a text for people, and reports whether it was too long.
func cut(text *string) bool {
	if len(*text) <= maxShortMessage {
		return false
	}
	*text = strings.ToValidUTF8((*text)[:maxShortMessage], "")
	return true
}

func noted(parts *[]Part, p Part) bool {
	if !slices.Contains(*parts, p) {
		*parts = append(slices.Clone(*parts), p)
	}
	return true
}
