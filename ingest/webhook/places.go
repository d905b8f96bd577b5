package webhook

import "sync"

// places are those of the bodies of one route that are read or stored at a time: a number of bodies, and so many bytes of them all
// together. A body counts with its length or, if that is more, with the memory that it has claimed: one that is compressed, or holds texts
// that are, takes many times its length.
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

// grow adds to the bytes of a body, and reports whether there were so many. A body that is alone always has them: its own limits bound it.
func (p *places) grow(bytes int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bodies > 1 && p.bytes+bytes > p.maxBytes {
		return false
	}
	p.bytes += bytes
	return true
}

// place is that of one body.
type place struct {
	of *places
	// taken are the bytes that it counts with, and claimed those that it needs.
	taken, claimed int64
}

// claim reports whether the body may have so many bytes more.
func (p *place) claim(bytes int64) bool {
	beyond := p.claimed + bytes - p.taken
	if beyond > 0 && !p.of.grow(beyond) {
		return false
	}
	p.claimed += bytes
	p.taken += max(0, beyond)
	return true
}

func (p *place) leave() { p.of.leave(p.taken) }

// leave gives back what take took.
func (p *places) leave(length int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bodies--
	p.bytes -= length
}
