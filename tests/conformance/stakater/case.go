package stakater

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/tests/scenario"
)

//go:embed scenarios/*.yaml operations.yaml
var files embed.FS

// Head is what a case says about the two tools.
type Head struct {
	// Section is the number of what the case is about: 1 flags, 2 annotations, 3 rolls, 4 references, 5 what is around, 6 moving.
	Section string `json:"section"`
	// Theirs is what Stakater Reloader v1 does, and Ours what Reroll does; Ours is empty if that is the same.
	Theirs string `json:"theirs"`
	Ours   string `json:"ours,omitempty"`
	// Source is where the sources of Stakater Reloader show Theirs: files and lines of v1.4.x, or "observed" of what was seen of the binary. Only what is
	// fixed may be without.
	Source string `json:"source,omitempty"`
	// Verdict is Kept or Fixed.
	Verdict string `json:"verdict"`
	// Why is the reason for a difference.
	Why string `json:"why,omitempty"`
	// Old is how to get the old behaviour, where somebody may rely on it.
	Old string `json:"old,omitempty"`
}

// The verdicts.
const (
	Kept  = "kept"
	Fixed = "fixed"
)

// Case is one data file.
type Case struct {
	Head
	scenario.Case
}

// Shown is a case that a Go test shows.
type Shown struct {
	Head
	// Test is the file of the test, from the root of the repository, and after a colon its name.
	Test string `json:"test"`
}

// Cases returns all data files, by their names.
func Cases() ([]Case, error) {
	names, err := fs.Glob(files, "scenarios/*.yaml")
	if err != nil {
		return nil, err
	}
	cases := make([]Case, 0, len(names))
	for _, name := range names {
		data, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		c, err := parse(strings.TrimSuffix(path.Base(name), ".yaml"), data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		cases = append(cases, c)
	}
	return cases, nil
}

func parse(name string, data []byte) (Case, error) {
	var c Case
	if err := yaml.UnmarshalStrict(data, &c); err != nil {
		return c, err
	}
	c.Name, c.Reason = name, c.Head.sentence()
	if err := c.Head.validate(); err != nil {
		return c, err
	}
	return c, errors.Join(c.Validate(), c.RollsSomething())
}

// Operations returns the cases that Go tests show, as they stand in the file.
func Operations() ([]Shown, error) {
	data, err := files.ReadFile("operations.yaml")
	if err != nil {
		return nil, err
	}
	var all []Shown
	if err := yaml.UnmarshalStrict(data, &all); err != nil {
		return nil, fmt.Errorf("operations.yaml: %w", err)
	}
	for _, s := range all {
		if err := s.validate(); err != nil {
			return nil, fmt.Errorf("operations.yaml: %s: %w", s.Test, err)
		}
	}
	return all, nil
}

// sentence is what the case shows.
func (h Head) sentence() string {
	if h.Ours != "" {
		return h.Ours
	}
	return h.Theirs
}

func (h Head) validate() error {
	switch {
	case h.Source == "" && h.Verdict == Kept:
		return errors.New("what is kept needs a source")
	case h.Section == "":
		return errors.New("there is no section")
	case h.Theirs == "":
		return errors.New("nothing is said about theirs")
	case h.Verdict == Kept && h.Old == "" && h.Why == "":
		return nil
	case h.Verdict == Kept:
		return errors.New("what is kept needs no reason, and there is no other behaviour to get")
	case h.Verdict != Fixed:
		return fmt.Errorf("verdict %q is neither %s nor %s", h.Verdict, Kept, Fixed)
	case h.Ours == "" || h.Why == "":
		return errors.New("what is fixed needs ours and why")
	}
	return nil
}
