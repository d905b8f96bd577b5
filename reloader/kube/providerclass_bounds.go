package kube

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"
)

// Limits on what is kept by name of one PodStatus, which somebody else writes. No driver comes near them, and what exceeds them is
// folded, so that its changes are still seen.
const (
	// maxObjects is how many objects have an entry of their own.
	maxObjects = 500
	// maxObjectID is how many bytes an object's ID may have.
	maxObjectID = 256
	// foldedObjects is the ID of the entry for all the others. No provider's object is called so.
	foldedObjects = "(more objects)"
)

// folded returns versions within the limits. Different versions stay different.
func folded(versions map[string]string) map[string]string {
	kept := make(map[string]string, min(len(versions), maxObjects+1))
	more := sha256.New()
	for i, id := range slices.Sorted(maps.Keys(versions)) {
		if i < maxObjects {
			kept[shortObjectID(id)] = versions[id]
			continue
		}
		// Each text follows its length, so that no two lists are the same bytes.
		_, _ = fmt.Fprintf(more, "%d:%s%d:%s", len(id), id, len(versions[id]), versions[id])
	}
	if len(versions) > maxObjects {
		kept[foldedObjects] = hex.EncodeToString(more.Sum(nil))
	}
	return kept
}

// shortObjectID returns id, or its beginning and a hash of it if it is too long or no text.
func shortObjectID(id string) string {
	if len(id) <= maxObjectID && utf8.ValidString(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	suffix := "#" + hex.EncodeToString(sum[:])
	start := id[:min(len(id), maxObjectID-len(suffix))]
	for !utf8.ValidString(start) {
		start = start[:len(start)-1]
	}
	return start + suffix
}
