package applied

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

const (
	format = "v1"
	// maxNamed is how many entries the annotation has by the names of their configs. If there are more, all have a hash of the name.
	maxNamed = 128
	// maxWord is the size of the parts of an entry.
	maxWord = 64
	// maxN leaves room for the next roll.
	maxN = 1 << 62
	// maxRolls bounds Rolls, so that a wrong count is forgotten within days.
	maxRolls = 10_000
)

// Errors of Parse.
var (
	// ErrDamaged means that the text is not one that this version of Reroll wrote.
	ErrDamaged = errors.New("the text is damaged, was edited, or is of another version of Reroll")
	// ErrAnother means that the text is that of another workload, as a copy has it.
	ErrAnother = errors.New("the text is that of another workload")
)

// record is the text of a State: JSON. Times have seconds, Rolls are hundredths. Check is a checksum of the rest, which a text that was cut short or
// edited does not have.
type record struct {
	Format   string            `json:"format"`
	Workload string            `json:"workload"`
	N        uint64            `json:"n,omitempty"`
	At       time.Time         `json:"at,omitzero"`
	Mark     string            `json:"mark,omitempty"`
	Rolls    int64             `json:"rolls,omitempty"`
	Noted    time.Time         `json:"noted,omitzero"`
	Listed   time.Time         `json:"listed,omitzero"`
	Writes   map[string]string `json:"writes,omitempty"`
	// Requested and Retried are those of State.
	Requested string `json:"requested,omitempty"`
	Retried   string `json:"retried,omitempty"`
	Check     string `json:"check"`
}

// Ledger returns the text of s for the ledger.
func (s State) Ledger() string { return s.text(reloader.Config.String) }

// Annotation returns the value of Key for s: what is in the ledger alone is left out.
func (s State) Annotation() string {
	s.Noted, s.Listed, s.Retried, s.Writes = time.Time{}, time.Time{}, "", s.wanted()
	if len(s.Writes) > maxNamed {
		return s.text(nameHash)
	}
	return s.text(reloader.Config.String)
}

func (s State) text(name func(reloader.Config) string) string {
	r := record{
		Format: format, Workload: s.Workload, N: s.N, At: utc(s.At), Mark: s.Mark, Rolls: int64(math.Round(s.Rolls * 100)),
		Noted: utc(s.Noted), Listed: utc(s.Listed), Writes: make(map[string]string, len(s.Writes)), Requested: s.Requested, Retried: s.Retried,
	}
	for c, w := range s.Writes.All() {
		r.Writes[name(c)] = w.text()
	}
	r.Check = r.sum()
	text, _ := json.Marshal(r) // strings and numbers
	return string(text)
}

func (r record) sum() string {
	r.Check = ""
	text, _ := json.Marshal(r)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:4])
}

// Parse reads the text of the workload with a UID; NoUID for the annotation of a Job. An empty text gives the zero State. An annotation of more than 128
// entries has no names, so those are read that are of one of wanted.
func Parse(text, uid string, wanted []reloader.Config) (State, error) {
	if text == "" {
		return State{}, nil
	}
	var r record
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return State{}, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	switch {
	case r.Format != format, r.Check != r.sum(), r.N > maxN, !isPlain(r.Mark), !isPlain(r.Requested), !isPlain(r.Retried):
		return State{}, ErrDamaged
	case r.Workload != uid || uid == "":
		return State{}, ErrAnother
	}
	hashed := make(map[string]reloader.Config, len(wanted))
	for _, c := range wanted {
		hashed[nameHash(c)] = c
	}
	s := State{
		Workload: uid, N: r.N, At: r.At, Mark: r.Mark, Rolls: float64(min(max(0, r.Rolls), 100*maxRolls)) / 100,
		Noted: r.Noted, Listed: r.Listed, Requested: r.Requested, Retried: r.Retried,
		Writes: make(reloader.ByConfig[Write], 0, len(r.Writes)),
	}
	for name, value := range r.Writes {
		c, known := hashed[name]
		if strings.Contains(name, "/") {
			if c, known = parseConfig(name); !known {
				return State{}, ErrDamaged
			}
		}
		w, fine := parseWrite(value)
		if !fine {
			return State{}, ErrDamaged
		}
		if known {
			s.Writes.Set(c, w)
		}
	}
	return s, nil
}

// text returns w as parts with commas between them, without empty ones at the end.
func (w Write) text() string {
	parts := []string{w.Version, w.KeyID, w.Sum, w.Used, w.Filter, ""}
	if w.Out {
		parts[5] = "out"
	}
	return strings.TrimRight(strings.Join(parts, ","), ",")
}

func parseWrite(text string) (Write, bool) {
	parts := append(strings.SplitN(text, ",", 7), "", "", "", "", "", "")
	for _, p := range parts {
		if !isPlain(p) {
			return Write{}, false
		}
	}
	w := Write{Version: parts[0], KeyID: parts[1], Sum: parts[2], Used: parts[3], Filter: parts[4], Out: parts[5] == "out"}
	return w, w.text() == text
}

// isPlain reports whether text is short and has no character that separates.
func isPlain(text string) bool {
	const plain = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._/:-"
	return len(text) <= maxWord && strings.Trim(text, plain) == ""
}

func parseConfig(text string) (reloader.Config, bool) {
	parts := strings.Split(text, "/")
	if len(parts) == 3 {
		parts = append([]string{""}, parts...)
	}
	if len(parts) != 4 {
		return reloader.Config{}, false
	}
	c := reloader.Config{Cluster: parts[0], Kind: reloader.ConfigKind(parts[1]), Namespace: parts[2], Name: parts[3]}
	return c, c.Validate() == nil && c.Name != "" && c.String() == text
}

// nameHash returns eight characters that stand for the name of c.
func nameHash(c reloader.Config) string {
	sum := sha256.Sum256([]byte(c.String()))
	return base64.RawURLEncoding.EncodeToString(sum[:6])
}

func utc(t time.Time) time.Time { return t.Truncate(time.Second).UTC() }
