package strategy

import "github.com/reroll-dev/reroll/reloader/workload"

// spending returns a strategy that takes away an annotation of the workload's metadata when it writes its mark. SAP's pod-reloader asks its
// webhook for a roll by the hash that it expects there; one that was left behind has the webhook refuse every later write.
func spending(s Strategy, key string) Strategy {
	patch := s.Patch
	s.Patch = func(w *workload.Workload, marks []Mark) ([]Op, error) {
		ops, err := patch(w, marks)
		if err != nil || len(ops) == 0 {
			return ops, err
		}
		return append(ops, Spend(w, key)...), nil
	}
	return s
}

// Spend returns the operations that take away an annotation of the metadata of w; none if it has no such.
func Spend(w *workload.Workload, key string) []Op {
	value, left := w.Annotations[key]
	if !left {
		return nil
	}
	path := "/metadata/annotations" + Pointer(key)
	return []Op{{Op: "test", Path: path, Value: value}, {Op: "remove", Path: path}}
}
