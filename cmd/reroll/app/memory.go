package app

import (
	"os"
	"runtime/debug"

	"github.com/reroll-dev/reroll/api/projection"
)

// apiGarbage is how much garbage a process of the role api keeps at most beside what is in use, in percent. Nearly all that it has in use is
// its projection, which hardly changes: as much again, which Go's own choice would let it keep, is more than answers need. Who also
// ingests or dispatches keeps that.
const apiGarbage = 25

// saveMemory bounds the garbage of a process that does nothing but answer, unless the environment does so.
func (p *program) saveMemory() {
	if os.Getenv("GOGC") == "" && !p.role.ingest && !p.role.dispatch {
		debug.SetGCPercent(apiGarbage)
	}
}

// caughtUp says that all that is stored was read, and first gives back the memory that only the reading took: several times what is kept.
func caughtUp(records *projection.Projection) {
	records.Settle()
	debug.FreeOSMemory()
	records.SetCaughtUp()
}
