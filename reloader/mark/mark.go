package mark

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Place is where a mark is: a variable, or an annotation of the pod template. Exactly one of Env and Annotation is set.
type Place struct {
	// Env is the name of an environment variable.
	Env string
	// Containers are the names of the regular containers that have the variable; nil means all.
	Containers []string
	// Annotation is the key of an annotation of the pod template.
	Annotation string
}

// Mark is a value in a place.
type Mark struct {
	Place
	Value string
	// Remove removes the mark. A variable whose value is not a hash is not a mark and stays.
	Remove bool
}

// ErrNoContainer means that the pod template lacks a container that should carry a mark.
var ErrNoContainer = errors.New("the pod template has no container to carry a mark")

// HashKey is the pod template annotation that each roll changes. HashEnv is the variable with the same value that env-vars adds for
// workloads with Reroll's own annotations.
const (
	HashKey = workload.HashKey
	HashEnv = workload.HashEnv
)

// Hash returns the value of HashKey: a hash of the digest that was applied of each config, and of n, the number of rolls. With n, content
// that returns gives another value, so the template changes with each roll.
func Hash(n uint64, applied map[reloader.Config]string) string {
	entries := make([]string, 0, len(applied))
	for c, digest := range applied {
		entries = append(entries, c.String()+" "+digest)
	}
	slices.Sort(entries)
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %q", n, entries))
	return hex.EncodeToString(sum[:16])
}

// Carrier returns the container that carries the mark of c. The choice is Stakater's: the first container that mounts the first volume of the
// config, else the first container with a variable from it. The first container of all stands in for init containers, and if no container uses c.
func Carrier(w *workload.Workload, c reloader.Config) (string, error) {
	if len(w.Template.Containers) == 0 {
		return "", ErrNoContainer
	}
	if r := w.Template.References.Get(c); r != nil {
		i := slices.IndexFunc(r.Uses, func(u reloader.Use) bool { return u.Container != "" }) // those by mount come first
		if i >= 0 && w.Template.Has(r.Uses[i].Container) {
			return r.Uses[i].Container, nil
		}
	}
	return w.Template.Containers[0].Name, nil
}

// Variable returns a name of a config as part of the name of a variable, as several tools write it: in upper case, with one underscore
// for each run of characters that are not letters or digits, and none at the start. Names that differ only in punctuation give the
// same result.
func Variable(name string) string {
	var b strings.Builder
	gap := true
	for _, ch := range []byte(strings.ToUpper(name)) {
		valid := ch >= 'A' && ch <= 'Z' || ch >= '0' && ch <= '9'
		switch {
		case valid:
			b.WriteByte(ch)
		case !gap:
			b.WriteByte('_')
		}
		gap = !valid
	}
	return b.String()
}

// Find returns the hash that a variable has in the first container which has one, and whether some container has a variable of that name
// with another value, which belongs to the user. If a container has several of the name, the process sees the last.
func (p Place) Find(w *workload.Workload) (value string, own bool) {
	for _, c := range w.Template.Containers {
		for _, m := range slices.Backward(c.Marks) {
			if p.in(c.Name) && m.Name == p.Env {
				own = own || m.Value == ""
				value = cmp.Or(value, m.Value)
				break
			}
		}
	}
	return value, own
}

// in reports whether the container of that name has the variable.
func (p Place) in(container string) bool {
	return p.Env != "" && (p.Containers == nil || slices.Contains(p.Containers, container))
}

// value returns what a patch sets m to: null removes it.
func (m Mark) value() any {
	if m.Remove {
		return nil
	}
	return m.Value
}

// check returns an error if w cannot carry m.
func (m Mark) check(w *workload.Workload) error {
	if len(w.Template.Containers) == 0 {
		return ErrNoContainer
	}
	for _, name := range m.Containers {
		if !w.Template.Has(name) {
			return fmt.Errorf("%w: no container is named %q", ErrNoContainer, name)
		}
	}
	return nil
}
