package main

import (
	"fmt"
	"strings"
	"time"
)

// report is what a run has come to.
type report struct {
	options options
	// caughtUp is how long after the torment the last missing mark came.
	caughtUp time.Duration
	table    string
	faults   []fault
}

// count returns how many faults are of a kind.
func count(faults []fault, kind string) (n int) {
	for _, f := range faults {
		if f.Kind == kind {
			n++
		}
	}
	return n
}

func (c *course) report(caughtUp time.Duration, faults []fault) report {
	var rows strings.Builder
	add := func(name string, value any) { fmt.Fprintf(&rows, "| %s | %v |\n", name, value) }
	add("configs", len(c.world.configs))
	add("workloads", len(c.world.workloads))
	add("new contents written", c.writer.updates.Load())
	add("edits of a label alone", c.writer.untouched)
	add("deleted and created again as before", c.writer.recreated)
	add("specs of workloads written by somebody else", c.bystander.total())
	add("contents of the workload that reloads without a restart, and calls to its pods", fmt.Sprint(len(c.hot.writes), ", ", c.hot.asked))
	for _, p := range c.rig.programs {
		kills, ends := p.counts()
		add("SIGKILLs of "+p.name+", and ends by itself", fmt.Sprint(kills, ", ", ends))
	}
	add("SIGKILLs and orderly restarts of kube-apiserver", fmt.Sprint(c.tormentor.crashes, ", ", c.tormentor.restarts))
	add("cuts between Reroll and NATS", c.tormentor.cuts)
	p := c.rig.proxy
	add("audit batches at the proxy", p.batches.Load())
	add("batches thrown away, cut off, not taken by ingest, sent once more", fmt.Sprint(p.dropped.Load(), ", ", p.cuts.Load(), ", ", p.refused.Load(), ", ", p.repeats.Load()))
	all, unseen := c.witness.rolls()
	add("template changes, of these counted and not shown by a watch", fmt.Sprint(all, ", ", unseen))
	for _, kind := range []string{lost, doubled, stale} {
		add(kind, count(faults, kind))
	}
	return report{options: c.options, caughtUp: caughtUp, table: rows.String(), faults: faults}
}

// shownFaults bounds how many faults are listed.
const shownFaults = 20

// String returns the report in Markdown.
func (r report) String() string {
	o := r.options
	text := fmt.Sprintf("## %s, seed %d\n\n`debounce.window=%s resyncInterval=%s rolloutLimits.flapLimit=0`; tormented for %s; the last missing mark came %s after it.\n\n| what | count |\n|---|---:|\n%s",
		o.shape(), o.Seed, o.Window, o.Sweep, o.Time, r.caughtUp.Round(100*time.Millisecond), r.table)
	for i, f := range r.faults {
		if i == shownFaults {
			return text + fmt.Sprintf("\n… and %d more.\n", len(r.faults)-i)
		}
		text += fmt.Sprintf("\n* %s: %s: %s", f.Kind, f.Workload, f.Text)
	}
	return text
}
