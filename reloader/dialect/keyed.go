package dialect

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// A mark that is made of digests can be compared only while there is the key under which they were made. It therefore tells which that is,
// and has the form of a SHA-256 all the same: the ID of the key, the begin of a hash, and a checksum of both. No tool's own hash passes for one.
const (
	markLength  = 64
	keyIDLength = 12
	checkLength = 12
)

// keyedMark returns hash, a SHA-256 in hexadecimal over digests, as a mark that tells the ID of their key. It returns hash itself if there is
// no such ID.
func keyedMark(keyID, hash string) string {
	if len(keyID) != keyIDLength || strings.Trim(keyID, "0123456789abcdef") != "" {
		return hash
	}
	said := keyID + hash[:markLength-keyIDLength-checkLength]
	return said + checksum(said)
}

// keyOfMark returns the ID that keyedMark put into a mark; empty if it is none of those.
func keyOfMark(mark string) string {
	if len(mark) != markLength {
		return ""
	}
	said, check := mark[:markLength-checkLength], mark[markLength-checkLength:]
	if check != checksum(said) {
		return ""
	}
	return said[:keyIDLength]
}

func checksum(said string) string {
	sum := sha256.Sum256([]byte("reroll.dev/keyed-mark\n" + said))
	return hex.EncodeToString(sum[:])[:checkLength]
}
