package digest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"slices"

	"github.com/reroll-dev/reroll/reloader"
)

// The first byte of everything that is signed, so that the fingerprint of a whole config is never that of a key.
const (
	wholeConfig byte = 1
	singleKey   byte = 2
	ownRecord   byte = 4
)

// shortKeyBytes is the length of the fingerprint of a single key.
const shortKeyBytes = 8

// Ring holds the active key, which makes digests, and the other keys whose digests can still be compared. It is immutable and
// safe for concurrent use.
type Ring struct {
	keys []Key
	ids  []string
}

// NewRing returns a ring that makes digests with the first of keys and knows the others. It refuses no keys at all, a key that
// is not KeySize bytes long, and the same key twice.
func NewRing(keys ...Key) (*Ring, error) {
	if len(keys) == 0 {
		return nil, errors.New("digest ring: no key")
	}
	r := &Ring{}
	for i, k := range keys {
		if len(k) != KeySize {
			return nil, fmt.Errorf("digest ring: key %d has %d bytes, want %d", i+1, len(k), KeySize)
		}
		if r.Knows(k.ID()) {
			return nil, fmt.Errorf("digest ring: key %d repeats an earlier one", i+1)
		}
		r.keys = append(r.keys, slices.Clone(k))
		r.ids = append(r.ids, k.ID())
	}
	return r, nil
}

// Knows reports whether the key of that ID is in the ring.
func (r *Ring) Knows(keyID string) bool { return slices.Contains(r.ids, keyID) }

// Digest returns the fingerprint of c under the active key, or the zero Digest if c is zero.
func (r *Ring) Digest(c Content) reloader.Digest { return sum(r.keys[0], r.ids[0], c) }

// DigestUnder returns the fingerprint of c under the key of that ID, so that it can be compared with a digest made before the
// keys were rotated. It reports false if the ring does not have the key.
func (r *Ring) DigestUnder(keyID string, c Content) (reloader.Digest, bool) {
	i := slices.Index(r.ids, keyID)
	if i < 0 {
		return reloader.Digest{}, false
	}
	return sum(r.keys[i], keyID, c), true
}

// Older returns the fingerprints of c under the other keys; none if c is zero.
func (r *Ring) Older(c Content) []reloader.Digest {
	if c.IsZero() {
		return nil
	}
	var older []reloader.Digest
	for i, k := range r.keys[1:] {
		older = append(older, sum(k, r.ids[i+1], c))
	}
	return older
}

// Signatures returns what only a holder of a key can make of parts, under each key, the active one first.
func (r *Ring) Signatures(parts ...[]byte) [][]byte {
	signatures := make([][]byte, len(r.keys))
	for i, k := range r.keys {
		s := newSigner(k, ownRecord, reloader.Config{})
		for _, part := range parts {
			s.field(part)
		}
		signatures[i] = s.mac.Sum(nil)
	}
	return signatures
}

// Signed reports whether signature is one of Signatures.
func (r *Ring) Signed(signature []byte, parts ...[]byte) bool {
	return slices.ContainsFunc(r.Signatures(parts...), func(s []byte) bool { return hmac.Equal(signature, s) })
}

// sum signs every entry once alone, for Keys, and all of them together, for Sum. Kind, namespace and name are signed too:
// otherwise the owner of one config could guess the content of another and see from equal digests that the guess was right.
func sum(k Key, id string, c Content) reloader.Digest {
	if c.IsZero() {
		return reloader.Digest{}
	}
	whole := newSigner(k, wholeConfig, c.config)
	keys := map[string]string{}
	c.Each(func(s Section, key string, value []byte) {
		whole.entry(s, key, value)
		one := newSigner(k, singleKey, c.config)
		one.entry(s, key, value)
		keys[key] = hex.EncodeToString(one.mac.Sum(nil)[:shortKeyBytes])
	})
	return reloader.Digest{KeyID: id, Sum: hex.EncodeToString(whole.mac.Sum(nil)), Keys: reloader.KeySums(keys)}
}

// signer writes fields, each after its length, so that no two lists of fields are the same bytes.
type signer struct{ mac hash.Hash }

func newSigner(k Key, purpose byte, c reloader.Config) signer {
	s := signer{mac: hmac.New(sha256.New, k)}
	s.mac.Write([]byte{purpose})
	s.field([]byte(c.Kind))
	s.field([]byte(c.Namespace))
	s.field([]byte(c.Name))
	return s
}

func (s signer) entry(section Section, key string, value []byte) {
	s.mac.Write([]byte{byte(section)})
	s.field([]byte(key))
	s.field(value)
}

func (s signer) field(b []byte) {
	var size [8]byte
	binary.BigEndian.PutUint64(size[:], uint64(len(b)))
	s.mac.Write(size[:])
	s.mac.Write(b)
}
