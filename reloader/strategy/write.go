package strategy

import (
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Placed is a mark and the strategy that writes it.
type Placed struct {
	Strategy Strategy
	Mark     Mark
}

// Write returns the operations that make w carry all marks, each by its strategy. It fails if one of the strategies does.
func Write(w *workload.Workload, placed []Placed) ([]Op, error) {
	var strategies []Strategy
	marks := map[string][]Mark{}
	for _, p := range placed {
		name := p.Strategy.Name
		if marks[name] == nil {
			strategies = append(strategies, p.Strategy)
		}
		marks[name] = append(marks[name], p.Mark)
	}
	var groups [][]Op
	for _, s := range strategies {
		written, err := s.Patch(w, marks[s.Name])
		if err != nil {
			return nil, err
		}
		groups = append(groups, written)
	}
	return Merge(groups...), nil
}

// AnnotateTemplate returns the operations that set an annotation of the pod template of w, and keep all others.
func AnnotateTemplate(w *workload.Workload, key, value string) []Op {
	return annotateTemplate(w, key, value)
}
