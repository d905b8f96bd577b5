package strategy

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Xing writes marks as kubernetes-deployment-restart-controller of xing does: the hashes of all configs as one annotation of the
// workload, and a time in the pod template, so that it rolls.
var Xing = Strategy{Name: "xing", Current: currentXing, Patch: patchXing}

// The annotations of kubernetes-deployment-restart-controller that are written: on the workload and on its pod template.
const (
	XingChecksumsKey = "com.xing.deployment-restart.applied-config-checksums"
	XingTimestampKey = "com.xing.deployment-restart.timestamp"
)

// maxXingChecksums bounds what is parsed: it is what Kubernetes lets all annotations of an object have together.
const maxXingChecksums = 256 << 10

// xingName is how the annotation names c.
func xingName(c reloader.Config) string {
	return strings.ToLower(string(c.Kind)) + "/" + c.Namespace + "/" + c.Name
}

// xingChecksums returns what the annotation of w says; nothing if it is not what the tool writes.
func xingChecksums(w *workload.Workload) map[string]string {
	text := w.Annotations[XingChecksumsKey]
	var sums map[string]string
	if len(text) > maxXingChecksums || json.Unmarshal([]byte(text), &sums) != nil {
		return nil
	}
	maps.DeleteFunc(sums, func(_, sum string) bool { return workload.MarkValue(sum) == "" })
	return sums
}

func currentXing(w *workload.Workload, c reloader.Config) (string, bool) {
	value, found := xingChecksums(w)[xingName(c)]
	return value, found
}

func patchXing(w *workload.Workload, marks []Mark) ([]Op, error) {
	sums := xingChecksums(w)
	if sums == nil {
		sums = map[string]string{}
	}
	var newest time.Time
	written := map[string]bool{}
	for _, m := range newestFirst(marks) {
		name := xingName(m.Config)
		if written[name] || sums[name] == m.Value {
			continue
		}
		if written[name] = true; newest.IsZero() {
			newest = m.At
		}
		sums[name] = m.Value
	}
	if len(written) == 0 {
		return nil, nil
	}
	value, err := json.Marshal(sums)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", XingChecksumsKey, err)
	}
	ops := Annotate(w, XingChecksumsKey, string(value))
	return append(ops, annotateTemplate(w, XingTimestampKey, newest.UTC().Format(time.RFC3339Nano))...), nil
}
