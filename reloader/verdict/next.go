package verdict

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// remedy returns the command that continues a rollout that waits, or that shows why it waits. stale reports whether pods run the old
// template meanwhile: a workload without replicas has no such pods.
func remedy(ref reloader.WorkloadRef, why string) (next string, stale bool) {
	rollout, dc := ref.Kind == workload.Rollout.Kind, ref.Kind == workload.DeploymentConfig.Kind
	switch why {
	case workload.WhyEmpty, workload.WhySuspend:
		return "", false
	case workload.WhyPaused:
		switch {
		case rollout:
			return fmt.Sprintf("kubectl argo rollouts -n %s resume %s", ref.Namespace, ref.Name), true
		case dc:
			return fmt.Sprintf("oc -n %s rollout resume dc/%s", ref.Namespace, ref.Name), true
		}
		return kubectl(ref, "rollout resume"), true
	case workload.WhyOnDelete: // deleting all pods at once would be an outage
		return fmt.Sprintf("kubectl -n %s get pods -L controller-revision-hash", ref.Namespace), true
	case workload.WhyManual:
		return fmt.Sprintf("oc -n %s rollout latest dc/%s", ref.Namespace, ref.Name), true
	}
	return status(ref), true
}

// status returns the command that shows how far a rollout is.
func status(ref reloader.WorkloadRef) string {
	switch ref.Kind {
	case workload.Rollout.Kind:
		return fmt.Sprintf("kubectl argo rollouts -n %s status %s", ref.Namespace, ref.Name)
	case workload.DeploymentConfig.Kind:
		return fmt.Sprintf("oc -n %s rollout status dc/%s", ref.Namespace, ref.Name)
	case workload.Job.Kind, workload.CronJob.Kind:
		return kubectl(ref, "describe")
	}
	return kubectl(ref, "rollout status")
}

// kubectl returns a command of kubectl that takes one workload.
func kubectl(ref reloader.WorkloadRef, verb string) string {
	return fmt.Sprintf("kubectl -n %s %s %s/%s", ref.Namespace, verb, lower(ref.Kind), ref.Name)
}

// thaw says what freezes the cluster, and which command ends that. A document that cannot be read must be corrected: thaw refuses it.
func (c Case) thaw(f reloader.Freeze) (message, next string) {
	if c.Status != nil && c.Status.ControlProblem != "" {
		return end(c.Status.ControlProblem), fmt.Sprintf("kubectl -n %s edit configmap %s", cmp.Or(c.Status.Namespace, ownNamespace), control.ConfigMap)
	}
	return "All reloads are frozen" + terms(f) + ".", c.own("reroll resume -A")
}

// ownNamespace is the namespace that the commands take for Reroll's own.
const ownNamespace = "reroll"

// next returns the command that the table of reasons has for one.
func (c Case) next(reason reloader.Reason) string {
	next := reason.Info().Next
	command := strings.NewReplacer("{workload}", ref(c.Workload), "{namespace}", c.Workload.Namespace, "{pause}", c.pause()).Replace(next)
	if reason == reloader.ReasonPausedByOperator {
		return c.own(command)
	}
	return command
}

// own returns a command that writes to Reroll's own namespace.
func (c Case) own(command string) string {
	if c.Status == nil || c.Status.Namespace == "" || c.Status.Namespace == ownNamespace {
		return command
	}
	return command + " --reroll-namespace " + c.Status.Namespace
}

// pause returns the flags that name the pause of the workload: that of its namespace, unless the cluster has another one that applies.
func (c Case) pause() string {
	flags := "-n " + c.Workload.Namespace
	if c.Status == nil {
		return flags
	}
	for _, p := range c.Status.Pauses {
		if p.Namespace != "" && p.Namespace != c.Workload.Namespace || !p.Until.After(c.Now) {
			continue
		}
		if p.Namespace == "" {
			flags = "-A"
		}
		if p.Selector != "" {
			flags += " -l '" + p.Selector + "'"
		}
		return flags
	}
	return flags
}
