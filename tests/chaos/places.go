package main

import (
	"fmt"
	"os"
	"strings"
)

// place is a point in Reroll at which a process dies, just where it hurts: between two things that belong together.
type place struct {
	name string
	// file has the text at, once; the process dies right before it, or right after it.
	file, at string
	after    bool
}

// places are where processes die by name. What they do in between is there twice, or not at all, when the next one starts.
var places = []place{
	{"a batch is read and not stored", "ingest/webhook/handler.go", "\t\terr := h.opts.Sink.Put(ctx, result.Hints)\n", false},
	{"a batch is stored and not answered", "ingest/webhook/handler.go", "\t\terr := h.opts.Sink.Put(ctx, result.Hints)\n", true},
	{"a hint is delivered and not looked at", "dispatcher/verify.go", "\tvar errs []error\n\tfor _, target := range targets {\n", false},
	{"a change is found and not stored", "dispatcher/facts.go", "\tseq, err := d.Changes.AppendChange(ctx, change, last.Sequence)\n", false},
	{"a change is stored and nobody is told", "dispatcher/facts.go", "\tseq, err := d.Changes.AppendChange(ctx, change, last.Sequence)\n", true},
	{"a change is spread and its hint not acknowledged", "dispatcher/verify.go", "\t\tdel.Ack()\n\t\td.metrics.hints.WithLabelValues(result).Inc()\n", false},
	{"a roll is decided and not sent", "dispatcher/roll.go", "\trolled, err := d.Workloads.Roll(ctx, target, strategy.Roll{\n", false},
	{"a workload is patched and nobody knows", "dispatcher/roll.go", "\tif err == nil && target != w {\n", false},
	{"a reload is due to be stored", "dispatcher/settle.go", "\t\tif err := d.Records.AppendReload(ctx, r); err != nil {\n", false},
	{"a reload is stored and not announced", "dispatcher/settle.go", "\t\td.Announcer.Announce(f.w, r)\n", false},
	{"a reload is on record and its workload's record is old", "dispatcher/settle.go", "\t\terr = d.Records.PutWorkload(ctx, *record)\n", false},
	{"a workload's record is stored", "dispatcher/settle.go", "\t\terr = d.Records.PutWorkload(ctx, *record)\n", true},
}

// deathsEnv names the file in which a process writes where it dies. Each process dies at one place: that after the last one in the file.
const deathsEnv = "CHAOS_DEATHS"

// deadly returns what makes Reroll die at the places.
func deadly() mistake {
	m := mistake{name: "dies at named places", edits: []edit{{file: "reloader/die.go", to: fmt.Sprintf(dieSource, deathsEnv, len(places))}}}
	var texts []edit
	for i, p := range places {
		die := fmt.Sprintf("reloader.Die(%d, %q)\n", i, p.name)
		to := die + p.at
		if p.after {
			to = p.at + die
		}
		texts = merged(texts, edit{p.file, p.at, to}, p)
	}
	m.edits = append(m.edits, texts...)
	return m
}

// merged adds e to edits, or to the one that is about the same text.
func merged(edits []edit, e edit, p place) []edit {
	for i, o := range edits {
		if o.file != e.file || o.from != e.from {
			continue
		}
		if p.after {
			edits[i].to += strings.TrimPrefix(e.to, p.at)
		} else {
			edits[i].to = strings.TrimSuffix(e.to, p.at) + o.to
		}
		return edits
	}
	return append(edits, e)
}

// dieSource is a file of Reroll: the name of the environment variable and the number of places are to be filled in.
const dieSource = `package reloader

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"syscall"
)

var (
	deaths = os.Getenv(%q)
	chosen = next()
	passes atomic.Int64
	last   = 1 + rand.Int64N(12)
)

func next() int {
	said, _ := os.ReadFile(deaths)
	return bytes.Count(said, []byte("\n")) %% %d
}

// Die ends the process at its last pass of the place that was chosen for it.
func Die(place int, name string) {
	if deaths == "" || place != chosen || passes.Add(1) != last {
		return
	}
	f, err := os.OpenFile(deaths, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(f, name)
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}
`

// countDeaths returns how often a process has died at each place, as file says.
func countDeaths(file string) (map[string]int, error) {
	said, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	count := map[string]int{}
	for line := range strings.Lines(string(said)) {
		count[strings.TrimSpace(line)]++
	}
	return count, nil
}
