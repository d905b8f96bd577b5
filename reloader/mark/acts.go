package mark

import (
	"maps"
	"time"
)

// RequestedKey is the annotation of a workload that asks for one roll by each new value.
const RequestedKey = "reroll.dev/requested"

// Restart returns the roll that asks the controller of an Argo Rollout to replace its pods, and leaves every pod template as it is. It is
// for the Rollout itself, also if that runs another object's template.
//
// The controller replaces pods that were created before that time. Pods have their creation time in whole seconds, rounded down. The next
// whole second after the change is the first that lies after all pods that could have read the content of before.
func Restart(at time.Time) Roll {
	next := at.UTC().Truncate(time.Second).Add(time.Second)
	return Roll{Spec: map[string]any{"restartAt": next.Format(time.RFC3339)}}
}

// Pause returns r such that it also pauses the rollout of a Deployment, with an annotation of that key which has the time.
func (r Roll) Pause(key string, now time.Time) Roll {
	return r.with(key, now.UTC().Format(time.RFC3339), true)
}

// Resume returns the roll that ends a pause which Pause began.
func Resume(key string) Roll { return Roll{}.with(key, nil, false) }

func (r Roll) with(key string, since any, paused bool) Roll {
	annotations, spec := map[string]any{key: since}, map[string]any{"paused": paused}
	maps.Copy(annotations, r.Annotations)
	maps.Copy(spec, r.Spec)
	r.Annotations, r.Spec = annotations, spec
	return r
}
