package dispatcher

import (
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/live"
)

// version is which object somebody saw, and when.
type version struct {
	uid, resourceVersion string
	seen                 time.Time
}

func (f fact) version() version { return version{f.UID, f.ResourceVersion, f.seen} }

func versionIn(c reloader.Change) version { return version{c.UID, c.ResourceVersion, c.VerifiedAt} }

// is reports whether meta is of that version. A restored etcd gives its resource versions a second time: then the content was written after
// it was seen. Where the API server's clock is ahead of ours, that costs one read too many.
func (v version) is(meta live.Meta) bool {
	return v.uid == meta.UID && v.resourceVersion == meta.ResourceVersion && !meta.DataWritten.After(v.seen)
}
