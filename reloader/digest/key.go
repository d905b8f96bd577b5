package digest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
)

// KeySize is the length of a Key in bytes.
const KeySize = 32

// keyIDBytes is short enough to read aloud and long enough that two keys of one cluster never share an ID.
const keyIDBytes = 6

// Key is the secret of one cluster under which its digests are made. Printed, logged or encoded it shows its ID only.
type Key []byte

// ID names the key without giving it away: 12 hex characters.
func (k Key) ID() string {
	mac := hmac.New(sha256.New, k)
	mac.Write([]byte("reroll.dev/key-id"))
	return hex.EncodeToString(mac.Sum(nil)[:keyIDBytes])
}

// String returns a placeholder with the ID.
func (k Key) String() string { return "key " + k.ID() }

// Format writes a placeholder with the ID whatever the verb.
func (k Key) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, k.String()) }

// LogValue returns a placeholder with the ID.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.String()) }

// MarshalJSON returns a placeholder with the ID.
func (k Key) MarshalJSON() ([]byte, error) { return []byte(`"` + k.String() + `"`), nil }
