// Package conformance reads the cases of other tools: data files that say what the tool does, what Reroll does, and show that by a scenario on a real API
// server. The tools themselves do not run here: what they do is restated from their sources.
package conformance

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/tests/scenario"
)

// Head is what a case says about the two tools.
type Head struct {
	// Theirs is what the tool does, and Ours what Reroll does; Ours is empty if that is the same.
	Theirs string `json:"theirs"`
	Ours   string `json:"ours,omitempty"`
	// Why is the reason for a difference, and Old how to get the old behaviour, where that can be had.
	Why string `json:"why,omitempty"`
	Old string `json:"old,omitempty"`
	// Test is a Go test that shows what a scenario cannot: its file, from the root of the repository, and after a colon its name.
	Test string `json:"test,omitempty"`
	// Section is the number of what a case of Stakater Reloader is about: 1 flags, 2 annotations, 3 rolls, 4 references, 5 what is around, 6 moving.
	Section string `json:"section,omitempty"`
	// Source is where its sources show Theirs: files and lines of v1.4.x, or "observed" of what was seen of the binary. Verdict is kept or fixed; only
	// what is fixed may be without a source.
	Source  string `json:"source,omitempty"`
	Verdict string `json:"verdict,omitempty"`
}

// Case is one data file.
type Case struct {
	Head
	scenario.Case
}

// Cases returns the data files of a folder by their names, with a prefix before each.
func Cases(folder, prefix string) ([]Case, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil || len(files) == 0 {
		return nil, errors.Join(err, fmt.Errorf("%s has no cases", folder))
	}
	cases := make([]Case, len(files))
	for i, file := range files {
		c := &cases[i]
		if err := read(file, c); err != nil {
			return nil, err
		}
		c.Name, c.Reason = prefix+strings.TrimSuffix(filepath.Base(file), ".yaml"), cmp.Or(c.Ours, c.Theirs)
		if err := errors.Join(c.Head.validate(), c.Validate(), c.RollsSomething()); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	return cases, nil
}

// Operations returns the cases of a file that Go tests alone show.
func Operations(file string) (all []Head, err error) {
	err = read(file, &all)
	for _, h := range all {
		err = errors.Join(err, h.validate())
	}
	return all, err
}

func read(file string, into any) error {
	data, err := os.ReadFile(file)
	if err == nil {
		err = yaml.UnmarshalStrict(data, into)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// validate returns an error unless the case is whole, and the test that it names is there. The working directory is two folders below tests.
func (h Head) validate() error {
	if file, test, _ := strings.Cut(h.Test, ":"); h.Test != "" {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", file))
		if err != nil || !strings.Contains(string(text), "\nfunc "+test+"(t *testing.T)") {
			return fmt.Errorf("there is no test %s: %w", h.Test, err)
		}
	}
	switch {
	case h.Theirs == "":
		return errors.New("nothing is said about theirs")
	case h.Section == "" && (h.Ours == "") != (h.Why == ""):
		return errors.New("a difference has a reason, and what is the same has none")
	case h.Section == "":
		return nil
	case h.Verdict == "kept" && (h.Source == "" || h.Old != "" || h.Why != ""):
		return errors.New("what is kept needs a source, and no reason, and there is no other behaviour to get")
	case h.Verdict == "fixed" && (h.Ours == "" || h.Why == ""):
		return errors.New("what is fixed needs ours and why")
	case h.Verdict != "kept" && h.Verdict != "fixed":
		return fmt.Errorf("verdict %q is neither kept nor fixed", h.Verdict)
	}
	return nil
}
