package strategy

import (
	"time"

	"github.com/reroll-dev/reroll/reloader/workload"
)

// RequestedKey on a workload asks for one roll by each new value; in a pod template it makes the workload roll, whatever its marks are.
const RequestedKey = "reroll.dev/requested"

// Request returns the operations that make w roll once for what id names, asked for at a time. All marks stay as they are. Written twice, it
// is the same.
func (s Strategy) Request(w *workload.Workload, id string, at time.Time) []Op {
	if s.ByTime {
		ops, err := s.Patch(w, []Mark{{At: at}})
		if err == nil {
			return ops
		}
	}
	return annotateTemplate(w, RequestedKey, id)
}
