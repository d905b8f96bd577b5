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
	// Created is when the object with this UID was made, by the second and the API server's clock; zero if unknown.
	Created time.Time
	// Annotations has only the requested ones.
	Annotations map[string]string
	// Labels are all labels; nil for what has no labels of its own.
	Labels map[string]string
	// DataManager is the field manager that last wrote the config's data, and DataWritten is when, by the second; zero if unknown.
	DataManager string
	DataWritten time.Time
	// Written is when anything of the config was last given a value, by the second; zero if unknown. Removing something does not count.
	Written time.Time
	// Unselected says that the config's labels do not match the selector of Reroll: no workload is rolled because of it.
	Unselected bool
	// Unproven says that nothing proves the content to be current. Earlier knowledge stays true. Without any,
	// the read content is the baseline.
	Unproven bool
}

// Object is a live config with its content, which must be fingerprinted and let go.
type Object struct {
	Meta
	Content digest.Content
}
