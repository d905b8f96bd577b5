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
	// Created is when the object with this UID was made, by the second and the API server's clock; zero if nobody says.
	Created time.Time
	// Annotations has only those that somebody asked for.
	Annotations map[string]string
	// Labels are all labels; nil for what has no labels of its own.
	Labels map[string]string
	// DataManager is the field manager that last wrote the config's data, and DataWritten is when, by the second; zero if nobody says.
	DataManager string
	DataWritten time.Time
	// Written is when anything of the config was last given a value, by the second; zero if nobody says. Taking something away is none of that.
	Written time.Time
	// Unselected says that the config's labels are not those that Reroll was told to look for: no workload is rolled because of it.
	Unselected bool
	// Unproven says that nothing proves the content to be that of now. What was known of it before stays true; only if nothing was,
	// what was read is where it begins.
	Unproven bool
}

// Object is a live config with its content, which must be fingerprinted and let go.
type Object struct {
	Meta
	Content digest.Content
}
