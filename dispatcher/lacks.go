package dispatcher

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/near"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// A list that names api-pasword, and a template that mounts a ConfigMap that nobody created, ask for a config that never changes. The record of
// the workload names such configs, and those that cannot be read, because a change of them goes unnoticed.

// maxMissing bounds what the record of a workload names as missing.
const maxMissing = 20

// lacks returns what t names or refers to and is not there, sorted: the first ones. The caller holds mu.
func (d *Dispatcher) lacks(t *tracked) (missing []reloader.Missing) {
	t.lacked = map[reloader.Config]string{}
	waits := slices.ContainsFunc(d.planOf(t.w).Enabled, func(dl *dialect.Dialect) bool { return dl.Waits })
	for _, c := range slices.SortedFunc(maps.Keys(t.edges), compareConfigs) {
		m, ok := d.lack(t, c)
		if !ok {
			continue
		}
		t.lacked[c] = fmt.Sprint(m)
		if len(missing) == maxMissing {
			continue
		}
		m.Awaited = waits && m.Required
		if len(m.Keys) > 0 {
			m.Meant = nearKey(m.Keys, d.facts[c])
		} else {
			m.Meant = d.nearConfig(t.w, c)
		}
		missing = append(missing, m)
	}
	return missing
}

// lack returns what t misses of one config, if it misses anything. What is optional, or was only matched by a pattern, is not missed. The caller
// holds mu.
func (d *Dispatcher) lack(t *tracked, c reloader.Config) (reloader.Missing, bool) {
	f, looked := d.facts[c]
	r := t.w.Template.References[c]
	switch {
	case c.Cluster != "" || !comesAndGoes(c) || !slices.Contains(t.interest.Names, c):
		return reloader.Missing{}, false
	case !d.shows(t.w, c, f): // whether it exists is not told
		return reloader.Missing{Config: c}, r != nil || !d.hasTwin(t, c)
	case !looked || f.unread:
		return reloader.Missing{}, false
	}
	required := r != nil && r.Required
	if !f.absent {
		keys := []string(nil)
		if r != nil {
			keys = dialect.MissingKeys(r, f.digest.Keys)
		}
		return reloader.Missing{Config: c, Keys: keys, Required: required}, len(keys) > 0
	}
	if r != nil && r.Optional && !required || r == nil && d.hasTwin(t, c) {
		return reloader.Missing{}, false
	}
	return reloader.Missing{Config: c, Required: required}, true
}

// hasTwin reports whether a config of another kind has the name of c: a list that is about several kinds means that one. Of two that are both
// absent, only one is missing. The caller holds mu.
func (d *Dispatcher) hasTwin(t *tracked, c reloader.Config) bool {
	clause := d.decide(t.w, c, d.facts[c]).Clause
	for _, kind := range reloader.ConfigKinds {
		twin := reloader.Config{Kind: kind, Namespace: c.Namespace, Name: c.Name}
		f, looked := d.facts[twin]
		shown := d.shows(t.w, twin, f)
		if _, edge := t.edges[twin]; twin == c || !edge || shown && !looked || d.decide(t.w, twin, f).Clause != clause {
			continue
		}
		if shown && !f.absent || compareConfigs(twin, c) < 0 {
			return true
		}
	}
	return false
}

// nearConfig says which config was probably meant by the name of c: one that the template refers to. The caller holds mu.
func (d *Dispatcher) nearConfig(w *workload.Workload, c reloader.Config) string {
	if c.Namespace != w.Namespace {
		return ""
	}
	var used []string
	for o := range w.Template.References {
		switch f := d.facts[o]; {
		case f.absent || o == c:
		case o.Name == c.Name && o.Kind != c.Kind:
			return fmt.Sprintf("the %s of that name, which the pod template uses", o.Kind)
		case o.Kind == c.Kind:
			used = append(used, o.Name)
		}
	}
	slices.Sort(used)
	if name, ok := near.Word(c.Name, used); ok {
		return name + ", which the pod template uses"
	}
	return ""
}

// nearKey says which key of a config was probably meant by the first of those that are missing.
func nearKey(keys []string, f fact) string {
	if name, ok := near.Word(keys[0], slices.Sorted(maps.Keys(f.digest.Keys))); ok {
		return name + ", which it has"
	}
	return ""
}

// retold has the record of t written again if it says something else of c than what is missing of it now. The caller holds mu.
func (d *Dispatcher) retold(t *tracked, c reloader.Config) {
	said := ""
	if m, ok := d.lack(t, c); ok {
		said = fmt.Sprint(m)
	}
	if said != t.lacked[c] {
		d.settleQ.Add(t.w.Ref())
	}
}

// maxUnreadable bounds the configs that the record of a workload names as unreadable.
const maxUnreadable = 5

// unreadableOf returns what t asks for and cannot be read. The caller holds mu.
func (d *Dispatcher) unreadableOf(t *tracked) (found []reloader.Unreadable) {
	if len(d.unreadable) > 0 {
		for _, c := range slices.SortedFunc(maps.Keys(t.edges), compareConfigs) {
			message := d.unreadable[c]
			foreign := c.Cluster == "" && c.Namespace != t.w.Namespace
			if message != "" && len(found) < maxUnreadable && (!foreign || d.shows(t.w, c, d.facts[c])) {
				found = append(found, reloader.Unreadable{Config: c, Message: message})
			}
		}
	}
	if len(found) == 0 && t.refused != "" {
		found = append(found, reloader.Unreadable{Message: t.refused})
	}
	return found
}

// noteRead takes note whether c could be read, and has the records of its dependents written again if that is news. An error that may pass says
// nothing.
func (d *Dispatcher) noteRead(c reloader.Config, err error) {
	now := ""
	switch fateOf(err) {
	case fateDone:
	case fateNever:
		now = err.Error()
	default:
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.unreadable[c] == now || now != "" && !d.needed(c) {
		return
	}
	if d.unreadable[c] = now; now == "" {
		delete(d.unreadable, c)
	}
	for ref, t := range d.index.byConfig[c] {
		d.settleQ.Add(ref)
		if t.refused != "" && now == "" {
			d.edgesQ.Add(ref)
		}
	}
}

// lookLocked reads c, appends a change if the content is not that of latest[c], and makes the dependents pending. hints are the
// reasons to look, which say who may have made the change. The caller holds the flight lock of c.
func (d *Dispatcher) lookLocked(ctx context.Context, c reloader.Config, hints []reloader.Hint, hashed bool) (fact, reloader.StoredChange, error) {
	f, stored, err := d.lookOnce(ctx, c, hints, hashed)
	d.noteRead(c, err)
	return f, stored, err
}
