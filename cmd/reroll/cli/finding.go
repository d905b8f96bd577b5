package cli

import (
	"encoding/json"
	"io"
	"slices"
)

// grade is what an examination comes to.
type grade string

// The verdicts of a finding.
const (
	fine    grade = "OK"
	careful grade = "Warning"
	wrong   grade = "Wrong"
	skipped grade = "Skipped"
	// unclear is what could not be found out.
	unclear grade = "Unknown"
)

// finding is what was examined, how it is, and how to mend it.
type finding struct {
	Check   string `json:"check"`
	Verdict grade  `json:"verdict"`
	Message string `json:"message"`
	Mend    string `json:"mend,omitempty"`
}

// findings are those of one examination.
type findings []finding

func (f *findings) add(check string, v grade, message, mend string) {
	*f = append(*f, finding{check, v, message, mend})
}

// has reports whether some finding has a verdict.
func (f findings) has(v grade) bool {
	for _, one := range f {
		if one.Verdict == v {
			return true
		}
	}
	return false
}

// signs stand for verdicts.
var signs = map[grade]cell{
	fine: {"✓ ", good}, careful: {"! ", warn}, wrong: {"✗ ", bad}, skipped: {"- ", faint}, unclear: {"? ", warn},
}

func (f findings) answer() (answer, error) {
	body, err := json.Marshal(map[string]any{"findings": f})
	return answer{body: body, names: f.troubled(), show: func(w io.Writer, wide, headers, colours bool) error {
		if wide {
			return f.table().write(w, true, headers, colours)
		}
		l := newLines(w, colours)
		for _, one := range f {
			l.add(signs[one.Verdict], cell{one.Check + ": ", bold}, text(one.Message))
			if one.Mend != "" {
				l.add(text("    → " + one.Mend))
			}
		}
		return l.err
	}}, err
}

// union returns a, and those of b that are not among them.
func union(a, b []string) []string {
	return slices.Concat(a, slices.DeleteFunc(slices.Clone(b), func(s string) bool { return slices.Contains(a, s) }))
}

// troubled names the checks that are neither OK nor skipped.
func (f findings) troubled() (checks []string) {
	for _, one := range f {
		if one.Verdict != fine && one.Verdict != skipped {
			checks = union(checks, []string{one.Check})
		}
	}
	return checks
}

func (f findings) table() *table {
	t := &table{columns: []column{{name: "VERDICT"}, {name: "CHECK"}, {name: "MESSAGE"}, {name: "MEND"}}}
	for _, one := range f {
		t.add(cell{string(one.Verdict), signs[one.Verdict].style}, text(one.Check), text(one.Message), text(orDash(one.Mend)))
	}
	return t
}
