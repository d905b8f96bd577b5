package mark

import (
	"slices"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Own writes HashEnv into each container that carries one of the configs, for Reroll's own annotations with env-vars. The value is Hash of
// the roll, whatever the entries have, so it says nothing about a single config.
var Own = Tool{
	Name: "reroll",
	Read: func(*workload.Workload, reloader.Config) (string, bool) { return "", false },
	Marks: func(w *workload.Workload, of []Entry) ([]Mark, error) {
		place := Place{Env: HashEnv}
		for _, e := range of {
			container, err := Carrier(w, e.Config)
			if err != nil {
				return nil, err
			}
			if !slices.Contains(place.Containers, container) {
				place.Containers = append(place.Containers, container)
			}
		}
		if _, own := place.Find(w); own || len(of) == 0 {
			return nil, nil
		}
		slices.Sort(place.Containers)
		return []Mark{{Place: place}}, nil
	},
}
