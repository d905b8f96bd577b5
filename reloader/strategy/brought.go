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
	LastReloadKey = workload.ReloadKey
	// BroughtKey tells to which version of each config the template was brought, newest last, as BroughtWith writes it.
	BroughtKey = "reroll.dev/brought"
)

// maxBrought bounds the entries of BroughtKey: it tells of half as many configs.
const maxBrought = 128

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

// BroughtTo reports whether w says that it was brought to content of c with this sum, whichever write of it that was. An earlier release
// tells of versions alone, and leaves behind what was told of content: it counts only for the version beside it.
func BroughtTo(w *workload.Workload, c reloader.Config, sum string) bool {
	version := BroughtVersion(w, c)
	return version != "" && slices.Contains(strings.Split(w.Annotations[BroughtKey], ","), contentEntry(c, version, sum))
}

// BroughtWith returns text, a value of BroughtKey, saying that the template was brought to a version of c, whose content has this sum.
func BroughtWith(text string, c reloader.Config, version, sum string) string {
	entries := strings.FieldsFunc(text, func(r rune) bool { return r == ',' })
	entries = slices.DeleteFunc(entries, func(e string) bool {
		return strings.HasPrefix(e, configKey(c)) || strings.HasPrefix(e, contentKey(c))
	})
	entries = append(entries, BroughtEntry(c, version), contentEntry(c, version, sum))
	return strings.Join(entries[max(0, len(entries)-maxBrought):], ",")
}

// configKey begins the entry of a config, and contentKey the one that tells of its content.
func configKey(c reloader.Config) string {
	return reloader.ReloadID("", "", []reloader.Cause{{Config: c}})[2:10] + ":"
}

func contentKey(c reloader.Config) string {
	return reloader.ReloadID("content", "", []reloader.Cause{{Config: c}})[2:10] + ":"
}

// contentEntry is bound to the version, so that it says nothing beside another one.
func contentEntry(c reloader.Config, version, sum string) string {
	return contentKey(c) + reloader.ReloadID(version, "content", []reloader.Cause{{Config: c, NewSum: sum}})[2:]
}
