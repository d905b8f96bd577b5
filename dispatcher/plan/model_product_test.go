//go:build !race

package plan_test

import (
	"strconv"
	"time"

	"github.com/reroll-dev/reroll/dispatcher/applied"
	"github.com/reroll-dev/reroll/dispatcher/plan"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/live"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// product is what of Reroll is under test. Each mutation replaces one part.
type product struct {
	newest func(object, ledger applied.State) applied.State
	decide func(plan.Case) plan.Verdict
	// see changes what a case says, and was is the state over which a roll counts.
	see func(*plan.Case)
	was func(object, newest applied.State) applied.State
	// Steps of the shell that a mutation leaves out.
	noteAnyway, noCAS, configsFirst bool
}

var theProduct = product{newest: applied.Newest, decide: plan.Decide}

// The answers of the product are kept, because the same question comes up in many worlds.
type (
	newestKey struct {
		object, ledger state
		gone           [configs]uint8
	}
	caseKey struct {
		config           int
		known            bool
		entry            entry
		asOf, first, key uint8
		is               config
		looks            [maxWrites]uint8
		of               workloadKey
	}
	workloadKey struct {
		opted, hints, ours bool
		written, born      uint8
		starts             [2]uint8
		earlier            [2]bool
	}
	verdict struct {
		do   plan.Do
		rule string
		then entry
	}
	memory struct {
		newest   map[newestKey]state
		verdicts map[caseKey]verdict
	}
)

func timeAt(t uint8) time.Time {
	if t == 0 {
		return time.Time{}
	}
	return time.Unix(1_000_000_000+int64(t), 0)
}

// keyID returns the ID of the active key: the second after a rotation.
func keyID(key uint8) string { return "k" + strconv.Itoa(int(min(key, 1))) }

// applied returns what the product knows of a write of a config.
func (c config) applied(n uint8, keyID string) applied.Write {
	if n == 0 || c.writes[n-1].content == gone {
		return applied.Write{}
	}
	return applied.Write{Version: strconv.Itoa(int(n)), KeyID: keyID, Sum: keyID + string('@'+rune(c.writes[n-1].content))}
}

func (c config) entry(e entry) applied.Write {
	w := c.applied(e.write, "k"+strconv.Itoa(int(e.key)))
	w.Out = e.out
	return w
}

// applied returns the State that s stands for.
func (w *world) applied(s state) applied.State {
	if !s.known {
		return applied.State{}
	}
	a := applied.State{Workload: uid, N: uint64(s.n), At: timeAt(s.at), Mark: strconv.Itoa(int(s.mark)), Noted: timeAt(s.noted)}
	for c, e := range s.of {
		if e.write != 0 {
			a.Writes.Set(names[c], w.config[c].entry(e))
		}
	}
	return a
}

// newest asks the product which of two states holds.
func (m *model) newest(w *world, object, ledger state) state {
	k := newestKey{object: object, ledger: ledger}
	for c, x := range w.config {
		for i := range x.n {
			if x.writes[i].content == gone {
				k.gone[c] |= 1 << i
			}
		}
	}
	if s, ok := m.memory.newest[k]; ok {
		return s
	}
	a := m.product.newest(w.applied(object), w.applied(ledger))
	s := m.back(w, a, object, ledger)
	m.memory.newest[k] = s
	return s
}

// back returns the state that a stands for, whose parts are from states or live.
func (m *model) back(w *world, a applied.State, from ...state) state {
	unix := func(t time.Time) uint8 {
		if t.IsZero() {
			return 0
		}
		return uint8(t.Unix() - 1_000_000_000)
	}
	s := state{known: a.Known(), n: uint8(a.N), at: unix(a.At), noted: unix(a.Noted)}
	if mark, err := strconv.Atoi(a.Mark); err == nil {
		s.mark = uint8(mark)
	}
	for c := range names {
		x, ok := a.Writes.Find(names[c])
		if !ok {
			continue
		}
		out := x.Out
		x.Out = false
		s.of[c] = entry{write: w.config[c].n, key: min(w.key, 1)}
		for _, f := range from {
			e := f.of[c]
			e.out = false
			if e.write != 0 && w.config[c].entry(e) == x {
				s.of[c] = e
				break
			}
		}
		s.of[c].out = out
	}
	return s
}

// decide asks the product about one config of one workload, with all evidence.
func (m *model) decide(w *world, p *process, c int) verdict {
	of := workloadKey{
		opted: w.opted, hints: w.hints, ours: p.ours(w) || p.early && p.earlyOurs, written: w.written, born: p.born,
	}
	for i, pod := range w.pods {
		of.starts[i], of.earlier[i] = pod.at, pod.rev != w.tmpl.rev
	}
	k := caseKey{
		config: c, known: p.mem.known && p.mem.of[c].write != 0, entry: p.mem.of[c], asOf: max(p.mem.at, p.mem.noted),
		first: p.first[c], key: w.key, is: w.config[c], looks: p.looks[c], of: of,
	}
	v, ok := m.memory.verdicts[k]
	if !ok {
		v = m.ask(w, k)
		m.memory.verdicts[k] = v
	}
	return v
}

func (m *model) ask(w *world, k caseKey) verdict {
	x, of := k.is, k.of
	live := func(n uint8) applied.Live {
		at := x.writes[n-1]
		l := applied.Live{Write: x.applied(n, keyID(k.key)), Seen: timeAt(k.first), Meta: live.Meta{Created: timeAt(at.created), DataWritten: timeAt(at.data)}}
		if k.key == 1 && at.content != gone {
			l.Older = []applied.Write{x.applied(n, "k0")}
		}
		return l
	}
	q := plan.Case{
		Config: names[k.config], Live: live(x.n), Counting: m.counting, Pods: &workload.Pods{Known: true},
		First:  plan.First{Written: timeAt(of.written), Born: timeAt(of.born), Mark: plan.MarkNone, Required: m.required},
		Wanted: of.opted, Why: reloader.ReasonNotOptedIn, Known: k.known, Entry: x.entry(k.entry), AsOf: timeAt(k.asOf),
		Ours: of.ours, Looks: []applied.Live{},
	}
	if now := x.writes[x.n-1]; of.hints {
		q.Live.Touched = timeAt(now.at)
		q.First.Taken = now.takes && now.at >= of.written
	}
	for i, began := range k.looks {
		if began != 0 {
			l := live(uint8(i + 1))
			l.Began = timeAt(began)
			q.Looks = append(q.Looks, l)
		}
	}
	for i, at := range of.starts {
		q.Pods.Of = append(q.Pods.Of, workload.Pod{Containers: []workload.Start{{At: timeAt(at)}}, Current: !of.earlier[i]})
	}
	if m.product.see != nil {
		m.product.see(&q)
	}
	v := m.product.decide(q)
	r := verdict{do: v.Do, rule: v.Rule}
	if v.Do != plan.Nothing {
		s := m.back(w, applied.State{Workload: uid, Writes: reloader.ByConfig[applied.Write]{{Config: q.Config, Value: v.Write}}}, state{of: [configs]entry{k.entry, k.entry}})
		r.then = s.of[k.config]
	}
	return r
}

// together asks the product whether the workload rolls, and what its state is then.
func (m *model) together(w *world, p *process, verdicts [configs]verdict, now uint8) (rolls bool, then state) {
	asked := map[reloader.Config]plan.Verdict{}
	for c, v := range verdicts {
		if v.do != "" {
			asked[names[c]] = plan.Verdict{Do: v.do, Write: w.config[c].entry(v.then)}
		}
	}
	newest := w.applied(p.mem)
	if m.product.was != nil {
		newest = m.product.was(w.applied(w.object), newest)
	}
	o := plan.Together(uid, newest, asked, timeAt(now))
	return len(o.Rolled) > 0, m.back(w, o.State, p.mem, w.object)
}
