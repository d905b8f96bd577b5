package kube

import (
	"fmt"
	"io"
	"runtime"
	"time"
)

// What building takes when nothing is cached, as CPU time: measured for Kubernetes v1.36.3. Only the estimates depend on them.
const (
	timePerPackage = 200 * time.Millisecond
	timePerLink    = 8 * time.Second
)

// meterEvery is the least time between two lines about the same part.
const meterEvery = 10 * time.Second

// meter reports how far a build is.
type meter struct {
	out      io.Writer
	packages map[string]bool
	total    int
	parts    int

	part Part
	// number counts the parts that were begun, links those that are not finished.
	number  int
	links   int
	started time.Time
	printed time.Time
}

func newMeter(out io.Writer, stale map[string]bool, parts int) *meter {
	return &meter{out: out, packages: stale, total: len(stale), parts: parts, links: parts, started: time.Now()}
}

func (m *meter) begin(part Part) {
	m.part = part
	m.number++
	m.print("building")
}

func (m *meter) end() {
	m.links--
	m.print("built")
}

// compiled takes a line that the go command wrote, and reports whether it is the name of a package that was to be compiled; others
// do not count.
func (m *meter) compiled(line string) bool {
	if !m.packages[line] {
		return false
	}
	delete(m.packages, line)
	if time.Since(m.printed) >= meterEvery {
		m.print("building")
	}
	return true
}

func (m *meter) print(what string) {
	m.printed = time.Now()
	elapsed := m.printed.Sub(m.started)
	done := m.total - len(m.packages)
	whole := elapsed + remaining(elapsed, done, m.total, m.links, runtime.NumCPU())
	fmt.Fprintf(m.out, "kube: %s %s (%d of %d), %d of %d packages compiled, %s of about %s\n",
		what, m.part, m.number, m.parts, done, m.total, elapsed.Round(time.Second), whole.Round(time.Second))
}

// remaining estimates how much longer a build takes of which done of total packages took elapsed and that has links programs left
// to link. The further it is, the more its own speed counts.
func remaining(elapsed time.Duration, done, total, links, cpus int) time.Duration {
	perPackage := float64(timePerPackage) / float64(cpus)
	if done > 0 {
		weight := float64(done) / float64(total)
		perPackage = perPackage*(1-weight) + float64(elapsed)/float64(done)*weight
	}
	return time.Duration(perPackage*float64(total-done)) + time.Duration(links)*timePerLink
}
