package reloader

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// WireVersion is the version that this program writes. It reads every version up to this one; see testdata/wire.
const WireVersion = 1

// MaxWireBytes bounds any encoded record.
const MaxWireBytes = 512 << 10

// ErrNewerVersion means that a record was written by a later program. It is not dropped without a word.
var ErrNewerVersion = errors.New("record of a newer version")

// Record is what can be put on the wire.
type Record interface {
	Hint | Change | Reload | WorkloadRecord | ClusterStatus | Position | Want | Copy
}

// Encode returns r as JSON with its version, in at most MaxWireBytes. A Change, a Reload, a WorkloadRecord or a Copy that has more is
// encoded without details, and with as many entries of its list as have room, and says so in Shortened. Whatever else has more is an error.
func Encode[R Record](r R) ([]byte, error) {
	data, err := encode(r)
	for most := maxShortList; err == nil && len(data) > MaxWireBytes && most > 0; most /= 2 {
		short, ok := any(&r).(shortener)
		if !ok {
			break
		}
		short.shorten(most)
		data, err = encode(r)
	}
	if err == nil && len(data) > MaxWireBytes {
		err = fmt.Errorf("encode %T: %d bytes exceed the limit of %d", r, len(data), MaxWireBytes)
	}
	return data, err
}

func encode(r any) ([]byte, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", r, err)
	}
	return append(fmt.Appendf(nil, `{"v":%d,`, WireVersion), body[1:]...), nil
}

const (
	// maxShortList is the most entries of a list in a record that is too large, and maxShortText the most bytes of a text for people.
	maxShortList, maxShortText = 1024, 1 << 10
)

// shortener is a record that may be too large for the store, and that still says something without its details. shorten changes nothing that the record
// refers to.
type shortener interface{ shorten(most int) }

// shorten leaves out all keys or none: a list of some would say that the others have not changed.
func (c *Change) shorten(int) {
	c.Candidates, c.Old.Keys, c.New.Keys, c.Keys, c.Shortened = nil, nil, nil, nil, true
}

func (c *Copy) shorten(most int) { c.Change.shorten(most) }

func (r *Reload) shorten(most int) {
	r.Causes = slices.Clone(r.Causes[:min(most, len(r.Causes))])
	for i := range r.Causes {
		r.Causes[i].Candidates, r.Causes[i].Keys = nil, nil
	}
	r.Message, r.Rollout, r.Shortened = cut(r.Message), r.Rollout.shortened(), true
}

func (r *WorkloadRecord) shorten(most int) {
	r.Edges = slices.Clone(r.Edges[:min(most, len(r.Edges))])
	for i := range r.Edges {
		r.Edges[i].Uses = nil
	}
	problems := []string{fmt.Sprintf("the record of the workload is too large for the store: it has the first %d dependencies, without their places in the pod template", len(r.Edges))}
	for _, p := range r.Problems {
		if !r.Shortened || p != r.Problems[0] {
			problems = append(problems, cut(p))
		}
	}
	r.Problems, r.Keys, r.Missing = problems, "", nil
	if r.Hold != nil {
		hold := *r.Hold
		hold.Message = cut(hold.Message)
		r.Hold = &hold
	}
	r.Rollout, r.Shortened = r.Rollout.shortened(), true
}

func (r *Rollout) shortened() *Rollout {
	if r == nil {
		return nil
	}
	short := *r
	short.Message = cut(short.Message)
	return &short
}

func cut(text string) string { return strings.ToValidUTF8(text[:min(len(text), maxShortText)], "") }

// Decode reads what Encode of this or an earlier version wrote and checks the names in it. Unknown fields are ignored, so that
// a program can be rolled back. The error wraps ErrNewerVersion if data is from a later program.
func Decode[R Record](data []byte) (R, error) {
	var r R
	if len(data) > MaxWireBytes {
		return r, fmt.Errorf("decode %T: %d bytes exceed the limit of %d", r, len(data), MaxWireBytes)
	}
	if err := checkVersion(data); err != nil {
		return r, fmt.Errorf("decode %T: %w", r, err)
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return r, fmt.Errorf("decode %T: %w", r, err)
	}
	if err := validate(r); err != nil {
		return r, fmt.Errorf("decode %T: %w", r, err)
	}
	return r, nil
}

// current is how everything begins that this version writes.
var current = fmt.Appendf(nil, `{"v":%d,`, WireVersion)

// checkVersion reports whether this version can read data.
func checkVersion(data []byte) error {
	if bytes.HasPrefix(data, current) {
		return nil
	}
	var head struct {
		V int `json:"v"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return err
	}
	switch {
	case head.V > WireVersion:
		return fmt.Errorf("%w: %d", ErrNewerVersion, head.V)
	case head.V < 1:
		return errors.New("no version")
	}
	return nil
}

func validate(r any) error {
	switch r := r.(type) {
	case Hint:
		return errors.Join(ValidateCluster(r.Cluster), r.Config.Validate(), r.validateText())
	case Change:
		return errors.Join(ValidateCluster(r.Cluster), r.Config.Validate(), r.validateName())
	case Reload:
		return errors.Join(ValidateCluster(r.Cluster), r.Workload.Validate())
	case WorkloadRecord:
		return errors.Join(ValidateCluster(r.Cluster), r.Workload.Validate())
	case ClusterStatus:
		return ValidateCluster(r.Cluster)
	case Position:
		return nil
	case Want:
		return r.validate()
	case Copy:
		return validatePair(r.Owner, r.Target, r.Config)
	}
	return fmt.Errorf("no such record: %T", r)
}

// validateText reports whether the text that clients choose is within its limits.
func (h Hint) validateText() error {
	for _, field := range []struct {
		name, value string
		limit       int
	}{
		{"user", h.Actor.User, MaxUserLength},
		{"authenticatedUser", h.Actor.AuthenticatedUser, MaxUserLength},
		{"userAgent", h.Actor.UserAgent, MaxUserAgentLength},
		{"sourceIP", h.Actor.SourceIP, MaxSourceIPLength},
		{"fieldManager", h.Actor.FieldManager, MaxFieldManagerLength},
		{"auditID", h.AuditID, MaxAuditIDLength},
	} {
		if len(field.value) > field.limit {
			return fmt.Errorf("%s has %d bytes, more than %d", field.name, len(field.value), field.limit)
		}
	}
	return nil
}

// validateName reports whether c is about one config. Only a hint can be about a whole namespace.
func (c Change) validateName() error {
	if c.Config.Name == "" {
		return fmt.Errorf("%w: a change needs the name of its config", ErrInvalidName)
	}
	return nil
}
