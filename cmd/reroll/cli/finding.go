package cli

import "slices"

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

// finding is what was examined, how it is, and how to fix it.
type finding struct {
	Check   string `json:"check"`
	Verdict grade  `json:"verdict"`
	Message string `json:"message"`
	Fix     string `json:"fix,omitempty"`
}

type findings []finding

func (f *findings) add(check string, v grade, message, fix string) {
	*f = append(*f, finding{check, v, message, fix})
}

func (f findings) has(v grade) bool {
	return slices.ContainsFunc(f, func(one finding) bool { return one.Verdict == v })
}

var signs = map[grade]cell{
	fine: {"✓ ", good}, careful: {"! ", alert}, wrong: {"✗ ", bad}, skipped: {"- ", faint}, unclear: {"? ", alert},
}

func (f findings) answer() answer {
	return answer{body: map[string]any{"findings": f}, names: f.troubled(), show: func(l *lines, _ bool) { f.show(l) }}
}

func (f findings) show(l *lines) {
	for _, one := range f {
		l.add(signs[one.Verdict], cell{one.Check + ": ", bold}, text(one.Message))
		if one.Fix != "" {
			l.add(text("    → " + one.Fix))
		}
	}
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
