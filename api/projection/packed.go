package projection

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
	"unique"

	"github.com/reroll-dev/reroll/reloader"
)

// Records are kept packed and opened for whoever reads them: what very many of them repeat is there once, and a reload has of each of its
// changes no more than where it is. That is half of what they would take otherwise. Opening one takes no memory but its own.

// moment is a time in nanoseconds of UTC since 1970. It has no place for those before the year 1678 and after 2262: the zero time, and what
// no clock shows, is noTime.
type moment int64

const noTime = moment(math.MinInt64)

var firstMoment, lastMoment = time.Unix(0, math.MinInt64+1), time.Unix(0, math.MaxInt64)

func momentOf(t time.Time) moment {
	if t.Before(firstMoment) || t.After(lastMoment) {
		return noTime
	}
	return moment(t.UnixNano())
}

func (m moment) time() time.Time {
	if m == noTime {
		return time.Time{}
	}
	return time.Unix(0, int64(m)).UTC()
}

func (m moment) is(t time.Time) bool { return m == momentOf(t) }

// changeAbout is what the changes of one config have in common.
type changeAbout struct {
	cluster        string
	config         reloader.Config
	kind           reloader.ChangeType
	uid            string
	oldKey, newKey string
	source         reloader.Source
	unproven       bool
	shortened      string
}

// packedChange is a change without the fingerprints of single keys.
type packedChange struct {
	id, version                            string
	oldSum, newSum                         string
	about                                  unique.Handle[changeAbout]
	keys                                   []reloader.KeyChange
	candidates                             []reloader.Candidate
	requested, received, verified, oldSeen moment
}

func packChange(c *reloader.Change) *packedChange {
	return &packedChange{
		id: c.ID, version: c.ResourceVersion, oldSum: c.Old.Sum, newSum: c.New.Sum, keys: c.Keys, candidates: c.Candidates,
		about: unique.Make(changeAbout{
			cluster: c.Cluster, config: c.Config, kind: c.Type, uid: c.UID, oldKey: c.Old.KeyID, newKey: c.New.KeyID, source: c.Source, unproven: c.Unproven, shortened: packParts(c.Shortened),
		}),
		requested: momentOf(c.RequestedAt), received: momentOf(c.ReceivedAt), verified: momentOf(c.VerifiedAt), oldSeen: momentOf(c.OldSeenAt),
	}
}

func (p *packedChange) key() recordKey { return recordKey{p.about.Value().cluster, p.id} }

func (p *packedChange) at() moment { return p.verified }

func (p *packedChange) weight() int { return weigh(bytesOf(p.keys, p.candidates)) }

// What values take, in bytes, besides what their texts have.
const keyBytes, candidateBytes, causeBytes, wholeBytes = 32, 256, 32, 512

// bytesOf is about what keys and candidates take.
func bytesOf(keys []reloader.KeyChange, candidates []reloader.Candidate) int {
	n := len(candidates) * candidateBytes
	for _, k := range keys {
		n += keyBytes + len(k.Key)
	}
	return n
}

func (p *packedChange) open(c *reloader.Change) {
	about := p.about.Value()
	*c = reloader.Change{
		ID: p.id, Cluster: about.cluster, Config: about.config, Type: about.kind, UID: about.uid, ResourceVersion: p.version,
		Old: reloader.Digest{KeyID: about.oldKey, Sum: p.oldSum}, New: reloader.Digest{KeyID: about.newKey, Sum: p.newSum},
		Keys: p.keys, Candidates: p.candidates, Shortened: openParts(about.shortened), Source: about.source, Unproven: about.unproven,
		RequestedAt: p.requested.time(), ReceivedAt: p.received.time(), VerifiedAt: p.verified.time(), OldSeenAt: p.oldSeen.time(),
	}
}

// brought is the content that a workload was brought to for the change: none if it deleted the config.
func (p *packedChange) brought() string {
	if p.about.Value().kind == reloader.ChangeDeleted {
		return ""
	}
	return p.newSum
}

// reloadAbout is what the reloads of one workload have in common.
type reloadAbout struct {
	cluster, uid, dialect, strategy string
	workload                        reloader.WorkloadRef
	outcome, heldBy                 reloader.Reason
	shortened                       string
}

// packParts returns what a record lacks as one text, which nearly always is empty, and openParts opens it.
func packParts(parts []reloader.Part) string {
	var text strings.Builder
	for _, p := range parts {
		text.WriteString(string(p) + " ")
	}
	return text.String()
}

func openParts(text string) (parts []reloader.Part) {
	for _, p := range strings.Fields(text) {
		parts = append(parts, reloader.Part(p))
	}
	return parts
}

type packedReload struct {
	id, message      string
	about            unique.Handle[reloadAbout]
	causes           []packedCause
	attempts         int
	generation       int64
	decided, patched moment
	rollout          *reloader.Rollout
	requested        *string
}

// causeWhy is what the causes of one workload have in common.
type causeWhy struct {
	why               reloader.Reason
	clause, container string
}

// packedCause is a cause that says the same as its change; or else all of it, in whole.
type packedCause struct {
	change *packedChange
	why    unique.Handle[causeWhy]
	whole  *reloader.Cause
}

// packReload packs r. known finds changes that are kept, or returns nil.
func packReload(r *reloader.Reload, known func(recordKey) *packedChange) *packedReload {
	packed := &packedReload{
		id: r.ID, message: r.Message, attempts: r.Attempts, generation: r.Generation, rollout: r.Rollout, requested: packText(r.Requested),
		decided: momentOf(r.DecidedAt), patched: momentOf(r.PatchedAt),
		about: unique.Make(reloadAbout{
			cluster: r.Cluster, uid: r.UID, dialect: r.Dialect, strategy: r.Strategy, workload: r.Workload, outcome: r.Outcome, heldBy: r.HeldBy, shortened: packParts(r.Shortened),
		}),
	}
	if r.Causes != nil {
		packed.causes = make([]packedCause, 0, len(r.Causes))
	}
	for i := range r.Causes {
		packed.causes = append(packed.causes, packCause(&r.Causes[i], known(causedBy(r.Cluster, &r.Causes[i]))))
	}
	return packed
}

func packCause(c *reloader.Cause, change *packedChange) packedCause {
	if change != nil && change.says(c) {
		return packedCause{change: change, why: unique.Make(causeWhy{c.Why, c.Clause, c.Container})}
	}
	whole := *c
	return packedCause{whole: &whole}
}

// says reports whether c repeats what is known of its change. It does not once more became known of one of them.
func (p *packedChange) says(c *reloader.Cause) bool {
	about := p.about.Value()
	return c.Config == about.config && c.Source == about.source && c.OldSum == p.oldSum && c.NewSum == p.brought() &&
		p.requested.is(c.RequestedAt) && p.received.is(c.ReceivedAt) && p.verified.is(c.VerifiedAt) &&
		slices.Equal(c.Keys, p.keys) && slices.EqualFunc(c.Candidates, p.candidates, sameCandidate)
}

func sameCandidate(a, b reloader.Candidate) bool {
	same := a.Time.Equal(b.Time)
	a.Time, b.Time = time.Time{}, time.Time{}
	return same && a == b
}

func (p *packedReload) key() recordKey { return recordKey{p.about.Value().cluster, p.id} }

func (p *packedReload) at() moment { return p.decided }

func (p *packedReload) weight() int {
	n := len(p.message)
	for _, c := range p.causes {
		n += causeBytes
		if c.whole != nil {
			n += wholeBytes + bytesOf(c.whole.Keys, c.whole.Candidates)
		}
	}
	return weigh(n)
}

func (p *packedReload) open(r *reloader.Reload) {
	about, causes := p.about.Value(), r.Causes[:0]
	*r = reloader.Reload{
		ID: p.id, Cluster: about.cluster, Workload: about.workload, UID: about.uid, Dialect: about.dialect, Strategy: about.strategy,
		Outcome: about.outcome, HeldBy: about.heldBy, Message: p.message, Attempts: p.attempts, Generation: p.generation,
		DecidedAt: p.decided.time(), PatchedAt: p.patched.time(), Rollout: p.rollout, Requested: openText(p.requested), Shortened: openParts(about.shortened),
	}
	if p.causes == nil {
		return
	}
	if causes == nil {
		causes = make([]reloader.Cause, 0, len(p.causes))
	}
	for i := range p.causes {
		causes = append(causes, p.causes[i].open())
	}
	r.Causes = causes
}

func (p *packedCause) open() reloader.Cause {
	if p.whole != nil {
		return *p.whole
	}
	change, why := p.change, p.why.Value()
	about := change.about.Value()
	return reloader.Cause{
		ChangeID: change.id, Config: about.config, Why: why.why, Clause: why.clause, OldSum: change.oldSum, NewSum: change.brought(),
		Keys: change.keys, Candidates: change.candidates, Source: about.source, Container: why.container,
		RequestedAt: change.requested.time(), ReceivedAt: change.received.time(), VerifiedAt: change.verified.time(),
	}
}

// of returns which change it is of, for a reload in a cluster: one of that cluster, or of the owner of the config if that is followed.
func (p *packedCause) of(cluster string) recordKey {
	if p.whole != nil {
		return causedBy(cluster, p.whole)
	}
	return p.change.key()
}

// causedBy returns which change a cause of a reload in a cluster is of.
func causedBy(cluster string, c *reloader.Cause) recordKey {
	return recordKey{cmp.Or(c.Config.Cluster, cluster), c.ChangeID}
}

// packText keeps a text that most records do not have.
func packText(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func openText(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
