package verdict

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// judge returns the verdict of the first condition that is met: first those that need a user, then waits.
func (c Case) judge() Verdict {
	if c.Record == nil {
		return c.unrecorded()
	}
	r, h, e, roll := c.Record, c.hold(), c.edge(), reloader.Rollout{}
	if r.Rollout != nil {
		roll = *r.Rollout
	}
	marked := func() string { return "Reroll rolled the workload at " + clock(roll.StartedAt) }
	switch {
	case h.DeadLetter():
		return say(Failed, h.Reason, ofHold(h), c.advice(h.Reason))
	case len(r.Problems) > 0:
		return c.invalid(r.Problems)
	case len(r.Missing) > 0 && r.Missing[0].Unreadable != "":
		return unreadable(r.Missing)
	case len(r.Missing) > 0:
		return c.lacks(r.Missing)
	case h.Reason == reloader.ReasonMissingConfig:
		return say(MissingConfig, h.Reason, because("The workload waits", h.Message), "")
	case roll.Result == reloader.ReasonStalled:
		return say(Stalled, roll.Result, because(marked()+", and pods still run with the old content", roll.Message), c.kubectl("describe"))
	case roll.Result == reloader.ReasonWaitingForOperator && roll.Message != workload.WhyEmpty && roll.Message != workload.WhySuspend: // these two leave no pod with old content
		return say(NotRolledOut, roll.Result, because(marked()+", and the rollout is not complete", roll.Message), c.remedy(roll.Message))
	case roll.Result == reloader.ReasonOvertaken && roll.Undone:
		return say(NotRolledOut, roll.Result, fmt.Sprintf("%s, and another client removed the mark at %s, before the rollout completed. Pods that were not replaced run with the old content.",
			marked(), clock(roll.EndedAt)), "reroll reload "+ref(c.Workload))
	case h.Reason == reloader.ReasonFrozen, r.Hold == nil && c.frozen() && c.waits():
		freeze := c.freeze()
		return say(Frozen, freeze.Reason, freeze.Message, freeze.Next)
	case h.Reason == reloader.ReasonReloading:
		return say(Pending, h.Reason, ofHold(h), "")
	case h.Reason != "":
		return say(Held, h.Reason, ofHold(h), c.advice(h.Reason))
	case c.waits():
		return say(Pending, "", "A change waits for the debounce window to pass.", "")
	case roll.Result == reloader.ReasonRolling:
		return say(Rolling, roll.Result, because(marked()+", and the rollout is under way", roll.Message)+c.often(), c.remedy(""))
	case e.How == reloader.ReasonDryRun, e.How == reloader.ReasonNotified:
		return say(NotRolled, e.How, rolledNothing(e), "")
	case len(r.Edges) == 0:
		return say(NoConfigs, "", "The workload is opted in, but its annotations ask for no ConfigMap or Secret: its pod template refers to none, all are excluded, or no name matches.", c.kubectl("get")+" -o yaml")
	case e.How == "":
		return say(Pending, "", "Reroll has not recorded yet which content this workload runs with. That takes some seconds.", "reroll check")
	}
	return c.upToDate(e, roll)
}

func (c Case) unrecorded() Verdict {
	annotate, w := c.kubectl("annotate")+" reroll.dev/auto=true", ref(c.Workload)
	message, next := w+" exists, and is not opted in.", annotate
	switch live := c.Live; {
	case live == nil:
		message = w + " is not opted in, or does not exist: Reroll has no record of it. To opt it in, annotate it."
	case live.Lacking != "":
		message, next = strings.ToUpper(live.Lacking[:1])+end(live.Lacking[1:]), fmt.Sprintf("kubectl get %s -A", strings.ToLower(c.Workload.Kind))
	case live.Typo != "":
		message += " " + end(live.Typo)
	case live.Asks:
		message, next = w+" exists and asks for configs, but Reroll has no record of it: the settings leave out its namespace or kind, or it was annotated a moment ago.", "reroll check"
	}
	return say(NotOptedIn, reloader.ReasonNotOptedIn, message, next)
}

func (c Case) invalid(problems []string) Verdict {
	message, next := end(problems[0])+more(len(problems), " faults"), c.kubectl("edit")
	if len(c.Record.Edges) == 0 {
		message = end(problems[0]) + " Nothing will roll."
	}
	if key, _, _ := strings.Cut(problems[0], " "); strings.HasSuffix(problems[0], `use "true" or "false"`) {
		next = c.kubectl("annotate") + " --overwrite " + key + "=true"
	}
	return say(Invalid, "", message, next)
}

func unreadable(all []reloader.Missing) Verdict {
	n := 0
	for n < len(all) && all[n].Unreadable != "" {
		n++
	}
	u, others := all[0], more(n, "")
	switch {
	case u.Config == reloader.Config{}:
		return say(Unreadable, "", "The configs of the workload cannot be read, so their changes go unnoticed: "+end(u.Unreadable)+others, "reroll check")
	case u.Config.Cluster != "":
		return say(Unreadable, "", u.Unreadable+", so its changes go unnoticed."+others, "reroll get clusters")
	}
	return say(Unreadable, "", named(u.Config)+" cannot be read, so its changes go unnoticed: "+end(u.Unreadable)+others, "reroll check")
}

func (c Case) lacks(all []reloader.Missing) Verdict {
	m, message := all[0], named(all[0].Config)
	kind, next := strings.ToLower(string(m.Config.Kind)), "kubectl -n "+m.Config.Namespace
	switch {
	case m.Pattern != "":
		message, next = fmt.Sprintf("Pattern %q of %s matches no %s in %s.", m.Pattern, m.Clause, m.Config.Kind, m.Config.Namespace), c.kubectl("edit")
	case m.Config.Namespace != c.Workload.Namespace:
		message += " does not exist, or is not shared with namespace " + c.Workload.Namespace + "."
		next += fmt.Sprintf(" annotate %s/%s reroll.dev/share-with=%s", kind, m.Config.Name, c.Workload.Namespace)
	case len(m.Keys) > 0:
		message, next = fmt.Sprintf("%s has no key %q.", message, m.Keys[0]), fmt.Sprintf("%s edit %s/%s", next, kind, m.Config.Name)
	default:
		message, next = message+" does not exist.", next+" get "+kind
	}
	switch {
	case m.Meant != "":
		message, next = message+" Did you mean "+m.Meant+"?", c.kubectl("edit")
	case m.Required:
		message += " No pod of the workload starts without it."
	default:
		message += " Nothing will roll for it."
	}
	v := say(MissingConfig, "", message+more(len(all), " are missing"), next)
	if h := c.hold(); h.Reason == reloader.ReasonMissingConfig {
		v.Reason = h.Reason
	}
	return v
}

// upToDate says which content the workload runs with, how that is known, and what else restarts it or leaves it behind.
func (c Case) upToDate(e reloader.Edge, roll reloader.Rollout) Verdict {
	v := say(UpToDate, e.How, rolledNothing(e), "")
	switch how, config, at := e.How, named(e.Config), clock(e.At); {
	case roll.Result == reloader.ReasonWaitingForOperator && roll.Message == workload.WhyEmpty:
		v.Message = fmt.Sprintf("No pod runs: the workload has no replicas. The next pods start with the newest content; it last rolled at %s.", clock(roll.StartedAt))
	case how == reloader.ReasonAppeared:
		v.Message = fmt.Sprintf("%s was created at %s. Creating a config rolls nothing unless reload.onCreate is set. Pods that started before do not have the config.", config, at)
		v.Next = c.advice(how)
	case how == reloader.ReasonBaseline && slices.Contains(reloader.Declines, e.Why):
		v.Message = fmt.Sprintf("Changes of %s roll nothing: the workload %s. %s", config, declined(e), e.Why.Advice())
	case how == reloader.ReasonBaseline:
		v.Message = fmt.Sprintf("Nothing has changed since Reroll first saw it: %s, %s.", config, at)
	case how == reloader.ReasonReloaded:
		v.Message = fmt.Sprintf("The workload runs with the newest content. It last rolled for %s, at %s.", config, at)
	case slices.Contains(reloader.NewestReasons, how):
		v.Message = fmt.Sprintf("The workload runs with the newest content: it %s (%s, %s).", how.Says(), config, at)
	}
	if roll.Undone {
		v.Message += " Since then, its template has lost the mark, which restarted its pods: configure your GitOps tool to keep the mark (docs/recipes.md)."
	}
	unheard, next := c.unheard()
	v.Message, v.Next = v.Message+c.ahead(e)+c.often()+unheard, cmp.Or(v.Next, next)
	if c.frozen() {
		freeze := c.freeze()
		v.Message, v.Next = v.Message+" "+freeze.Message+" The next change waits.", freeze.Next
	}
	return v
}

// remedy returns the command that continues a rollout that waits, or that shows how far it is: the first that has the reason and the kind, or any.
func (c Case) remedy(why string) string {
	rollout, dc, job := workload.Rollout.Kind, workload.DeploymentConfig.Kind, workload.Job.Kind
	w := c.Workload
	for _, r := range []struct{ why, kind, next string }{
		{workload.WhyPaused, rollout, fmt.Sprintf("kubectl argo rollouts -n %s resume %s", w.Namespace, w.Name)},
		{workload.WhyPaused, dc, fmt.Sprintf("oc -n %s rollout resume dc/%s", w.Namespace, w.Name)},
		{workload.WhyPaused, "", c.kubectl("rollout resume")},
		{workload.WhyOnDelete, "", fmt.Sprintf("kubectl -n %s get pods -L controller-revision-hash", w.Namespace)}, // deleting all at once would be an outage
		{workload.WhyManual, "", fmt.Sprintf("oc -n %s rollout latest dc/%s", w.Namespace, w.Name)},
		{"", rollout, fmt.Sprintf("kubectl argo rollouts -n %s status %s", w.Namespace, w.Name)},
		{"", dc, fmt.Sprintf("oc -n %s rollout status dc/%s", w.Namespace, w.Name)},
		{"", job, c.kubectl("describe")},
		{"", workload.CronJob.Kind, c.kubectl("describe")},
	} {
		if (r.why == "" || r.why == why) && (r.kind == "" || r.kind == w.Kind) {
			return r.next
		}
	}
	return c.kubectl("rollout status")
}
