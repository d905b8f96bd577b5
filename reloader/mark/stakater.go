package mark

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// EnvVars writes a variable into the container that uses the config, as Stakater Reloader does by default. It removes the variable of a
// deleted config.
var EnvVars = variables("env-vars", func(w *workload.Workload, c reloader.Config) (Place, error) {
	container, err := Carrier(w, c)
	return Place{Env: workload.MarkPrefix + Variable(c.Name) + "_" + strings.ToUpper(string(c.Kind)), Containers: []string{container}}, err
}, true)

// LastReloadedFromKey is the pod template annotation with Stakater Reloader's newest mark.
const LastReloadedFromKey = "reloader.stakater.com/last-reloaded-from"

// Annotations writes the newest mark into one annotation of the pod template, as Stakater Reloader v1 does on request.
var Annotations = Tool{
	Name: "annotations",
	Read: readAnnotation,
	Marks: func(w *workload.Workload, of []Entry) ([]Mark, error) {
		for _, e := range slices.Backward(oldestFirst(of)) {
			container, err := Carrier(w, e.Config)
			if err != nil {
				return nil, err
			}
			if current, found := readAnnotation(w, e.Config); found && current == e.value() {
				continue
			}
			// The order of the fields is part of the mark.
			value, err := json.Marshal(struct {
				Type          string   `json:"type"`
				Name          string   `json:"name"`
				Namespace     string   `json:"namespace"`
				Hash          string   `json:"hash"`
				ContainerRefs []string `json:"containerRefs"`
				ObservedAt    int64    `json:"observedAt"`
			}{strings.ToUpper(string(e.Config.Kind)), e.Config.Name, e.Config.Namespace, e.value(), []string{container}, e.At.Unix()})
			if err != nil {
				return nil, fmt.Errorf("encode %s: %w", LastReloadedFromKey, err)
			}
			return []Mark{{Place: Place{Annotation: LastReloadedFromKey}, Value: string(value)}}, nil
		}
		return nil, nil
	},
}

// maxLastReloadedFrom bounds what is parsed; the tool writes less than 1 KiB.
const maxLastReloadedFrom = 8 << 10

func readAnnotation(w *workload.Workload, c reloader.Config) (string, bool) {
	value := w.Template.Annotations[LastReloadedFromKey]
	if value == "" || len(value) > maxLastReloadedFrom {
		return "", false
	}
	var from struct {
		Type, Name, Namespace, Hash string
		Kind                        string // in v2 instead of type
	}
	if json.Unmarshal([]byte(value), &from) != nil ||
		!strings.EqualFold(cmp.Or(from.Type, from.Kind), string(c.Kind)) || from.Name != c.Name || from.Namespace != c.Namespace {
		return "", false
	}
	return workload.MarkValue(from.Hash), true
}
