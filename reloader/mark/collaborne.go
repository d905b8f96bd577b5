package mark

import (
	"strings"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Collaborne writes a variable into the container that already has it, or else into the first, as kubernetes-reloader of Collaborne does.
var Collaborne = variables("collaborne", func(w *workload.Workload, c reloader.Config) (Place, error) {
	place := Place{Env: workload.CollabornePrefix + Variable(strings.ToLower(string(c.Kind))+"_"+c.Name)}
	for _, container := range w.Template.Containers {
		place.Containers = []string{container.Name}
		if value, own := place.find(w); value != "" || own {
			return place, nil
		}
	}
	if len(w.Template.Containers) == 0 {
		return place, ErrNoContainer
	}
	place.Containers = []string{w.Template.Containers[0].Name}
	return place, nil
}, false)
