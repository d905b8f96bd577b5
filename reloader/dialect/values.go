package dialect

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/digest"
)

// Values are the marks of one content. A tool's own mark is a plain hash, so that whoever reads a pod template can test guesses of the content; a
// keyed mark is made of a digest, and says nothing without the digest key.
type Values struct {
	// tools has the mark that each tool makes itself, by the name of its dialect.
	tools map[string]string
	// keyed are the keyed marks, that under the active key first.
	keyed []string
}

// Values returns the marks of c. digests are the fingerprints of c, that under the active key first; without any, no mark is keyed.
func (s Set) Values(c digest.Content, digests ...reloader.Digest) Values {
	v := Values{tools: map[string]string{}}
	for _, d := range s {
		if hash := d.Hash(c, c.Config().Kind); hash != "" {
			v.tools[d.Name] = hash
		}
	}
	for _, sum := range digests {
		if mark := keyedMark(sum.KeyID, hashOf("reroll.dev/mark\n"+sum.Sum)); keyOfMark(mark) != "" {
			v.keyed = append(v.keyed, mark)
		}
	}
	return v
}

// Of returns the mark that d writes for a content, and then those that prove as well that a workload was brought to it: they are of before the
// digest key was rotated, or before --mark-values was changed. It returns none if the content has no mark.
func (d *Dialect) Of(v Values) []string {
	tool := v.tools[d.Name]
	switch {
	case tool == "":
		return nil
	case d.Keyed:
		return append(slices.Clone(v.keyed), tool)
	}
	return append([]string{tool}, v.keyed...)
}

// Keyed returns s with keyed marks for all dialects. Those of SAP's pod-reloader, which are of digests or of versions, stay as they are.
func (s Set) Keyed() Set {
	changed := make(Set, len(s))
	for i, old := range s {
		d := *old
		d.Keyed = true
		if d.Joint != nil && d.Joint.Keyed != nil {
			joint := *d.Joint
			joint.Values = d.Joint.Keyed
			d.Joint = &joint
		}
		changed[i] = &d
	}
	return changed
}

// KeyOf returns the ID of the digest key under which a mark was made; empty if it is a tool's own.
func KeyOf(mark string) string { return keyOfMark(mark) }

// ByContent reports whether every mark of d is made of content, so that marks of other kinds and keys are the same mark in another form. One of
// versions is not: no version comes twice.
func (d *Dialect) ByContent() bool { return d.Joint == nil || d.Joint.Reads }

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
