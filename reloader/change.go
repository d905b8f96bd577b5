package reloader

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Digest is the fingerprint of a config's content: HMAC-SHA-256 under a key that only the cluster has. The zero Digest stands
// for an absent config or one never seen.
type Digest struct {
	// KeyID names the HMAC key. Digests under different keys cannot be compared.
	KeyID string `json:"keyID,omitempty" doc:"Names the key that the fingerprint was made with. Fingerprints under different keys, or of different clusters, cannot be compared."`
	Sum   string `json:"sum,omitempty" doc:"Keyed fingerprint of all keys and values, lower-case hex."`
	// Keys has one shortened fingerprint for each key, so that a change can name the keys it touched. The API does not show them. It stays the JSON
	// object that is stored: a map takes ten times the memory.
	Keys json.RawMessage `json:"keys,omitempty" hidden:"true"`
}

// KeySums returns the Keys of a Digest with these fingerprints by key; nil if there are none.
func KeySums(sums map[string]string) json.RawMessage {
	if len(sums) == 0 {
		return nil
	}
	text, _ := json.Marshal(sums) // a map of strings always has JSON
	return text
}

// KeySums returns the fingerprints in Keys by key; nil if there are none.
func (d Digest) KeySums() (sums map[string]string) {
	_ = json.Unmarshal(d.Keys, &sums) // what is no object has none
	return sums
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
	// ChangeDeleted is a tombstone. Its New digest stays the last present one, so that recreation with equal content is not a change.
	ChangeDeleted ChangeType = "Deleted"
)

// What can happen to a key of a config.
const (
	KeyAdded   = "Added"
	KeyChanged = "Changed"
	KeyRemoved = "Removed"
)

// KeyChange is one key of a config that a change touched.
type KeyChange struct {
	Key string `json:"key" doc:"The key's name."`
	Op  string `json:"op" enum:"Added,Changed,Removed" doc:"What happened to the key."`
}

// Candidate is an actor who may have made a change.
type Candidate struct {
	Actor
	Verb    Verb      `json:"verb" doc:"The Kubernetes verb of the request." example:"patch"`
	AuditID string    `json:"auditID,omitempty" doc:"The request's ID in the audit log. Its client can choose it."`
	Time    time.Time `json:"time" doc:"When the API server says that the request ended."`
	Sure    bool      `json:"sure" doc:"Whether this actor made the change: no other write was reported, or of several writes only this one names the field manager that wrote the data last. If not, any candidate may have made it, or a client whose write was not reported."`
}

// same reports whether c says what o says, in whatever zone their times are.
func (c Candidate) same(o Candidate) bool {
	at := c.Time.Equal(o.Time)
	c.Time, o.Time = time.Time{}, time.Time{}
	return at && c == o
}

// Change is a verified fact: the content of a config of a cluster went from Old to New.
type Change struct {
	ID              string      `json:"id" doc:"Identifies the change." example:"c-mfrggzdfmztwq2lk"`
	Cluster         string      `json:"cluster" doc:"The cluster that the config is in."`
	Config          Config      `json:"config" doc:"The config that changed."`
	Type            ChangeType  `json:"type" enum:"Baseline,Updated,Created,Deleted" doc:"The kind of fact. A Baseline is the first sight of a config: nothing rolls for it."`
	UID             string      `json:"uid,omitempty" doc:"The UID of the object that was read."`
	ResourceVersion string      `json:"resourceVersion,omitempty" doc:"The resource version of the object that was read."`
	Old             Digest      `json:"old,omitzero" doc:"The content before. Absent if there was none or it is not known."`
	New             Digest      `json:"new,omitzero" doc:"The content after. Of a deleted config, the last content that it had."`
	Keys            []KeyChange `json:"keys,omitempty" doc:"The keys that the change touched. Absent if that is not known."`
	Candidates      []Candidate `json:"candidates,omitempty" doc:"The possible authors of the change. If there are several, any of them may have made it."`
	Source          Source      `json:"source" doc:"What reported the change." example:"audit"`
	RequestedAt     time.Time   `json:"requestedAt,omitzero" doc:"When the API server ended the newest request behind this change. Absent if no request was reported."`
	ReceivedAt      time.Time   `json:"receivedAt,omitzero" doc:"When that report reached Reroll."`
	VerifiedAt      time.Time   `json:"verifiedAt" doc:"When the live object was read."`
	Shortened       bool        `json:"shortened,omitempty" doc:"Whether the record lacks details, and perhaps the ends of its lists and texts, because it would have been too large."`
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
