package strategy

import (
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Restart asks the controller of an Argo Rollout to replace its pods, and leaves every pod template as it is. The mark is a time:
// pods created before it are replaced. It says nothing about content, so that a workload never carries the mark of a config.
var Restart = Strategy{Name: "restart", Current: currentRestart, Patch: patchRestart, ByTime: true, Own: true}

func currentRestart(*workload.Workload, reloader.Config) (string, bool) { return "", false }

// patchRestart writes the newest mark's time. Pods tell their creation by the second, rounded down: the next whole second is the
// first that lies after all that could have read the content of before.
func patchRestart(_ *workload.Workload, marks []Mark) ([]Op, error) {
	if len(marks) == 0 {
		return nil, nil
	}
	at := newestFirst(marks)[0].At.UTC().Truncate(time.Second).Add(time.Second)
	return []Op{{Op: "add", Path: Pointer("spec", "restartAt"), Value: at.Format(time.RFC3339)}}, nil
}
