package strategy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// LastReloadedFromKey is the pod template annotation in which Stakater Reloader keeps the newest mark.
const LastReloadedFromKey = "reloader.stakater.com/last-reloaded-from"

// Annotations writes the mark into one annotation of the pod template, as Stakater Reloader v1 does on request. There is room for
// one mark: the newest wins.
var Annotations = Strategy{Name: "annotations", Current: currentAnnotation, Patch: patchAnnotation}

// DeletedValue is the value of the mark of a config that was deleted: the hash of a word that the tool reserves for it.
const DeletedValue = "aae45badef99284e4dae01d6046154ea9d99532f"

// lastReloadedFrom is the value of the annotation as v1 of the tool writes it. The order of the fields is part of the mark.
type lastReloadedFrom struct {
	Type          string   `json:"type"`
	Name          string   `json:"name"`
	Namespace     string   `json:"namespace"`
	Hash          string   `json:"hash"`
	ContainerRefs []string `json:"containerRefs"`
	ObservedAt    int64    `json:"observedAt"`
}

// maxLastReloadedFrom bounds what is parsed; the tool writes less than 1 KiB.
const maxLastReloadedFrom = 8 << 10

func currentAnnotation(w *workload.Workload, c reloader.Config) (string, bool) {
	value := w.Template.Annotations[LastReloadedFromKey]
	if value == "" || len(value) > maxLastReloadedFrom {
		return "", false
	}
	var from struct {
		Type      string `json:"type"` // v1
		Kind      string `json:"kind"` // v2
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
		Hash      string `json:"hash"`
	}
	if json.Unmarshal([]byte(value), &from) != nil {
		return "", false
	}
	sameKind := strings.EqualFold(cmp.Or(from.Type, from.Kind), string(c.Kind))
	if !sameKind || from.Name != c.Name || from.Namespace != c.Namespace {
		return "", false
	}
	return workload.MarkValue(from.Hash), true
}

func patchAnnotation(w *workload.Workload, marks []Mark) ([]Op, error) {
	for _, m := range newestFirst(marks) {
		i, err := carrier(w, m.Config)
		if err != nil {
			return nil, err
		}
		if current, found := currentAnnotation(w, m.Config); found && current == m.Value {
			continue
		}
		value, err := json.Marshal(lastReloadedFrom{
			Type:          strings.ToUpper(string(m.Config.Kind)),
			Name:          m.Config.Name,
			Namespace:     m.Config.Namespace,
			Hash:          m.Value,
			ContainerRefs: []string{w.Template.Containers[i].Name},
			ObservedAt:    m.At.Unix(),
		})
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", LastReloadedFromKey, err)
		}
		return annotateTemplate(w, LastReloadedFromKey, string(value)), nil
	}
	return nil, nil
}
