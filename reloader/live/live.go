// Package live has what a read of a live config returns.
package live

import (
	"time"

	"github.com/reroll-dev/reroll/reloader/digest"
)

// Meta is the metadata of a live config.
type Meta struct {
	UID             string
	ResourceVersion string
	// Annotations has only those that somebody asked for.
	Annotations map[string]string
	// DataManager is the field manager that last wrote the config's data, and DataWritten is when, by the second; zero if nobody says.
	DataManager string
	DataWritten time.Time
}

// Object is a live config with its content, which must be fingerprinted and let go.
type Object struct {
	Meta
	Content digest.Content
}
