package verdict

import (
	"fmt"

	"github.com/reroll-dev/reroll/reloader"
)

// marked returns a verdict about a rollout with this result, if it is the workload's.
func (c Case) marked(result reloader.Reason, so string) (Verdict, bool) {
	r := c.Record.Rollout
	if r == nil || r.Result != result {
		return Verdict{}, false
	}
	return Verdict{Reason: result, Message: because("The workload was marked at "+clock(r.StartedAt)+so, r.Message)}, true
}

func stalled(c Case) (Verdict, bool) {
	v, ok := c.marked(reloader.ReasonStalled, ", and pods still run with the old content")
	v.Next = kubectl(c.Workload, "describe")
	return v, ok
}

func notRolledOut(c Case) (Verdict, bool) {
	v, ok := c.marked(reloader.ReasonWaitingForOperator, " and is not rolled out")
	if !ok {
		return v, false
	}
	next, stale := remedy(c.Workload, c.Record.Rollout.Message)
	v.Next = next
	return v, stale
}

func undone(c Case) (Verdict, bool) {
	r := c.Record.Rollout
	if r == nil || !r.Undone || r.Result != reloader.ReasonOvertaken {
		return Verdict{}, false
	}
	return Verdict{
		Reason: r.Result, Next: "reroll reload " + ref(c.Workload),
		Message: fmt.Sprintf("The workload was marked at %s, and its template was restored at %s, before the rollout completed. Pods that were not replaced run with the old content.", clock(r.StartedAt), clock(r.EndedAt)),
	}, true
}

func rolling(c Case) (Verdict, bool) {
	v, ok := c.marked(reloader.ReasonRolling, " and is rolling out")
	v.Next = status(c.Workload)
	v.Message += c.often()
	return v, ok
}

// manyRolls is how many rolls of one workload in twelve hours are worth a word.
const manyRolls = 10

// often says that the workload rolls again and again.
func (c Case) often() string {
	if c.Record.Rolls < manyRolls {
		return ""
	}
	return fmt.Sprintf(" It has rolled about %d times within twelve hours: reroll get reloads -n %s shows for what.", c.Record.Rolls, c.Workload.Namespace)
}
