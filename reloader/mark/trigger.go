package mark

import (
	"strings"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// TriggerPrefix starts every annotation of k8s-trigger-controller.
const TriggerPrefix = "trigger.k8s.io/"

// maxAnnotationName is how long the part of an annotation's key after the slash may be.
const maxAnnotationName = 63

// Trigger writes an annotation of the pod template for each config, as k8s-trigger-controller does. A config whose key would be too long has
// no mark.
var Trigger = Tool{
	Name: "trigger",
	Read: func(w *workload.Workload, c reloader.Config) (string, bool) {
		value := workload.MarkValue(w.Template.Annotations[triggerKey(c)])
		return value, value != ""
	},
	Marks: func(_ *workload.Workload, of []Entry) (marks []Mark, err error) {
		for _, e := range oldestFirst(of) {
			if key := triggerKey(e.Config); len(strings.TrimPrefix(key, TriggerPrefix)) <= maxAnnotationName {
				marks = append(marks, Mark{Place: Place{Annotation: key}, Value: e.value()})
			}
		}
		return marks, nil
	},
	Shares: apart,
}

func triggerKey(c reloader.Config) string {
	kind := "configMap-"
	if c.Kind == reloader.Secret {
		kind = "secret-"
	}
	return TriggerPrefix + kind + c.Name + "-last-hash"
}
