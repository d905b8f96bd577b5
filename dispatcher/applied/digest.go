package applied

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"github.com/reroll-dev/reroll/reloader"
)

// sumLength is how much of a digest a Write has: 64 bits, of a keyed digest.
const sumLength = 16

// WriteOf returns the write of a version with a digest. Only the keys in counts count; all if counts is nil.
func WriteOf(version string, of reloader.Digest, counts func(key string) bool) Write {
	w := Write{Version: version, KeyID: of.KeyID, Sum: of.Sum[:min(len(of.Sum), sumLength)]}
	if counts == nil {
		return w
	}
	keys, used, sums := sha256.New(), sha256.New(), of.KeySums()
	for _, key := range slices.Sorted(maps.Keys(sums)) {
		if counts(key) {
			fmt.Fprintf(keys, "%d:%s", len(key), key)
			fmt.Fprintf(used, "%d:%s%s", len(key), key, sums[key])
		}
	}
	w.Filter, w.Used = short(keys.Sum(nil)), short(used.Sum(nil))
	return w
}

func short(sum []byte) string { return hex.EncodeToString(sum[:sumLength/2]) }
