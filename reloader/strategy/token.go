package strategy

import "github.com/reroll-dev/reroll/reloader/workload"

// spending returns a strategy that takes away an annotation of the workload's metadata when it writes its mark. SAP's pod-reloader asks its
// webhook for a roll by the hash that it expects there; one that was left behind has the webhook refuse every later write.
func spending(s Strategy, key string) Strategy {
	patch := s.Patch
	s.Patch = func(w *workload.Workload, marks []Mark) ([]Op, error) {
		ops, err := patch(w, marks)
		value, left := w.Annotations[key]
		if err != nil || len(ops) == 0 || !left {
			return ops, err
		}
		path := "/metadata/annotations" + Pointer(key)
		return append(ops, Op{Op: "test", Path: path, Value: value}, Op{Op: "remove", Path: path}), nil
	}
	return s
}
