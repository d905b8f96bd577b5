package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// What must hold next to the tenant. The times are those of a machine with little else to do; on a busy one the control run tells how
// slow it is.
const (
	// window is the default of --coalesce-window, and rollWithin the time after it in which every ordinary workload rolls.
	window, rollWithin = time.Second, 2 * time.Second
	// readyWithin is the time in which a started process is ready.
	readyWithin = 10 * time.Second
	// slower is how many times as long as in the control run it may take, where that is more.
	slower = 3
	// memoryBound is what docs/production.md states.
	memoryBound = 1 << 30
)

// judge adds what was seen and must not be to the faults.
func (s *site) judge() {
	r := s.r
	r.faults = append(r.faults, s.seen.extra(s.others.edits)...)
	if r.memoryMost > memoryBound {
		r.fault("%s resident, more than %s", mb(r.memoryMost), mb(memoryBound))
	}
	if !s.Timed {
		return
	}
	alone := r.rounds[0].slowest()
	for _, round := range r.rounds[1:] {
		if most := max(window+rollWithin, slower*alone); len(round.took) > 0 && round.slowest() > most {
			r.fault("%s the slowest ordinary workload rolled %s after its edit, more than %s", round.name, seconds(round.slowest()), seconds(most))
		}
	}
	if most := max(readyWithin, slower*r.readyAlone); r.readyBeside > most {
		r.fault("ready after %s, more than %s", seconds(r.readyBeside), seconds(most))
	}
}

// note takes down how much memory the process has had resident at most.
func (s *site) note() { s.r.memoryMost = max(s.r.memoryMost, s.field("VmHWM:")) }

// memory returns how much memory the process has resident, in bytes.
func (s *site) memory() int64 { return s.field("VmRSS:") }

// field reads a figure of the process from the kernel; 0 where the kernel does not tell.
func (s *site) field(name string) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.l.Reroll.PID()))
	if err != nil {
		return 0
	}
	for text := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(text, name); ok {
			kb, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kb << 10
		}
	}
	return 0
}

func mb(n int64) string { return fmt.Sprintf("%d MB", n>>20) }
