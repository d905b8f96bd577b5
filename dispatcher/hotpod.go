package dispatcher

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// asked is a pod that is asked to reload.
type asked struct {
	name string
	// answered is when the last call began that succeeded; zero if none did. tried is when the last one began, and tries how many have failed in a
	// row, the first of them at since and the last with err.
	answered, tried, since time.Time
	tries                  int
	err                    error
	// proved says that the pod has shown that it has the content. before is the metric before the first of the failed calls, if measured.
	proved, measured bool
	before           float64
}

// take takes note of a call that began at a time.
func (x *asked) take(began time.Time, err error) {
	if x.tried, x.err = began, err; err == nil {
		x.answered, x.tries, x.measured = began, 0, false
		return
	}
	if x.tries++; x.tries == 1 {
		x.since = began
	}
}

// done reports whether the pod need not be asked any more.
func (x *asked) done(a *asking) bool {
	return x.proved || x.tries == 0 && !x.answered.IsZero() && !x.answered.Before(a.last)
}

// next returns when the pod must be asked the next time; a time long after the reload if never.
func (x *asked) next(a *asking) time.Time {
	switch {
	case x.done(a):
		return a.last.Add(24 * time.Hour)
	case x.tries > 0:
		next := x.tried.Add(time.Second << min(x.tries-1, longestPause))
		if x.tried.Before(a.last) {
			next = reloader.Earlier(next, a.last)
		}
		return next
	case x.answered.IsZero():
		return a.first
	}
	return a.last
}

// hopeless says why the pod is given up; empty if it is not.
func (x *asked) hopeless(a *asking) string {
	if x.tries == 0 || fateOf(x.err) != fateNever && (x.tried.Before(a.last) || x.tried.Sub(x.since) < patience) {
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
		case x.tries > 0:
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
func (d *roller) ask(ctx context.Context, w *workload.Workload, a *asking, p workload.RunningPod, x *asked, token string) error {
	h, began := a.how, time.Now()
	call := func(r dialect.Request) ([]byte, error) { return d.Caller.Call(ctx, p, r.Method, r.Port, r.Path, token) }
	switch {
	case h.Strategy == dialect.Refresh:
		return d.Pods.Refresh(ctx, w, p, a.value)
	case h.Strategy == dialect.Exec:
		return d.Pods.Exec(ctx, w, p, h.Container, h.Command)
	case h.Verify.Path == "":
		_, err := call(h.Reload)
		return err
	}
	answer, err := call(h.Verify)
	if err != nil || x.proves(a, answer) {
		return err
	}
	if _, err = call(h.Reload); err != nil {
		return err
	}
	if answer, err = call(h.Verify); err != nil {
		return err
	}
	if !x.proves(a, answer) && (h.Metric != "" || !began.Before(a.last)) {
		return errUnproved
	}
	return nil
}

// proves reports whether an answer of the pod shows that a call since the first that failed, or before, has brought the content. A metric proves that for
// one call, and the versions of the configs for good.
func (x *asked) proves(a *asking, answer []byte) bool {
	if a.how.Metric == "" {
		x.proved = true
		for _, version := range a.versions {
			x.proved = x.proved && hasNumber(answer, version)
		}
		return x.proved
	}
	value := sumOf(answer, a.how.Metric)
	if !x.measured {
		x.measured, x.before = true, value
		return false
	}
	return value > x.before
}

// hasNumber reports whether text has the digits of number, and no other digit next to them.
func hasNumber(text []byte, number string) bool {
	isDigit := func(i int) bool { return i >= 0 && i < len(text) && '0' <= text[i] && text[i] <= '9' }
	for at := 0; number != ""; at++ {
		i := bytes.Index(text[at:], []byte(number))
		if i < 0 {
			return false
		}
		if at += i; !isDigit(at-1) && !isDigit(at+len(number)) {
			return true
		}
	}
	return false
}

// sumOf returns the sum of the samples of a metric in the text format of Prometheus; 0 if there are none.
func sumOf(text []byte, metric string) (sum float64) {
	for line := range strings.Lines(string(text)) {
		rest, named := strings.CutPrefix(line, metric)
		if !named || !strings.HasPrefix(rest, "{") && !strings.HasPrefix(rest, " ") && !strings.HasPrefix(rest, "\t") {
			continue
		}
		fields := strings.Fields(rest[strings.LastIndexByte(rest, '}')+1:])
		if len(fields) == 0 {
			continue
		}
		if value, err := strconv.ParseFloat(fields[0], 64); err == nil {
			sum += value
		}
	}
	return sum
}

// allProved reports whether every pod of w has proved that it has the content, or was created with it: also those that did not run yet.
func (d *roller) allProved(ctx context.Context, w *workload.Workload, a *asking) bool {
	if a.how.Verify.Path == "" || a.how.Metric != "" || len(a.pods) == 0 {
		return false
	}
	pods, err := d.Workloads.Pods(ctx, w)
	return err == nil && pods.Known && !slices.ContainsFunc(pods.Of, func(p workload.Pod) bool {
		proved := false
		for _, x := range a.pods {
			proved = proved || x.proved && x.name == p.Name
		}
		return !proved && !p.Ended && !p.Going
	})
}
