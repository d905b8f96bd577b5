package reloader

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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

// Encode is EncodeWithin with the limit of everything that is stored.
func Encode[R Record](r R) ([]byte, error) { return EncodeWithin(r, MaxWireBytes) }

// EncodeWithin returns r as JSON with its version, in at most that many bytes. A Change, a Reload, a WorkloadRecord or a Copy that has more is
// encoded without the parts that are missed least, and says so in Shortened. Whatever else has more is an error.
func EncodeWithin[R Record](r R, limit int) ([]byte, error) {
	for {
		body, err := json.Marshal(r)
		if err != nil {
			return nil, fmt.Errorf("encode %T: %w", r, err)
		}
		data := append(fmt.Appendf(nil, `{"v":%d,`, WireVersion), body[1:]...)
		if len(data) <= limit {
			return data, nil
		}
		if s, ok := any(&r).(shortener); !ok || !s.shorten() {
			return nil, fmt.Errorf("encode %T: %d bytes exceed the limit of %d", r, len(data), limit)
		}
	}
}

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
