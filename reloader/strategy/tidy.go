package strategy

import (
	"slices"
	"strconv"
	"strings"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// tidyEnvVars removes variables from behind, so that none moves before it is removed. Each is tested for its name and value first.
// What does not look exactly like a mark may be somebody's own and stays.
func tidyEnvVars(w *workload.Workload, wanted, gone []reloader.Config) []Op {
	keep, drop := places(w, wanted), places(w, gone)
	var ops []Op
	for i, container := range w.Template.Containers {
		for _, m := range slices.Backward(container.Marks) {
			here := place{i, m.Name}
			if keep[here] || !drop[here] && (wanted == nil || !isMark(m)) {
				continue
			}
			path := envPath(w, i, strconv.Itoa(m.Index))
			ops = append(ops, Op{Op: "test", Path: path + "/name", Value: m.Name}, Op{Op: "test", Path: path + "/value", Value: m.Value}, Op{Op: "remove", Path: path})
		}
	}
	return ops
}

// place is where a variable is: a container and a name.
type place struct {
	container int
	name      string
}

// places returns where the marks of configs belong.
func places(w *workload.Workload, configs []reloader.Config) map[place]bool {
	found := map[place]bool{}
	for _, c := range configs {
		if i, err := carrier(w, c); err == nil {
			found[place{i, EnvName(c)}] = true
		}
	}
	return found
}

// The lengths of marks: of a SHA-1 in hex, and of a keyed mark.
const (
	hashLength  = 40
	keyedLength = 64
)

// isMark reports whether m is a mark: it was written by who writes marks, is named after a kind of config, and has a hash as its value.
func isMark(m workload.EnvMark) bool {
	return m.Ours && strings.HasPrefix(m.Name, workload.MarkPrefix) && (len(m.Value) == hashLength || len(m.Value) == keyedLength) && slices.ContainsFunc(reloader.ConfigKinds, func(kind reloader.ConfigKind) bool {
		return strings.HasSuffix(m.Name, "_"+strings.ToUpper(string(kind)))
	})
}
