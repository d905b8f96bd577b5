package control

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/labels"

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
		for _, key := range []string{FreezeKey, ReasonKey, UntilKey, ByKey, SinceKey} {
			delete(data, key)
		}
		return nil
	case reloader.CommandPause:
		return pause(data, c, now)
	case reloader.CommandResume:
		return resume(data, c)
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
	for key, value := range map[string]string{ReasonKey: c.Reason, ByKey: c.User, UntilKey: timeText(c.Until), SinceKey: timeText(c.At)} {
		if data[key] = value; value == "" {
			delete(data, key)
		}
	}
	return nil
}

func pause(data map[string]string, c reloader.Command, now time.Time) error {
	selector, err := labels.Parse(c.Selector)
	if err != nil {
		return fmt.Errorf("%w: %.80q is no label selector", ErrRefused, c.Selector)
	}
	p := Pause{Namespace: c.Namespace, Selector: selector, Until: c.Until, Reason: c.Reason, By: c.User}
	text, err := AddPause(data[PausesKey], p, now)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	data[PausesKey] = text
	return nil
}

func resume(data map[string]string, c reloader.Command) error {
	selector, err := labels.Parse(c.Selector)
	if err != nil {
		return fmt.Errorf("%w: %.80q is no label selector", ErrRefused, c.Selector)
	}
	text, _, err := RemovePauses(data[PausesKey], c.Namespace, selector)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if data[PausesKey] = text; text == "" {
		delete(data, PausesKey)
	}
	return nil
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
