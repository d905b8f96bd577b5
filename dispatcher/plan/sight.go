package plan

import (
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// SightRules are the rules about a config that a workload meets for the first time, in order. One that answers with a roll has found that the workload
// missed a change. If none answers, the live write is the baseline.
var SightRules = []Rule{
	{"unproven", "Nothing proves which content is current, as for a SecretProviderClass without pods: take the baseline.", unproven},
	{"unread", "The content is unknown: read it.", unread},
	{"absent", "The config does not exist: take the baseline.", absent},
	{"mark", "The mark of a tool proves which content the workload rolled for. If the live content differs, the workload missed a change.", marked},
	{"foreign", "The config is in another cluster, whose clock can differ: take the baseline.", foreign},
	{"appearedSinceListed", "The config was created after Reroll evaluated the workload's patterns, and creations count: the workload missed a change.", appearedSinceListed},
	{"writtenSince", "Data was written after the opt-in, and a pod is older: the workload missed a change.", writtenSince},
	{"takenSince", "A key was removed after the opt-in, and a pod is older: the workload missed a change.", takenSince},
	{"madeAnew", "The config was created after the opt-in, and a pod is older. The workload missed a change, if creations count or no pod starts without the config.", madeAnew},
}

func unproven(c Case) (Verdict, bool) {
	return c.note(reloader.ReasonBaseline), c.Live.Unproven
}

func absent(c Case) (Verdict, bool) { return c.note(reloader.ReasonBaseline), c.Live.Absent() }

func marked(c Case) (Verdict, bool) {
	switch c.First.Mark {
	case "":
		return ask(NeedMarks), true
	case MarkEqual:
		return c.note(reloader.ReasonAlreadyCurrent), true
	}
	return c.roll(), c.First.Mark == MarkDiffers
}

func foreign(c Case) (Verdict, bool) {
	return c.note(reloader.ReasonBaseline), c.Config.Cluster != ""
}

func appearedSinceListed(c Case) (Verdict, bool) {
	return c.roll(), c.Counting.Creation && notBefore(c.Live.Created, c.First.Listed)
}

func writtenSince(c Case) (Verdict, bool) {
	if !c.edited() || !c.since(c.Live.DataWritten) {
		return Verdict{}, false
	}
	return c.older(c.Live.DataWritten)
}

func takenSince(c Case) (Verdict, bool) {
	if !c.First.Taken || !c.since(c.Live.Touched) {
		return Verdict{}, false
	}
	return c.older(c.Live.Touched)
}

// madeAnew does not count a pod that started in the second of the config's creation: usually both come from one apply, the config first.
func madeAnew(c Case) (Verdict, bool) {
	created, joined := second(c.Live.Created), !c.AsOf.IsZero() && c.AsOf.Before(c.First.Written)
	switch {
	case !c.since(created), !c.First.Required && !c.Counting.Creation:
		return Verdict{}, false
	case joined && !c.First.Required && created.Equal(second(c.First.Written)):
		return Verdict{}, false // one apply makes a config, and names it in a workload that was known before
	}
	return c.older(created.Add(-time.Second))
}

// since reports whether t is after the workload opted in and after the ledger was born, as far as whole seconds can tell.
func (c Case) since(t time.Time) bool {
	return notBefore(t, c.First.Written) && notBefore(t, c.First.Born)
}

// older finds that a change at t was missed if a pod is older.
func (c Case) older(t time.Time) (Verdict, bool) {
	if c.Pods == nil {
		return ask(NeedPods), true
	}
	return c.roll(), oneStartedBy(*c.Pods, t)
}
