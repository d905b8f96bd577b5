package workload

import (
	"fmt"
	"strings"

	"github.com/reroll-dev/reroll/reloader"
)

// Remedy says what continues a rollout that waits for a reason that Progress.Why gives: a command, or empty if none is known. stale reports
// whether pods run the old template meanwhile; a workload without replicas has none that could.
func Remedy(ref reloader.WorkloadRef, why string) (next string, stale bool) {
	switch why {
	case whyEmpty, whySuspend:
		return "", false
	case whyPaused:
		if ref.Kind == "Rollout" {
			return fmt.Sprintf("kubectl argo rollouts -n %s resume %s", ref.Namespace, ref.Name), true
		}
		return fmt.Sprintf("kubectl -n %s rollout resume %s/%s", ref.Namespace, strings.ToLower(ref.Kind), ref.Name), true
	case whyOnDelete:
		return fmt.Sprintf("kubectl -n %s delete pod POD, for each pod of %s", ref.Namespace, ref.Name), true
	case whyManual:
		return fmt.Sprintf("oc -n %s rollout latest dc/%s", ref.Namespace, ref.Name), true
	}
	return "", true
}
