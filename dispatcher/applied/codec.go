package applied

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// The annotation is one line of words: the UID, the format, N, At in seconds, Mark after a hyphen, Rolls in hundredths, Requested after a
// hyphen, one word for each config, and a checksum. A text that is cut
// short or edited does not have the checksum.
const (
	format = "v1"
	// maxNamed is how many entries have the names of their configs. If there are more, all have a hash of the name.
	maxNamed = 128
	// maxText is the size of all annotations of an object, and maxWord that of the parts of an entry.
	maxText = 256 << 10
	maxWord = 64
	// heads is how many words come before those of configs.
	heads = 7
	// maxN leaves room for the next roll.
	maxN = 1 << 62
)

// Errors of Parse and ParseLedger.
var (
	// ErrDamaged means that the text is not one that Reroll wrote.
	ErrDamaged = errors.New("the text is damaged or was edited")
	// ErrAnother means that the text is that of another workload, as a copy has it.
	ErrAnother = errors.New("the text is that of another workload")
	// ErrNewer means that a newer version of Reroll wrote the text.
	ErrNewer = errors.New("the text is of a newer version of Reroll")
	// ErrTooLong means that the text is longer than any that Reroll writes.
	ErrTooLong = errors.New("the text is too long")
)

// Annotation returns the value of Key for s.
func (s State) Annotation() string {
	words := []string{
		s.Workload, format, strconv.FormatUint(s.N, 10), strconv.FormatInt(seconds(s.At), 10), "-" + s.Mark,
		strconv.FormatInt(hundredths(s.Rolls), 10), "-" + s.Requested,
	}
	short := len(s.Writes) > maxNamed
	for c, w := range s.Writes.All() {
		switch {
		case w.Out:
		case short:
			words = append(words, nameHash(c)+"="+w.text())
		default:
			words = append(words, c.String()+"="+w.text())
		}
	}
	slices.Sort(words[heads:])
	text := strings.Join(words, " ")
	return text + " " + checksum(text)
}

// Parse reads the value of Key of the workload with a UID; NoUID for a Job. An empty text gives the zero State. More than 128 entries have
// no names, so those are read that are of one of wanted.
func Parse(text, uid string, wanted []reloader.Config) (State, error) {
	if text == "" {
		return State{}, nil
	}
	if len(text) > maxText {
		return State{}, ErrTooLong
	}
	words := strings.Split(text, " ")
	switch {
	case len(words) < 2:
		return State{}, ErrDamaged
	case words[0] != uid:
		return State{}, ErrAnother
	case words[1] != format && isFormat(words[1]):
		return State{}, ErrNewer
	}
	last := len(words) - 1
	if last < heads || checksum(strings.Join(words[:last], " ")) != words[last] {
		return State{}, ErrDamaged
	}
	n, err := strconv.ParseUint(words[2], 10, 64)
	at, err2 := strconv.ParseInt(words[3], 10, 64)
	mark, hyphen := strings.CutPrefix(words[4], "-")
	rolls, err3 := strconv.ParseUint(words[5], 10, 32)
	requested, hyphen2 := strings.CutPrefix(words[6], "-")
	if errors.Join(err, err2, err3) != nil || n > maxN || !hyphen || !isPlain(mark) || !hyphen2 || !isPlain(requested) {
		return State{}, ErrDamaged
	}
	hashed := make(map[string]reloader.Config, len(wanted))
	for _, c := range wanted {
		hashed[nameHash(c)] = c
	}
	s := State{Workload: uid, N: n, At: timeOf(at), Mark: mark, Rolls: float64(rolls) / 100, Requested: requested}
	for _, word := range words[heads:last] {
		name, value, _ := strings.Cut(word, "=")
		w, ok := parseWrite(value)
		c, wants := hashed[name]
		if strings.Contains(name, "/") {
			c, wants = parseConfig(name)
			ok = ok && wants
		}
		if _, twice := s.Writes.Find(c); !ok || w.Out || wants && twice {
			return State{}, ErrDamaged
		}
		if wants {
			s.Writes.Set(c, w)
		}
	}
	return s, nil
}

// record is the text of a State in the ledger.
type record struct {
	Format   string            `json:"format"`
	Workload string            `json:"workload"`
	N        uint64            `json:"n,omitempty"`
	At       int64             `json:"at,omitempty"`
	Mark     string            `json:"mark,omitempty"`
	Rolls    int64             `json:"rolls,omitempty"`
	Noted    int64             `json:"noted,omitempty"`
	Listed   int64             `json:"listed,omitempty"`
	Writes   map[string]string `json:"writes,omitempty"`
	// Requested and Retried are those of State.
	Requested string `json:"requested,omitempty"`
	Retried   string `json:"retried,omitempty"`
}

// Ledger returns the text of s for the ledger: JSON.
func (s State) Ledger() string {
	r := record{
		format, s.Workload, s.N, seconds(s.At), s.Mark, hundredths(s.Rolls), seconds(s.Noted), seconds(s.Listed),
		make(map[string]string, len(s.Writes)), s.Requested, s.Retried,
	}
	for c, w := range s.Writes.All() {
		r.Writes[c.String()] = w.text()
	}
	text, _ := json.Marshal(r) // strings and numbers
	return string(text)
}

// ParseLedger reads the text of a workload with a UID from the ledger. An empty text gives the zero State.
func ParseLedger(text, uid string) (State, error) {
	if text == "" {
		return State{}, nil
	}
	var r record
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return State{}, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	switch {
	case r.Format != format && isFormat(r.Format):
		return State{}, ErrNewer
	case r.Format != format, r.N > maxN, !isPlain(r.Mark + r.Requested + r.Retried):
		return State{}, ErrDamaged
	case r.Workload != uid || uid == "":
		return State{}, ErrAnother
	}
	s := State{
		Workload: uid, N: r.N, At: timeOf(r.At), Mark: r.Mark, Rolls: float64(max(0, r.Rolls)) / 100,
		Noted: timeOf(r.Noted), Listed: timeOf(r.Listed), Requested: r.Requested, Retried: r.Retried,
		Writes: make(reloader.ByConfig[Write], 0, len(r.Writes)),
	}
	for name, value := range r.Writes {
		c, ok := parseConfig(name)
		w, fine := parseWrite(value)
		if !ok || !fine {
			return State{}, ErrDamaged
		}
		s.Writes.Set(c, w)
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

// parseConfig reads what Config.String returned.
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

func checksum(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:4])
}

// isFormat reports whether text names a format of this or another version.
func isFormat(text string) bool {
	return len(text) < maxWord && strings.HasPrefix(text, "v") && isNumber(text[1:])
}

func seconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

// hundredths returns a count of rolls as the texts have it.
func hundredths(rolls float64) int64 { return int64(math.Round(rolls * 100)) }

func timeOf(seconds int64) time.Time {
	if seconds <= 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}
