package strategy

import (
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// The annotations on the metadata of a workload that tell how its pod template came to be as it is.
const (
	// LastReloadKey names the reload that last changed the template.
	LastReloadKey = "reroll.dev/last-reload"
	// BroughtKey tells to which version of each config the template was brought, newest last, as BroughtWith writes it.
	BroughtKey = "reroll.dev/brought"
)

// maxBrought bounds the configs that BroughtKey tells of.
const maxBrought = 64

// Version identifies the content of a config, by its digest's sum, and the write that left it.
func Version(c reloader.Config, uid, resourceVersion, sum string) string {
	return reloader.ReloadID(uid, resourceVersion, []reloader.Cause{{Config: c, NewSum: sum}})[2:]
}

// BroughtEntry is what BroughtKey says about a template that was brought to a version of c.
func BroughtEntry(c reloader.Config, version string) string { return configKey(c) + version }

// BroughtVersion returns the version of c to which w says that it was brought; empty if it does not say.
func BroughtVersion(w *workload.Workload, c reloader.Config) string {
	for entry := range strings.SplitSeq(w.Annotations[BroughtKey], ",") {
		if version, ok := strings.CutPrefix(entry, configKey(c)); ok {
			return version
		}
	}
	return ""
}

// BroughtWith returns text, a value of BroughtKey, saying that the template was brought to a version of c.
func BroughtWith(text string, c reloader.Config, version string) string {
	entries := strings.FieldsFunc(text, func(r rune) bool { return r == ',' })
	entries = slices.DeleteFunc(entries, func(e string) bool { return strings.HasPrefix(e, configKey(c)) })
	entries = append(entries, BroughtEntry(c, version))
	return strings.Join(entries[max(0, len(entries)-maxBrought):], ",")
}

// configKey begins the entry of a config.
func configKey(c reloader.Config) string {
	return reloader.ReloadID("", "", []reloader.Cause{{Config: c}})[2:10] + ":"
}
