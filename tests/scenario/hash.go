package scenario

import (
	"crypto/sha1"
	"encoding/hex"
	"slices"
	"strings"
)

// StakaterHash is what Stakater Reloader marks a workload with for a content, whose entries are such as a=1.
func StakaterHash(entries ...string) string {
	sum := sha1.Sum([]byte(strings.Join(slices.Sorted(slices.Values(entries)), ";")))
	return hex.EncodeToString(sum[:])
}
