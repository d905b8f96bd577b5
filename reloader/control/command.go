package control

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/reloader"
)

// ErrRefused means that a command cannot be carried out as things are.
var ErrRefused = errors.New("refused")

// Apply changes the ConfigMap's data as a command says: a freeze, a thaw, a pause, a resume or a retry. Done twice it is the same as once.
// It fails with ErrRefused if the command does not fit what is there. Of a list of pauses that is written anew, comments are lost, and so
// are the pauses that have ended.
func Apply(data map[string]string, c reloader.Command, now time.Time) error {
	switch c.Verb {
	case reloader.CommandFreeze:
		return freeze(data, c, now)
	case reloader.CommandThaw:
		for _, key := range []string{FreezeKey, ReasonKey, UntilKey, ByKey} {
			delete(data, key)
		}
		return nil
	case reloader.CommandPause:
		return pause(data, c, now)
	case reloader.CommandResume:
		return changePauses(data, c, now)
	case reloader.CommandRetry:
		return retry(data, c, now)
	}
	return fmt.Errorf("%w: %s is no command for %s", ErrRefused, c.Verb, ConfigMap)
}

func freeze(data map[string]string, c reloader.Command, now time.Time) error {
	if !c.Until.IsZero() && !c.Until.After(now) {
		return fmt.Errorf("%w: the freeze would have ended at %s already", ErrRefused, c.Until.UTC().Format(time.RFC3339))
	}
	data[FreezeKey] = "true"
	for key, value := range map[string]string{ReasonKey: c.Reason, ByKey: c.User, UntilKey: timeText(c.Until)} {
		if data[key] = value; value == "" {
			delete(data, key)
		}
	}
	return nil
}

func pause(data map[string]string, c reloader.Command, now time.Time) error {
	if !c.Until.After(now) || c.Until.After(now.Add(MaxPause)) {
		return fmt.Errorf("%w: a pause ends in the future, and no later than in %d days", ErrRefused, MaxPause/(24*time.Hour))
	}
	if _, err := labels.Parse(c.Selector); err != nil {
		return fmt.Errorf("%w: %.80q is no label selector", ErrRefused, c.Selector)
	}
	return changePauses(data, c, now, pauseText{Namespace: c.Namespace, Selector: c.Selector, Until: timeText(c.Until), Reason: c.Reason, By: c.User})
}

// changePauses puts added in the place of the pause of the same workloads, if there is one.
func changePauses(data map[string]string, c reloader.Command, now time.Time, added ...pauseText) error {
	var pauses []pauseText
	if err := yaml.UnmarshalStrict([]byte(data[PausesKey]), &pauses); err != nil {
		return fmt.Errorf("%w: the list of pauses in %s cannot be understood, and has to be mended by hand", ErrRefused, ConfigMap)
	}
	pauses = slices.DeleteFunc(pauses, func(p pauseText) bool {
		until, err := time.Parse(time.RFC3339, p.Until)
		return p.Namespace == c.Namespace && sameSelector(p.Selector, c.Selector) || err == nil && !until.After(now)
	})
	if pauses = append(pauses, added...); len(pauses) > maxPauses {
		return fmt.Errorf("%w: there are %d pauses already", ErrRefused, maxPauses)
	}
	if len(pauses) == 0 {
		delete(data, PausesKey)
		return nil
	}
	text, err := yaml.Marshal(pauses)
	if err != nil {
		return fmt.Errorf("write the list of pauses: %w", err)
	}
	data[PausesKey] = string(text)
	return nil
}

// sameSelector reports whether two selectors say the same, in whatever order.
func sameSelector(a, b string) bool {
	x, errX := labels.Parse(a)
	y, errY := labels.Parse(b)
	return a == b || errX == nil && errY == nil && x.String() == y.String()
}

func retry(data map[string]string, c reloader.Command, now time.Time) error {
	target := c.Config.Namespace + "/" + string(c.Config.Kind) + "/" + c.Config.Name
	if c.Workload != (reloader.WorkloadRef{}) {
		target = c.Workload.Namespace + "/" + c.Workload.Kind + "/" + c.Workload.Name
	}
	key, err := RetryKey(target)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	data[key] = timeText(now)
	return nil
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
