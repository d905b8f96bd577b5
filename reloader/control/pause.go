package control

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/reloader"
)

// errPauses says that a list was written by hand and cannot be read: who changes it could lose what was meant.
var errPauses = errors.New("the list " + PausesKey + " cannot be read; mend it by hand")

// AddPause returns the list of pauses in text, a value of PausesKey, with p in it: in place of one of the same namespace and selector,
// and without those that have ended. It fails if p would not be understood, or the list is not.
func AddPause(text string, p Pause, now time.Time) (string, error) {
	added := pauseText{Namespace: p.Namespace, Selector: p.Selector.String(), Until: p.Until.UTC().Format(time.RFC3339), Reason: cut(p.Reason), By: cut(p.By)}
	if p.Namespace != "" {
		if err := validNamespace(p.Namespace); err != nil {
			return "", err
		}
	}
	if !p.Until.After(now) || p.Until.After(now.Add(MaxPause)) {
		return "", fmt.Errorf("a pause lasts at most %d days, and not until %s", int(MaxPause.Hours()/24), added.Until)
	}
	pauses, _, err := removePauses(text, func(old pauseText) bool { return old.same(added) || old.ended(now) })
	if err != nil {
		return "", err
	}
	if len(pauses) >= maxPauses {
		return "", fmt.Errorf("there are %d pauses, and no more are read", len(pauses))
	}
	return render(append(pauses, added))
}

// RemovePauses returns the list of pauses in text without those of a namespace and a selector, and how many these were. The list is
// empty text if none is left.
func RemovePauses(text, namespace string, selector labels.Selector) (string, int, error) {
	wanted := pauseText{Namespace: namespace, Selector: selector.String()}
	pauses, removed, err := removePauses(text, wanted.same)
	if err != nil || len(pauses) == 0 {
		return "", removed, err
	}
	text, err = render(pauses)
	return text, removed, err
}

func validNamespace(name string) error {
	return reloader.Config{Kind: reloader.ConfigMap, Namespace: name, Name: "any"}.Validate()
}

// removePauses returns the pauses that are not unwanted.
func removePauses(text string, unwanted func(pauseText) bool) (pauses []pauseText, removed int, err error) {
	if err := yaml.UnmarshalStrict([]byte(text), &pauses); err != nil {
		return nil, 0, errPauses // what is wrong with it would not fit into a line
	}
	before := len(pauses)
	pauses = slices.DeleteFunc(pauses, unwanted)
	return pauses, before - len(pauses), nil
}

func render(pauses []pauseText) (string, error) {
	text, err := yaml.Marshal(pauses)
	if err != nil {
		return "", fmt.Errorf("encode %s: %w", PausesKey, err)
	}
	return string(text), nil
}

// same reports whether both hold back the same workloads, as far as their words say.
func (p pauseText) same(other pauseText) bool {
	return p.Namespace == other.Namespace && canonical(p.Selector) == canonical(other.Selector)
}

// canonical writes a selector in one of its ways. No name or value has an equals sign.
func canonical(selector string) string {
	parsed, err := labels.Parse(selector)
	if err != nil {
		return strings.TrimSpace(selector)
	}
	return strings.ReplaceAll(parsed.String(), "==", "=")
}

func (p pauseText) ended(now time.Time) bool {
	until, err := time.Parse(time.RFC3339, p.Until)
	return err == nil && !until.After(now)
}
