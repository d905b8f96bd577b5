package dispatcher

import (
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/near"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// A list that names api-pasword, and a template that mounts a ConfigMap that does not exist, ask for a config that never changes. The record of
// the workload names such configs, and those that cannot be read, because a change of them goes unnoticed.

// maxMissing bounds what the record of a workload names as missing or unreadable.
const maxMissing = 20

// lacks returns what t names or refers to and cannot be read, or is not there, sorted: the first ones.
func (x *scribe) lacks(t *tracked) (missing []reloader.Missing) {
	waits := slices.ContainsFunc(t.plan.Enabled, func(dl *dialect.Dialect) bool { return dl.Waits })
	for c := range t.edges.All() {
		if m, ok := x.lack(t, c); ok {
			missing = append(missing, m)
		}
	}
	slices.SortStableFunc(missing, func(a, b reloader.Missing) int { return strings.Compare(b.Unreadable, a.Unreadable) })
	missing = missing[:min(len(missing), maxMissing)]
	for i := range missing {
		m := &missing[i]
		if m.Awaited = waits && m.Required; m.Unreadable == "" && len(m.Keys) == 0 {
			m.Meant = x.nearConfig(t.w, m.Config)
		}
	}
	return append(missing, t.idle[:min(len(t.idle), maxMissing-len(missing))]...)
}

// lack returns what t misses of one config, if anything. Optional configs and those matched by a pattern are not missed.
func (x *scribe) lack(t *tracked, c reloader.Config) (reloader.Missing, bool) {
	known := x.configs.of(c)
	f, looked := known.now, known.looked()
	r := t.w.Template.References.Get(c)
	switch {
	case known.unreadable != "" && t.shows(c, f):
		return reloader.Missing{Config: c, Unreadable: known.unreadable}, true
	case c.Cluster != "" || c.Kind.External() || !slices.Contains(t.plan.Names, c):
		return reloader.Missing{}, false
	case !t.shows(c, f): // whether it exists is not told
		return reloader.Missing{Config: c}, r != nil || !x.hasTwin(t, c)
	case !looked || f.unread:
		return reloader.Missing{}, false
	}
	required := r != nil && r.Required
	if !f.absent {
		keys := []string(nil)
		if r != nil {
			keys = dialect.MissingKeys(r, f.digest)
		}
		return reloader.Missing{Config: c, Keys: keys, Required: required}, len(keys) > 0
	}
	if r != nil && r.Optional && !required || r == nil && x.hasTwin(t, c) {
		return reloader.Missing{}, false
	}
	return reloader.Missing{Config: c, Required: required}, true
}

// hasTwin reports whether a config of another kind has the name of c: a list that is about several kinds means that one. Of two that are both
// absent, only one is missing.
func (x *scribe) hasTwin(t *tracked, c reloader.Config) bool {
	clause := t.decide(c, x.configs.of(c).now).Clause
	for _, kind := range reloader.ConfigKinds {
		twin := reloader.Config{Kind: kind, Namespace: c.Namespace, Name: c.Name}
		if twin == c || t.edges.Get(twin) == nil {
			continue
		}
		f := x.configs.of(twin).now
		shown := t.shows(twin, f)
		if (!shown || x.configs[twin].looked()) && t.decide(twin, f).Clause == clause && (shown && !f.absent || twin.Compare(c) < 0) {
			return true
		}
	}
	return false
}

// nearConfig says which config was probably meant by the name of c: one that the template refers to.
func (x *scribe) nearConfig(w *workload.Workload, c reloader.Config) string {
	if c.Namespace != w.Namespace {
		return ""
	}
	var used []string
	for o := range w.Template.References.All() {
		if known := x.configs[o]; o.Kind == c.Kind && o != c && !(known.looked() && known.now.absent) {
			used = append(used, o.Name)
		}
	}
	slices.Sort(used)
	if name, ok := near.Word(c.Name, used); ok {
		return name + ", which the pod template uses"
	}
	return ""
}
