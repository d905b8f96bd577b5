package workload

import "sync"

// Parsed keeps what was made of the texts of annotations, so that each is parsed once for each version of a workload, and not once for each
// config that the workload depends on. The nil Parsed keeps nothing.
type Parsed struct {
	mu sync.Mutex
	of map[any]parsed
}

type parsed struct {
	text  string
	value any
}

// Equal makes two versions of a workload equal whatever has been parsed of them.
func (*Parsed) Equal(*Parsed) bool { return true }

// Parse returns what parse makes of text. use names the annotation and what it is read as: the result is kept under it until it is asked for
// with another text.
func Parse[T any](w *Workload, use any, text string, parse func(text string) T) T {
	p := w.Parsed
	if p == nil {
		return parse(text)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if known, ok := p.of[use]; ok && known.text == text {
		if value, ok := known.value.(T); ok {
			return value
		}
	}
	value := parse(text)
	if p.of == nil {
		p.of = map[any]parsed{}
	}
	p.of[use] = parsed{text, value}
	return value
}
