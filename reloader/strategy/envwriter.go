package strategy

import (
	"strconv"

	"github.com/reroll-dev/reroll/reloader/workload"
)

// envWriter gathers the operations that write variables into containers of a workload, each variable once.
type envWriter struct {
	w       *workload.Workload
	written map[place]bool
	grown   map[int]bool
	ops     []Op
}

func newEnvWriter(w *workload.Workload) *envWriter {
	return &envWriter{w: w, written: map[place]bool{}, grown: map[int]bool{}}
}

// set replaces a variable that is there, in place, and adds another at the end. It does nothing if the variable is as it should be, or
// was set before.
func (e *envWriter) set(container int, v envVar) {
	here := place{container, v.Name}
	c := e.w.Template.Containers[container]
	old, found := markNamed(c, v.Name)
	if found && old.Value == v.Value || e.written[here] {
		return
	}
	e.written[here] = true
	switch {
	case found:
		e.ops = append(e.ops, Op{Op: "replace", Path: envPath(e.w, container, strconv.Itoa(old.Index)), Value: v})
	case c.EnvCount == 0 && !e.grown[container]:
		e.ops = append(e.ops, Op{Op: "add", Path: envPath(e.w, container), Value: []envVar{v}})
		e.grown[container] = true
	default:
		e.ops = append(e.ops, Op{Op: "add", Path: envPath(e.w, container, "-"), Value: v})
	}
}
