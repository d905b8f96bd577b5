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
	workload.RunningPod
	// next is when it must be asked; zero if it has the content, or if it has failed for good.
	next time.Time
	// answered reports whether a call succeeded. err is why the last one failed; nil if it did not.
	answered bool
	err      error
}

// take takes note of a call that began at a time.
func (x *asked) take(a *asking, began time.Time, err error) {
	x.next, x.err, x.answered = time.Time{}, err, x.answered || err == nil
	switch {
	case err == nil && began.Before(a.last):
		x.next = a.last
	case err != nil && fateOf(err) != fateNever && began.Before(a.last.Add(patience)):
		x.next = began.Add(callPause)
	}
}

// meet takes note of the pods that run, without those that have the content anyway.
func (a *asking) meet(pods []workload.RunningPod) {
	known := a.pods
	a.pods = nil
	for _, p := range pods {
		if p.Created.After(a.there) {
			continue
		}
		x := &asked{next: a.first}
		if i := slices.IndexFunc(known, func(x *asked) bool { return x.UID == p.UID }); i >= 0 {
			x = known[i]
		}
		x.RunningPod = p
		a.pods = append(a.pods, x)
	}
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
		if x.err != nil {
			sum.Failed++
			sum.Names = append(sum.Names, x.Name)
		} else if x.answered {
			sum.Answered++
		}
	}
	sum.Asked, sum.Names = sum.Failed+sum.Answered, sum.Names[:min(len(sum.Names), maxFailed)]
	return sum
}

// ask asks one pod. The data of the Secret is read if it is needed.
func (d *roller) ask(ctx context.Context, a *asking, p workload.RunningPod, secret func() (map[string][]byte, error)) (err error) {
	h, began, before := a.how, time.Now(), 0.0
	var credentials map[string][]byte
	if h.Secret != "" {
		if credentials, err = secret(); err != nil {
			return errors.New("its credentials cannot be read: " + err.Error()) // one that is not found is no pod that is gone
		}
	}
	p.Refreshed = a.value // what it is asked to take, also if it could not be touched
	call := func(r dialect.Request) ([]byte, error) { return d.Caller.Call(ctx, p, r, credentials) }
	switch {
	case h.Strategy == dialect.Refresh:
		return d.Pods.Refresh(ctx, p, a.value)
	case h.Strategy == dialect.Exec:
		return d.Pods.Exec(ctx, p, h.Container, h.Command)
	case h.Metric != "":
		answer, err := call(h.Verify)
		if err != nil {
			return err
		}
		before = sumOf(answer, h.Metric)
	}
	if _, err := call(h.Reload); err != nil || h.Verify.Path == "" {
		return err
	}
	answer, err := call(h.Verify)
	if late := h.Metric != "" || !began.Before(a.last); err == nil && late && !a.proves(before, answer) {
		return errors.New("it answered, and reroll.dev/http-verify shows no new content")
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
