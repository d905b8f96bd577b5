package dialect

import (
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/digest"
	"github.com/reroll-dev/reroll/reloader/mark"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Marking is what a tool writes on workloads.
type Marking struct {
	// MarkValue returns the value of the tool's mark for a content; empty if that content has none. It is not a digest: it may be equal for different
	// contents. It is nil for Reroll itself, and if Joint is not.
	MarkValue func(c digest.Content) string
	// Joint makes one mark of all configs together; nil if each config has its own.
	Joint *Joint
	// Mark writes and reads the mark. Without a name it is the one that the workload or the installation chooses.
	Mark mark.Tool
	// Writes are the keys of the annotations that the tool writes on workloads and their pod templates; one that ends in * stands for all
	// that start so.
	Writes []string
}

// Joint makes one mark of all configs that a dialect asks for by name.
type Joint struct {
	// Reads says that the mark is made of contents: without, a Part has none.
	Reads bool
	// Values returns the mark that must be written for w, and then those that prove as well that w runs with parts. A config that is not shown to w's namespace is not one of parts: a tenant who may write w could put guesses of its content on
	// w, and see which of them is right.
	Values func(w *workload.Workload, parts map[reloader.Config]Part) []string
	// IgnoredByMark reports whether the mark of w may not cover c; nil if it always does. OnlyUsed reports whether it covers nothing of c but the
	// keys that the pod template uses; nil if it always covers all.
	IgnoredByMark, OnlyUsed func(w *workload.Workload, c reloader.Config) bool
}

// Part is a config as far as a joint mark is concerned. The zero Part stands for one that is absent.
type Part struct {
	UID, ResourceVersion string
	// Sum is the digest of the content.
	Sum string
	// Content is what the config holds; it must not be kept.
	Content digest.Content
}

// WritesAnnotation reports whether the tool writes annotations of that key on workloads or their pod templates.
func (m Marking) WritesAnnotation(key string) bool {
	return slices.ContainsFunc(m.Writes, func(w string) bool {
		prefix, all := strings.CutSuffix(w, "*")
		return all && strings.HasPrefix(key, prefix) || w == key
	})
}

// Values are the marks of one content, by the name of the dialect. They are plain hashes, so that anyone who reads a pod template can test guesses
// of the content.
type Values map[string]string

// Values returns the marks of c.
func (s Set) Values(c digest.Content) Values {
	v := Values{}
	for _, d := range s {
		if d.MarkValue == nil {
			continue
		}
		if hash := d.MarkValue(c); hash != "" {
			v[d.Name] = hash
		}
	}
	return v
}

// Of returns the mark of d among v; none if the content has no mark.
func (d *Dialect) Of(v Values) []string {
	if mark := v[d.Name]; mark != "" {
		return []string{mark}
	}
	return nil
}
