// Package control reads the ConfigMap reroll-control: freezes, pauses and maintenance windows. It is pure: the caller passes the time.
//
// The ConfigMap has one key, with one YAML document, for plain kubectl as much as for the command line. A document that cannot be read freezes
// everything, because it may say so.
package control

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/reloader"
)

const (
	// ConfigMap is the name of the ConfigMap, in Reroll's own namespace.
	ConfigMap = "reroll-control"
	// Key is its only key.
	Key = "control.yaml"

	maxPauses = 256
	maxText   = 256
)

// Document is what the ConfigMap says.
type Document struct {
	// Freeze holds back every reload of the cluster.
	Freeze *reloader.Pause `json:"freeze,omitempty"`
	// Pauses hold back some workloads.
	Pauses []reloader.Pause `json:"pauses,omitempty"`
	// Windows are when workloads roll, in place of those of the installation.
	Windows []string `json:"windows,omitempty"`
}

// Control is a document that was read. The zero value holds back nothing.
type Control struct {
	freeze *reloader.Pause
	Pauses []reloader.Pause
	// selectors has that of each of Pauses.
	selectors []labels.Selector
	Windows   []Window
	// Problem says why the document cannot be read, so that everything is frozen; empty if it can.
	Problem string
}

// Frozen returns what holds back everything until it is replaced.
func Frozen(f reloader.Pause) Control { return Control{freeze: &f} }

// Unread is what holds until the ConfigMap is read: it may say that everything is frozen.
func Unread() Control {
	return Frozen(reloader.Pause{Reason: "the ConfigMap " + ConfigMap + " could not be read yet, and may say so"})
}

// Parse reads the ConfigMap's data.
func Parse(data map[string]string) Control {
	_, c, err := open(data)
	if err != nil {
		c = Control{Problem: cut(err.Error(), 2*maxText)}
		c.freeze = &reloader.Pause{Reason: cut(c.Problem, maxText)}
	}
	return c
}

// Edit has change rewrite the document in the ConfigMap's data. It fails, and changes nothing, if the document cannot be read before or after.
func Edit(data map[string]string, change func(*Document) error) error {
	doc, _, err := open(data)
	if err != nil {
		return err
	}
	if err := change(&doc); err != nil {
		return err
	}
	if _, err := compile(doc); err != nil {
		return err
	}
	text, err := yaml.Marshal(doc)
	data[Key] = string(text)
	return err
}

// compile checks the document.
func compile(doc Document) (c Control, err error) {
	if f := doc.Freeze; f != nil {
		switch {
		case !f.Until.IsZero() && !reloader.Storable(f.Until) || !f.Since.IsZero() && !reloader.Storable(f.Since):
			return c, errors.New("freeze: a time is too far away")
		case f.Namespace != "" || f.Selector != "":
			return c, errors.New("freeze: it holds back everything; write what is about some workloads into pauses")
		}
		c.freeze = &reloader.Pause{Reason: cut(f.Reason, maxText), Until: f.Until, By: cut(f.By, maxText), Since: f.Since}
	}
	if len(doc.Pauses) > maxPauses || len(doc.Windows) > maxWindows {
		return c, fmt.Errorf("there may be %d pauses and %d windows", maxPauses, maxWindows)
	}
	for i, p := range doc.Pauses {
		selector, err := labels.Parse(p.Selector)
		if err != nil {
			return c, fmt.Errorf("pauses[%d]: not a label selector such as app=cart: %w", i, err)
		}
		if p.Namespace != "" {
			if err := (reloader.Config{Kind: reloader.ConfigMap, Namespace: p.Namespace, Name: "any"}).Validate(); err != nil {
				return c, fmt.Errorf("pauses[%d]: %w", i, err)
			}
		}
		if p.Until.IsZero() || !reloader.Storable(p.Until) || !p.Since.IsZero() && !reloader.Storable(p.Since) {
			return c, fmt.Errorf("pauses[%d]: until must be a time, such as 2026-01-31T18:00:00Z", i)
		}
		p.Selector, p.Reason, p.By = selector.String(), cut(p.Reason, maxText), cut(p.By, maxText)
		c.Pauses, c.selectors = append(c.Pauses, p), append(c.selectors, selector)
	}
	for i, text := range doc.Windows {
		w, err := ParseWindow(text)
		if err != nil {
			return c, fmt.Errorf("windows[%d]: %w", i, err)
		}
		c.Windows = append(c.Windows, w)
	}
	return c, nil
}

// Redacted returns c without the names of those who froze and paused.
func (c Control) Redacted() Control {
	if c.freeze != nil {
		f := *c.freeze
		f.By = ""
		c.freeze = &f
	}
	c.Pauses = slices.Clone(c.Pauses)
	for i := range c.Pauses {
		c.Pauses[i].By = ""
	}
	return c
}

// cut bounds text, and leaves no half of a character at its end.
func cut(text string, limit int) string {
	return strings.ToValidUTF8(text[:min(len(text), limit)], "")
}

// Freeze returns the freeze of the document, and whether it holds back everything at a time: it may have ended.
func (c Control) Freeze(now time.Time) (reloader.Pause, bool) {
	if c.freeze == nil {
		return reloader.Pause{}, false
	}
	return *c.freeze, c.freeze.On(now)
}

// Paused returns the longest pause at a time of a workload with that namespace and those labels, if there is one.
func (c Control) Paused(namespace string, set map[string]string, now time.Time) (reloader.Pause, bool) {
	var found reloader.Pause
	for i, p := range c.Pauses {
		if (p.Namespace == "" || p.Namespace == namespace) && p.On(now) && p.Until.After(found.Until) && c.selectors[i].Matches(labels.Set(set)) {
			found = p
		}
	}
	return found, !found.Until.IsZero()
}

// Pause adds a pause, in place of one of the same namespace and selector, and drops those that have ended.
func (d *Document) Pause(p reloader.Pause, now time.Time) error {
	if _, err := d.Resume(p.Namespace, p.Selector); err != nil {
		return err
	}
	d.Pauses = slices.DeleteFunc(d.Pauses, func(old reloader.Pause) bool { return !old.On(now) })
	d.Pauses = append(d.Pauses, p)
	return nil
}

// Resume removes the pause of a namespace and selector, and reports whether there was one.
func (d *Document) Resume(namespace, selector string) (bool, error) {
	wanted, err := labels.Parse(selector)
	if err != nil {
		return false, fmt.Errorf("selector %.80q: %w", selector, err)
	}
	before := len(d.Pauses)
	d.Pauses = slices.DeleteFunc(d.Pauses, func(p reloader.Pause) bool {
		parsed, err := labels.Parse(p.Selector)
		return err == nil && p.Namespace == namespace && parsed.String() == wanted.String()
	})
	return len(d.Pauses) < before, nil
}
