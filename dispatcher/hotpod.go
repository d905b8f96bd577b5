package dispatcher

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// asked is a pod that is asked to reload.
type asked struct {
	name string
	// answered is when the last call began that succeeded; zero if none did. tried is when the last one began, and err why it failed.
	answered, tried time.Time
	err             error
}

// take takes note of a call that began at a time.
func (x *asked) take(began time.Time, err error) {
	if x.tried, x.err = began, err; err == nil {
		x.answered = began
	}
}

// done reports whether the pod need not be asked any more.
func (x *asked) done(a *asking) bool { return x.err == nil && !x.answered.Before(a.last) }

// next returns when a pod that is not done must be asked the next time.
func (x *asked) next(a *asking) time.Time {
	switch {
	case x.err != nil:
		return x.tried.Add(callPause)
	case x.answered.IsZero():
		return a.first
	}
	return a.last
}

// hopeless says why the pod is given up; empty if it is not.
func (x *asked) hopeless(a *asking) string {
	if x.err == nil || fateOf(x.err) != fateNever && x.tried.Before(a.last.Add(patience)) {
		return ""
	}
	return "pod " + x.name + ": " + x.err.Error()
}

// maxFailed bounds the names of failed pods in a record.
const maxFailed = 5

// asked counts the pods for the record; nil if there was no reload of pods.
func (a *asking) asked() *reloader.Asked {
	if a == nil {
		return nil
	}
	sum := &reloader.Asked{}
	for _, x := range a.pods {
		switch {
		case x.err != nil:
			sum.Failed++
			sum.Names = append(sum.Names, x.name)
		case !x.answered.IsZero():
			sum.Answered++
		}
	}
	sum.Asked = sum.Failed + sum.Answered
	slices.Sort(sum.Names)
	sum.Names = sum.Names[:min(len(sum.Names), maxFailed)]
	return sum
}

// errUnproved is that of a pod that answered, and did not show that it has the content.
var errUnproved = errors.New("it answered, and reroll.dev/http-verify shows no new content")

// ask asks one pod.
func (d *roller) ask(ctx context.Context, a *asking, p workload.RunningPod, secret map[string][]byte) error {
	h, began, before := a.how, time.Now(), 0.0
	p.Refreshed = a.value() // what it is asked to take, also if it could not be touched
	call := func(r dialect.Request) ([]byte, error) { return d.Caller.Call(ctx, p, r, secret) }
	switch {
	case h.Strategy == dialect.Refresh:
		return d.Pods.Refresh(ctx, p, a.value())
	case h.Strategy == dialect.Exec:
		return d.Pods.Exec(ctx, p, h.Container, h.Command)
	case h.Verify.Path == "":
		_, err := call(h.Reload)
		return err
	}
	if h.Metric != "" {
		answer, err := call(h.Verify)
		if err != nil {
			return err
		}
		before = sumOf(answer, h.Metric)
	}
	if _, err := call(h.Reload); err != nil {
		return err
	}
	answer, err := call(h.Verify)
	if late := h.Metric != "" || !began.Before(a.last); err == nil && late && !a.proves(before, answer) {
		err = errUnproved
	}
	return err
}

// proves reports whether an answer of a pod shows that it has the content: a metric that is larger than before, or the version of each config.
func (a *asking) proves(before float64, answer []byte) bool {
	if a.how.Metric != "" {
		return sumOf(answer, a.how.Metric) > before
	}
	return !slices.ContainsFunc(a.versions, func(version string) bool {
		return version == "" || !regexp.MustCompile(`(^|[^0-9])`+regexp.QuoteMeta(version)+`([^0-9]|$)`).Match(answer)
	})
}

// sumOf returns the sum of the samples of a metric in the text format of Prometheus; 0 if there are none.
func sumOf(text []byte, metric string) (sum float64) {
	samples := regexp.MustCompile(`(?m)^` + metric + `(?:[ \t]*\{.*\}[ \t]*|[ \t]+)(\S+)`)
	for _, sample := range samples.FindAllSubmatch(text, -1) {
		if value, err := strconv.ParseFloat(string(sample[1]), 64); err == nil {
			sum += value
		}
	}
	return sum
}
