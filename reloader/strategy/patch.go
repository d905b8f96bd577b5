package strategy

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/reloader/workload"
)

// ConfigDigestKey is the pod template annotation that makes a workload roll when its mark would stay the same although the
// content changed.
const ConfigDigestKey = "reroll.dev/config-digest"

// Op is one operation of a JSON patch (RFC 6902). The strategies use add, replace and test, all of which need a value, so that a
// nil Value is written as null; remove does not look at it.
type Op struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// emptyObject is the value of an operation that creates a map.
type emptyObject struct{}

// creation returns the operations that create the missing map at path. The test holds only as long as it is missing: without it a
// map that somebody made in the meantime would be replaced, which a change of annotations alone does not show in the generation.
func creation(path string) []Op {
	return []Op{{Op: "test", Path: path}, {Op: "add", Path: path, Value: emptyObject{}}}
}

// createsMap reports whether op is one of those that creation returns.
func (op Op) createsMap() bool {
	if op.Op == "test" {
		return op.Value == nil
	}
	_, empty := op.Value.(emptyObject)
	return empty
}

// Marshal returns the operations of all groups as one JSON patch. A map that several of them need is created once.
func Marshal(groups ...[]Op) ([]byte, error) {
	type place struct{ op, path string }
	created := map[place]bool{}
	all := []Op{}
	for _, g := range groups {
		for _, op := range g {
			if op.createsMap() {
				if created[place{op.Op, op.Path}] {
					continue
				}
				created[place{op.Op, op.Path}] = true
			}
			all = append(all, op)
		}
	}
	data, err := json.Marshal(all)
	if err != nil {
		return nil, fmt.Errorf("encode JSON patch: %w", err)
	}
	return data, nil
}

// Merge returns the operations of several strategies on one workload in a row. Each of them takes a container without variables for one:
// all but the first that adds some must not replace what that has added.
func Merge(groups ...[]Op) []Op {
	var all []Op
	grown := map[string]bool{}
	for _, op := range slices.Concat(groups...) {
		if list, ok := op.Value.([]envVar); ok {
			if grown[op.Path] {
				op.Path, op.Value = op.Path+"/-", list[0]
			} else {
				grown[op.Path] = true
			}
		}
		all = append(all, op)
	}
	return all
}

// Pointer returns the JSON pointer (RFC 6901) of the place that tokens lead to.
func Pointer(tokens ...string) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteByte('/')
		b.WriteString(strings.ReplaceAll(strings.ReplaceAll(t, "~", "~0"), "/", "~1"))
	}
	return b.String()
}

// Precondition returns tests that hold as long as the live object is the one that was read as w and its spec was not changed
// since. The API server answers 422 to a patch of which a test fails.
func Precondition(w *workload.Workload) []Op {
	uid := Op{Op: "test", Path: Pointer("metadata", "uid")}
	if w.UID != "" {
		uid.Value = w.UID
	}
	generation := Op{Op: "test", Path: Pointer("metadata", "generation")}
	if w.Generation != 0 {
		generation.Value = w.Generation
	}
	return []Op{uid, generation}
}

// Annotate returns the operations that set an annotation in the metadata of w, and keep all others.
func Annotate(w *workload.Workload, key, value string) []Op {
	return annotate(w.HasAnnotations, "/metadata/annotations", key, value)
}

// ConfigDigest returns the operations that set ConfigDigestKey in the pod template of w.
func ConfigDigest(w *workload.Workload, value string) []Op {
	return annotateTemplate(w, ConfigDigestKey, value)
}

func annotateTemplate(w *workload.Workload, key, value string) []Op {
	return annotate(w.Template.HasAnnotations, w.Template.Path+"/metadata/annotations", key, value)
}

func annotate(present bool, annotations, key, value string) []Op {
	var ops []Op
	if !present {
		ops = creation(annotations)
	}
	return append(ops, Op{Op: "add", Path: annotations + Pointer(key), Value: value})
}
