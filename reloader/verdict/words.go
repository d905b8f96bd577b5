package verdict

import (
	"fmt"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/near"
)

// waitsForWindow is what a change waits for that nothing holds back.
const waitsForWindow = "A change waits for the debounce window to pass."

// ofHold says what holds a workload back and when it continues.
func ofHold(h *reloader.Hold) string {
	switch {
	case h.Reason == reloader.ReasonOutsideWindow && h.Due.IsZero():
		return because("The workload is held back: no maintenance window ever opens", h.Message)
	case h.Reason == reloader.ReasonOutsideWindow:
		return "The workload " + h.Reason.Says() + "; the next one opens at " + clock(h.Due) + "."
	}
	text := because("The workload "+h.Reason.Says(), h.Message)
	if !h.Due.IsZero() && !h.DeadLetter() {
		text += " It continues at " + clock(h.Due) + "."
	}
	return text
}

// noDependency is the verdict of a workload and a config that it does not depend on; why is NotShared, or empty.
func (c Case) noDependency(config reloader.Config, why reloader.Reason) Verdict {
	v := Verdict{State: NotADependency, Reason: why}
	if why != "" {
		v.Message = "The workload " + why.Says() + "."
		return v
	}
	v.Message = "No annotation of the workload asks for " + named(config) + ": it is neither named nor referenced, or it is excluded, ignored, or in another namespace."
	var names []string
	for _, e := range c.Record.Edges {
		if e.Config.Kind == config.Kind {
			names = append(names, e.Config.Name)
		}
	}
	if meant, ok := near.Word(config.Name, names); ok {
		v.Message += " Did you mean " + meant + "?"
	}
	return v
}

// terms says why and until when all reloads are frozen, and by which user.
func terms(f reloader.Freeze) string {
	text := ""
	if f.Reason != "" {
		text += fmt.Sprintf(" (%q)", f.Reason)
	}
	if f.By != "" {
		text += " by " + f.By
	}
	if !f.Since.IsZero() {
		text += " since " + clock(f.Since)
	}
	if f.Until.IsZero() {
		return text + " until they are resumed"
	}
	return text + " until " + clock(f.Until)
}

// ref names a workload as the commands of reroll take it.
func ref(w reloader.WorkloadRef) string { return w.Namespace + "/" + w.Kind + "/" + w.Name }

// named names a config as sentences do.
func named(c reloader.Config) string {
	text := string(c.Kind) + " " + c.Namespace + "/" + c.Name
	if c.Cluster != "" {
		text += " of cluster " + c.Cluster
	}
	return text
}

// clock shows a time as the sentences of this package do.
func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// because joins what is so and why.
func because(text, why string) string {
	if why == "" {
		return end(text)
	}
	return text + ": " + end(why)
}

// end ends a sentence, unless it has ended.
func end(text string) string {
	if strings.HasSuffix(text, "?") {
		return text
	}
	return strings.TrimRight(text, ".") + "."
}

// more says how many others there are besides the first.
func more(n int, what string) string {
	if n <= 1 {
		return ""
	}
	return fmt.Sprintf(" And %d more%s.", n-1, what)
}

func lower(kind string) string { return strings.ToLower(kind) }
