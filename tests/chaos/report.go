package main

import (
	"fmt"
	"strings"
	"time"
)

// report is what a run has come to.
type report struct {
	options options
	// tormented is how long the torment took, and caughtUp how long after it the last missing mark came.
	tormented, caughtUp time.Duration
	rows                []row
	faults              []fault
}

// row is one figure.
type row struct {
	name  string
	value int64
}

// count returns how many faults are of a kind.
func count(faults []fault, kind string) int64 {
	var n int64
	for _, f := range faults {
		if f.Kind == kind {
			n++
		}
	}
	return n
}

func (c *course) report(tormented, caughtUp time.Duration, faults []fault) report {
	r := report{options: c.options, tormented: tormented, caughtUp: caughtUp, faults: faults}
	add := func(name string, value int64) { r.rows = append(r.rows, row{name, value}) }
	add("configs", int64(len(c.world.configs)))
	add("workloads", int64(len(c.world.workloads)))
	add("new contents written", c.writer.updates.Load())
	add("edits of a label alone", int64(c.writer.untouched))
	add("deleted and created again as before", int64(c.writer.recreated))
	add("specs of workloads written by somebody else", c.bystander.total())
	for _, p := range c.rig.programs {
		kills, ends := p.counts()
		add("SIGKILLs of "+p.name, int64(kills))
		add("ends of "+p.name+" by itself", int64(ends))
	}
	add("SIGKILLs of kube-apiserver", int64(c.tormentor.crashes))
	add("orderly restarts of kube-apiserver", int64(c.tormentor.restarts))
	if c.rig.link != nil {
		add("cuts between Reroll and NATS", c.tormentor.cuts)
	}
	p := c.rig.proxy
	add("audit batches at the proxy", p.batches.Load())
	add("batches thrown away", p.dropped.Load())
	add("batches cut off", p.cuts.Load())
	add("batches that ingest did not take", p.refused.Load())
	add("batches sent once more", p.repeats.Load())
	all, unseen := c.witness.rolls()
	add("template changes", all)
	add("of these counted, and not shown by a watch", unseen)
	for _, kind := range []string{lost, doubled, stale} {
		add(kind, count(faults, kind))
	}
	return r
}

// shownFaults bounds how many faults are listed.
const shownFaults = 20

// String returns the report in Markdown.
func (r report) String() string {
	var b strings.Builder
	o := r.options
	fmt.Fprintf(&b, "## %s, seed %d\n\n", o.shape(), o.Seed)
	fmt.Fprintf(&b, "`debounce.window=%s resyncInterval=%s rolloutLimits.flapLimit=0`; tormented for %s; the last missing mark came %s after it.\n\n",
		o.Window, o.Sweep, r.tormented.Round(time.Second), r.caughtUp.Round(100*time.Millisecond))
	b.WriteString("| what | count |\n|---|---:|\n")
	for _, row := range r.rows {
		fmt.Fprintf(&b, "| %s | %d |\n", row.name, row.value)
	}
	for i, f := range r.faults {
		if i == shownFaults {
			fmt.Fprintf(&b, "\n… and %d more.\n", len(r.faults)-i)
			break
		}
		fmt.Fprintf(&b, "\n* %s: %s: %s", f.Kind, f.Workload, f.Text)
	}
	return b.String()
}
