package dialect

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/digest"
	"github.com/reroll-dev/reroll/reloader/strategy"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Marking is what a tool writes on workloads.
type Marking struct {
	// MarkValue returns the value of the tool's mark for a content; empty if that content has none. It is nil if Joint is not.
	MarkValue func(c digest.Content) string
	// Keyed says that keyed marks are written instead of the tool's own; see Values.
	Keyed bool
	// Joint makes one mark of all configs together; nil if each config has its own.
	Joint *Joint
	// Marks is the name of the strategy by which the tool marks workloads; empty means the one that the workload or the installation
	// chooses.
	Marks string
	// Writes are the keys of the annotations that the tool writes on workloads and their pod templates; one that ends in * stands for all
	// that start so.
	Writes []string
}

// Joint makes one mark of all configs that a dialect asks for by name.
type Joint struct {
	// Reads says that the mark is made of contents: without, a Part has none.
	Reads bool
	// Values returns the mark that is to be written for w, and then those that prove as well that w runs with parts: of a mark that Reads, the
	// keyed one last. A config that is not shown to w's namespace is not one of parts: a tenant who may write w could put guesses of its content on
	// w, and see which of them is right.
	Values func(w *workload.Workload, parts map[reloader.Config]Part) []string
	// IgnoredByMark reports whether the mark of w may not cover c; nil if it always does. OnlyUsed reports whether it covers nothing of c but the
	// keys that the pod template uses; nil if it always covers all.
	IgnoredByMark, OnlyUsed func(w *workload.Workload, c reloader.Config) bool
}

// Part is a config as far as a joint mark is concerned. The zero Part stands for one that is absent.
type Part struct {
	UID, ResourceVersion string
	// Sum is the digest of the content, Keys has one of each key, and KeyID names the key under which they were made.
	Sum, KeyID string
	Keys       map[string]string
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

// Writer returns the strategy by which d marks a workload that is marked by general otherwise. The nil dialect is one that leaves it to
// that.
func (d *Dialect) Writer(general strategy.Strategy) strategy.Strategy {
	if d == nil || d.Marks == "" || general.Own {
		return general
	}
	own, _ := strategy.Named(d.Marks)
	return own
}

// Hash returns the value of the tool's own mark for content c; empty if there is none. It is no digest: it may be equal for different
// contents.
func (m Marking) Hash(c digest.Content) string {
	if m.MarkValue == nil {
		return ""
	}
	return m.MarkValue(c)
}

// Values are the marks of one content. A tool's own mark is a plain hash, so that anyone who reads a pod template can test guesses of the content; a
// keyed mark is made of a digest, and reveals nothing without the digest key.
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
		if hash := d.Hash(c); hash != "" {
			v.tools[d.Name] = hash
		}
	}
	for _, sum := range digests {
		if mark := keyedMark(sum.KeyID, hashOf("reroll.dev/mark\n"+sum.Sum)); KeyOf(mark) != "" {
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
	return s.changed(func(d *Dialect) {
		old := d.Joint
		d.Marking.Keyed = true
		if d.Joint != nil && d.Joint.Reads {
			joint := *d.Joint
			joint.Values = func(w *workload.Workload, parts map[reloader.Config]Part) []string {
				values := old.Values(w, parts)
				slices.Reverse(values)
				return values
			}
			d.Joint = &joint
		}
	})
}

// ByContent reports whether every mark is made of content, so that marks of other kinds and keys are the same mark in another form. One of
// versions is not: no version comes twice.
func (m Marking) ByContent() bool { return m.Joint == nil || m.Joint.Reads }

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// A mark that is made of digests can be compared only while there is the key under which they were made. It therefore names that key,
// and has the form of a SHA-256 all the same: the ID of the key, the begin of a hash, and a checksum of both. No tool's own hash passes for one.
const (
	markLength  = 64
	keyIDLength = 12
	checkLength = 12
)

// keyedMark returns hash, a SHA-256 in hexadecimal over digests, as a mark that names their key. It returns hash itself if there is
// no such ID.
func keyedMark(keyID, hash string) string {
	if len(keyID) != keyIDLength || strings.Trim(keyID, "0123456789abcdef") != "" {
		return hash
	}
	said := keyID + hash[:markLength-keyIDLength-checkLength]
	return said + checksum(said)
}

// KeyOf returns the ID of the digest key under which a mark was made; empty if it is a tool's own.
func KeyOf(mark string) string {
	if len(mark) != markLength {
		return ""
	}
	said, check := mark[:markLength-checkLength], mark[markLength-checkLength:]
	if check != checksum(said) {
		return ""
	}
	return said[:keyIDLength]
}

func checksum(said string) string { return hashOf("reroll.dev/keyed-mark\n" + said)[:checkLength] }
