package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// result is what a run has come to.
type result struct {
	options
	// commit is that of the sources.
	commit string
	rounds []round
	// stop and ready are how long the process took to end and to be ready, without the tenant and next to it.
	stopAlone, stopBeside, readyAlone, readyBeside time.Duration
	memoryAlone, memoryMost                        int64
	// heard is what each workload of the tenant says.
	heard  map[string]string
	faults []string
}

func (r *result) fault(format string, args ...any) {
	r.faults = append(r.faults, fmt.Sprintf(format, args...))
}

// shownFaults bounds how many faults are listed.
const shownFaults = 60

// String returns the result in Markdown.
func (r result) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Hostile tenant\n\n`make hostile`, commit %s: one namespace has 50 workloads that are made to hurt, %d ConfigMaps and %d Secrets; "+
		"%d other namespaces have %d ordinary workloads. All flags have their defaults.\n\n", r.commit, r.Crowd+wideConfigs+2, r.Crowd, r.Namespaces, r.Ordinary)
	b.WriteString("| edits of all ordinary configs | rolled | median | slowest |\n|---|---:|---:|---:|\n")
	for _, o := range r.rounds {
		if len(o.took) > 0 {
			fmt.Fprintf(&b, "| %s | %d | %s | %s |\n", o.name, len(o.took), seconds(o.median()), seconds(o.slowest()))
		}
	}
	fmt.Fprintf(&b, "\nThe times are from the end of an edit to the changed pod template as the API server shows it; %s of them is the quiet window.\n\n", window)
	b.WriteString("| | without the tenant | next to it |\n|---|---:|---:|\n")
	fmt.Fprintf(&b, "| time to end | %s | %s |\n", seconds(r.stopAlone), seconds(r.stopBeside))
	fmt.Fprintf(&b, "| time from the start to ready | %s | %s |\n", seconds(r.readyAlone), seconds(r.readyBeside))
	fmt.Fprintf(&b, "| resident memory | %s | %s at most |\n\n", mb(r.memoryAlone), mb(r.memoryMost))
	r.listHeard(&b)
	fmt.Fprintf(&b, "\n%d faults.\n", len(r.faults))
	for i, fault := range r.faults {
		if i == shownFaults {
			fmt.Fprintf(&b, "\n… and %d more.\n", len(r.faults)-i)
			break
		}
		fmt.Fprintf(&b, "\n* %s", fault)
	}
	return b.String()
}

// listHeard lists what the tenant's workloads say.
func (r result) listHeard(b *strings.Builder) {
	b.WriteString("| workload of the tenant | says |\n|---|---|\n")
	r.each(func(_ trick, p place) {
		text := strings.Join(slices.DeleteFunc(strings.Split(r.heard[p.name], "\n"), func(s string) bool { return s == "" }), " / ")
		text = strings.NewReplacer("|", "\\|", "`", "'").Replace(text)
		fmt.Fprintf(b, "| `%s` | %s |\n", p.name, strings.ToValidUTF8(text[:min(len(text), shown)], ""))
	})
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
