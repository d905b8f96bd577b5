package scenario

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// maxDuration bounds the waits of a data file, so that a slip of the hand is found where it was made.
const maxDuration = time.Minute

// Load reads every *.yaml in dir, sorted by name. Unknown fields, unknown kinds and whatever Validate finds are errors.
func Load(dir fs.FS) ([]Scenario, error) {
	files, err := fs.Glob(dir, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("list scenarios: %w", err)
	}
	if len(files) == 0 {
		return nil, errors.New("there are no scenarios")
	}
	all := make([]Scenario, 0, len(files))
	for _, file := range files {
		data, err := fs.ReadFile(dir, file)
		if err != nil {
			return nil, fmt.Errorf("read scenario: %w", err)
		}
		s, err := Parse(strings.TrimSuffix(path.Base(file), ".yaml"), data)
		if err == nil {
			err = s.RollsSomething()
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, s)
	}
	return all, nil
}

// Parse reads one data file.
func Parse(name string, data []byte) (Scenario, error) {
	s := Scenario{Name: name}
	if err := yaml.UnmarshalStrict(data, &s); err != nil {
		return s, err
	}
	return s, s.Validate()
}

// Validate reports whether s can be run and says something: it needs a reason, steps, and workloads to look at.
func (s Scenario) Validate() error {
	switch {
	case s.Reason == "":
		return errors.New("there is no reason")
	case len(s.Steps) == 0:
		return errors.New("there are no steps")
	}
	for i, step := range s.Steps {
		if err := step.validate(); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	for _, m := range s.Marks {
		if !m.Workload.Workload() {
			return fmt.Errorf("mark: %q is no workload", m.Workload)
		}
		if len(m.Env)+len(m.Annotations) == 0 || (m.Container == "") != (len(m.Env) == 0) {
			return fmt.Errorf("mark of %s asks for nothing, or for variables of no container", m.Workload)
		}
	}
	return nil
}

// RollsSomething returns an error unless a step expects that something rolls, which every data file has to: without that it also passes where nothing is
// read at all. In a dry run nothing rolls.
func (s Scenario) RollsSomething() error {
	for _, step := range s.Steps {
		for _, n := range step.Expect {
			if n > 0 {
				return nil
			}
		}
	}
	if s.Settings.DryRun {
		return nil
	}
	return errors.New("no step expects a template change")
}

func (s Step) validate() error {
	if len(s.Do) == 0 {
		return errors.New("there are no writes")
	}
	if s.Down && s.Kill {
		return errors.New("what does not run cannot be killed")
	}
	for i, w := range s.Do {
		if err := w.validate(); err != nil {
			return fmt.Errorf("write %d: %w", i+1, err)
		}
	}
	for i, sight := range s.See {
		if err := sight.validate(); err != nil {
			return fmt.Errorf("sight %d: %w", i+1, err)
		}
	}
	for ref, n := range s.Expect {
		if !ref.Workload() || n < 0 {
			return fmt.Errorf("expect %s: %d: there is no such workload, or no such number", ref, n)
		}
	}
	return nil
}

func (w Write) validate() error {
	said := 0
	for _, here := range []bool{w.Create != nil, w.Update != nil, w.Patch != "", w.Delete != ""} {
		if here {
			said++
		}
	}
	if said != 1 {
		return errors.New("it must be exactly one of create, update, patch and delete")
	}
	if (w.Patch != "") != (len(w.With) > 0) {
		return errors.New("patch and with go together")
	}
	if w.Status && w.Patch == "" {
		return errors.New("only a patch can be one of the status")
	}
	if _, ok := PatchTypes[w.As]; !ok || w.As != "" && w.Patch == "" {
		return fmt.Errorf("as: %q is no type of patch, or there is no patch", w.As)
	}
	if _, _, _, err := w.Target().Split(); err != nil {
		return err
	}
	return nil
}

// Target names the object that w writes.
func (w Write) Target() Ref {
	switch {
	case w.Create != nil:
		return w.Create.Ref()
	case w.Update != nil:
		return w.Update.Ref()
	case w.Patch != "":
		return w.Patch
	}
	return w.Delete
}
