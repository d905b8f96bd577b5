package admission

import (
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/reloader/digest"
)

// An API server shows no client certificate unless an administrator configures one. It does know the path in the webhook's configuration, which
// tenants cannot read. So the path is the proof: it ends in a token that is made with the digest key and changes every hour.

// Path is the path of the webhook for callers that a client certificate proves, and the beginning of the path of all others.
const Path = "/v1/admit"

// pathPeriod is how long a path is the current one. The one before and the one after are accepted, too: clocks differ, and API servers need
// a moment to see a new path.
const pathPeriod = time.Hour

// PathAt returns the path to publish at a time. It is made with the oldest key of the ring, which all processes know during a rotation.
func PathAt(ring *digest.Ring, at time.Time) string {
	tokens := ring.Signatures(period(at))
	return Path + "/" + hex.EncodeToString(tokens[len(tokens)-1])
}

// knowsPath reports whether a path was published about that time.
func knowsPath(ring *digest.Ring, path string, at time.Time) bool {
	token, err := hex.DecodeString(strings.TrimPrefix(path, Path+"/"))
	known := func(at time.Time) bool { return ring.Signed(token, period(at)) }
	return err == nil && (known(at.Add(-pathPeriod)) || known(at) || known(at.Add(pathPeriod)))
}

// period is what the token of a time is made of.
func period(at time.Time) []byte {
	return []byte("reroll.dev/admission-path/" + strconv.FormatInt(at.Unix()/int64(pathPeriod/time.Second), 10))
}
