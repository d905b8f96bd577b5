package dispatcher

import (
	"bytes"
	"math"
	"testing"

	"github.com/reroll-dev/reroll/reloader/dialect"
)

// FuzzProof: whatever a pod answers, a metric grows by what is added to it, and a version proves something only if it is there.
func FuzzProof(f *testing.F) {
	f.Add([]byte("# TYPE m counter\nm{a=\"b c\"} 3 1700000000\nm 4e2\nmm 5\n m 6\nm NaN"))
	f.Add([]byte("the version is 4711, or x42y"))
	f.Add([]byte("m{ 1\nm} 2\nm{}} 3\r\nm\t-Inf"))
	f.Fuzz(func(t *testing.T, answer []byte) {
		before, after := sumOf(answer, "m"), sumOf(append(bytes.Clone(answer), "\nm{x=\"y\"} 5\n"...), "m")
		if math.Abs(before) < 1e12 && after != before+5 {
			t.Errorf("the metric is %v, and then %v", before, after)
		}
		a := asking{how: &dialect.Hot{}, versions: []string{"42"}}
		if a.proves(0, answer) && !bytes.Contains(answer, []byte("42")) || a.proves(0, append(bytes.Clone(answer), '4', '2', '0')) && !a.proves(0, answer) {
			t.Error("it proves a version that it does not have")
		}
	})
}
