package reloader

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"
	"time"
)

// Digest is the fingerprint of a config's content: HMAC-SHA-256 under a key that only the cluster has. The zero Digest stands
// for an absent config or one never seen.
type Digest struct {
	// KeyID names the HMAC key. Digests under different keys cannot be compared.
	KeyID string `json:"keyID,omitempty"`
	// Sum covers all keys and values, as lower-case hex.
	Sum string `json:"sum,omitempty"`
	// Keys has one shortened fingerprint for each key, so that a change can name the keys it touched.
	Keys map[string]string `json:"keys,omitempty"`
}

// IsZero reports whether d stands for no content.
func (d Digest) IsZero() bool { return d.Sum == "" }

// Comparable reports whether d and other were made with the same key, or one of them is zero.
func (d Digest) Comparable(other Digest) bool {
	return d.IsZero() || other.IsZero() || d.KeyID == other.KeyID
}

// Equal reports whether d and other stand for the same content.
func (d Digest) Equal(other Digest) bool { return d.KeyID == other.KeyID && d.Sum == other.Sum }

// Short returns the first characters of the sum, for people.
func (d Digest) Short() string { return d.Sum[:min(len(d.Sum), 12)] }

// ChangeType says what kind of fact a Change is.
type ChangeType string

// The types of change.
const (
	// ChangeBaseline is the first sight of a config, or of its digest under a new key: not a change, and nothing rolls for it.
	ChangeBaseline ChangeType = "Baseline"
	ChangeUpdated  ChangeType = "Updated"
	// ChangeCreated is a config that was absent and never seen present before.
	ChangeCreated ChangeType = "Created"
	// ChangeDeleted is a tombstone. Its New digest stays the last present one, so that recreation with equal content is no change.
	ChangeDeleted ChangeType = "Deleted"
)

// KeyOp says what happened to one key of a config.
type KeyOp string

// The operations on a key.
const (
	KeyAdded   KeyOp = "Added"
	KeyChanged KeyOp = "Changed"
	KeyRemoved KeyOp = "Removed"
)

// KeyChange is one key of a config that a change touched.
type KeyChange struct {
	Key string `json:"key"`
	Op  KeyOp  `json:"op"`
}

// Basis says why an actor is a candidate for having made a change.
type Basis string

// The bases, strongest first.
const (
	// BasisOnlyWriter: no other write was reported between the last look and this one.
	BasisOnlyWriter Basis = "OnlyWriter"
	// BasisFieldManager: several writes were reported, and only this one names the field manager that last wrote the data.
	BasisFieldManager Basis = "FieldManager"
	// BasisAmbiguous: several writes were reported and nothing tells them apart, or somebody wrote the data after all that were.
	BasisAmbiguous Basis = "Ambiguous"
)

// Candidate is an actor who may have made a change.
type Candidate struct {
	Actor   Actor     `json:"actor"`
	Verb    Verb      `json:"verb"`
	AuditID string    `json:"auditID,omitempty"`
	Time    time.Time `json:"time"`
	Basis   Basis     `json:"basis"`
}

// same reports whether c says what o says, in whatever zone their times are.
func (c Candidate) same(o Candidate) bool {
	at := c.Time.Equal(o.Time)
	c.Time, o.Time = time.Time{}, time.Time{}
	return at && c == o
}

// Change is a verified fact: the content of a config of a cluster went from Old to New.
type Change struct {
	ID      string     `json:"id"`
	Cluster string     `json:"cluster"`
	Config  Config     `json:"config"`
	Type    ChangeType `json:"type"`
	// UID and ResourceVersion are those of the object that New was computed from.
	UID             string      `json:"uid,omitempty"`
	ResourceVersion string      `json:"resourceVersion,omitempty"`
	Old             Digest      `json:"old,omitzero"`
	New             Digest      `json:"new,omitzero"`
	Keys            []KeyChange `json:"keys,omitempty"`
	Candidates      []Candidate `json:"candidates,omitempty"`
	Source          Source      `json:"source"`
	// RequestedAt is the audit event's time of the newest hint behind this change, ReceivedAt is when it reached Reroll, and
	// VerifiedAt is when the live object had been read: New was there by then. The first two are zero if no hint led here.
	RequestedAt time.Time `json:"requestedAt,omitzero"`
	ReceivedAt  time.Time `json:"receivedAt,omitzero"`
	VerifiedAt  time.Time `json:"verifiedAt"`
	// Shortened has what is left out because the record would be too large; empty if nothing is.
	Shortened []Part `json:"shortened,omitempty"`
}

// Present reports whether the config existed when the change was verified.
func (c Change) Present() bool { return c.Type != ChangeDeleted && !c.New.IsZero() }

// ChangeID derives the identity of a change from what it says, so that writing it twice gives the same ID.
func ChangeID(c Change) string {
	return "c-" + shortID(c.Cluster, c.Config.String(), string(c.Type), c.UID, c.ResourceVersion, c.Old.Sum, c.New.KeyID, c.New.Sum)
}

// shortID returns 16 characters of base32 that stand for parts; parts are length-prefixed, so that no two lists collide.
func shortID(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return strings.ToLower(base32.StdEncoding.EncodeToString(h.Sum(nil)[:10]))
}
