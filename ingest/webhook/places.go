package webhook

import "sync"

// places are those of the bodies of one route that are read or stored at a time: a number of bodies, and so many bytes of them all together.
type places struct {
	maxBodies int
	maxBytes  int64

	mu     sync.Mutex
	bodies int
	bytes  int64
}

// take takes a place for a body of some length, and reports whether there was one. A body that is alone always has one.
func (p *places) take(length int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bodies >= p.maxBodies || p.bodies > 0 && p.bytes+length > p.maxBytes {
		return false
	}
	p.bodies++
	p.bytes += length
	return true
}

// leave gives back what take took.
func (p *places) leave(length int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bodies--
	p.bytes -= length
}
