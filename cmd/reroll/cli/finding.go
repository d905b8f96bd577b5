package cli

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"slices"
	"time"
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

// soon is how long before its end a certificate is to be renewed at the latest.
const soon = 30 * 24 * time.Hour

// checkCertificates examines the dates of all certificates in PEM, and returns the first.
func (f *findings) checkCertificates(check string, content []byte, now time.Time) *x509.Certificate {
	var first *x509.Certificate
	for {
		var block *pem.Block
		if block, content = pem.Decode(content); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			f.add(check, wrong, "a certificate cannot be read", "issue it again")
			continue
		}
		f.checkDates(check, certificate, now)
		if first == nil {
			first = certificate
		}
	}
	if first == nil {
		f.add(check, wrong, "there is no certificate in PEM", "give the file that has it")
	}
	return first
}

func (f *findings) checkDates(check string, c *x509.Certificate, now time.Time) {
	name := c.Subject.CommonName
	if name == "" && len(c.DNSNames) > 0 {
		name = c.DNSNames[0]
	}
	switch left := c.NotAfter.Sub(now); {
	case now.Before(c.NotBefore):
		f.add(check, wrong, fmt.Sprintf("%s is not valid before %s", name, exactly(c.NotBefore)), "look at the clocks")
	case left <= 0:
		f.add(check, wrong, fmt.Sprintf("%s has expired on %s", name, exactly(c.NotAfter)), "issue it again; the API server and Reroll read a changed file by themselves")
	case left < soon:
		f.add(check, careful, fmt.Sprintf("%s expires in %d days, on %s", name, int(left.Hours()/24), exactly(c.NotAfter)), "issue it again; the API server and Reroll read a changed file by themselves")
	default:
		f.add(check, fine, fmt.Sprintf("%s is valid until %s", name, exactly(c.NotAfter)), "")
	}
}
