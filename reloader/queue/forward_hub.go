package queue

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/reroll-dev/reroll/reloader"
)

const (
	// headerOrigin says where a record at a hub comes from: a stream, and the sequence there.
	headerOrigin = "Reroll-Origin"
	// headerProof says what of that stream had been brought before: all between two sequences.
	headerProof = "Reroll-Origin-Proof"
)

// origin is where a record comes from; zero if it does not say.
type origin struct {
	stream   string
	sequence uint64
}

func (o origin) String() string { return o.stream + " " + strconv.FormatUint(o.sequence, 10) }

func parseOrigin(text string) origin {
	stream, number, _ := strings.Cut(text, " ")
	sequence, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		return origin{}
	}
	return origin{stream, sequence}
}

// has reports whether a record from other was stored before or with this one. A stream that was set back still has what it had up to there.
func (o origin) has(other origin) bool {
	base, suffix, _ := strings.Cut(other.stream, "+")
	if end, err := strconv.ParseUint(suffix, 10, 64); o.stream == base && err == nil && other.sequence <= end {
		other.stream = base
	}
	return o.stream == other.stream && o.sequence >= other.sequence
}

// newest is the newest record of a subject.
type newest struct {
	sequence uint64
	origin   origin
	// proof is what of the origin's stream the hub had then.
	proof proof
	data  []byte
	// stored is when, by the clock of the hub, or by ours if we stored it; zero if it does not say.
	stored time.Time
}

// lostBy reports whether n, which a stream had as the newest of its subject, is not there any more, where is is the newest now. What stays of a
// subject is its newest, so that an older one is proof. None at all is proof only where nothing is dropped for its age or for room.
func (n newest) lostBy(stream string, is newest) bool {
	if is.sequence == 0 {
		return stream == changesStream && time.Since(n.stored) < tombstoneAge
	}
	return is.sequence < n.sequence
}

// maxNewest bounds the subjects of which a hub remembers the newest record without asking.
const maxNewest = 100_000

// hub is the NATS of a hub as one cluster sees it. It looks at no stream, and asks for single records only.
type hub struct {
	q *Queue

	mu sync.Mutex
	// known has the newest record of subjects, as far as we stored or saw it.
	known map[string]newest

	// telling is held by who tells how far the hub is. told is where the hub has the status from which we go on.
	telling sync.Mutex
	told    uint64
	// asking is held by who asks whether the hub remembers the cluster. reconnects is how often the connection had come back when it last did, and
	// confirmed when that was.
	asking     sync.Mutex
	reconnects uint64
	confirmed  time.Time
}

func newHub(q *Queue) *hub {
	return &hub{q: q, known: map[string]newest{}, reconnects: q.nc.Stats().Reconnects}
}

// last returns the newest record of a subject; its sequence is 0 if there is none.
func (h *hub) last(ctx context.Context, stream, subject string) (newest, error) {
	request := "$JS.API.DIRECT.GET." + stream + "." + subject
	ctx, release := h.q.bounded(ctx, answerTime, request)
	defer release()
	m, err := h.q.nc.RequestWithContext(ctx, request, nil)
	if errors.Is(err, nats.ErrNoResponders) {
		return newest{}, fmt.Errorf(`%w: nobody answers for the stream %s: "reroll nats setup --role=hub" makes it`, ErrNotSetUp, stream)
	}
	if err != nil {
		return newest{}, explain(ctx, err)
	}
	switch m.Header.Get("Status") {
	case "":
	case "404":
		return newest{}, nil
	default:
		return newest{}, fmt.Errorf("read %s: %s", subject, m.Header.Get("Description"))
	}
	sequence, err := strconv.ParseUint(m.Header.Get(jetstream.SequenceHeader), 10, 64)
	if err != nil {
		return newest{}, fmt.Errorf("read %s: the answer has no sequence", subject)
	}
	stored, err := time.Parse(time.RFC3339Nano, m.Header.Get(jetstream.TimeStampHeaer))
	if err != nil {
		stored = time.Time{} // older servers say it in another form, and nothing depends on it
	}
	return newest{sequence, parseOrigin(m.Header.Get(headerOrigin)), parseProof(m.Header.Get(headerProof)), m.Data, stored}, nil
}

// put stores m after the newest record of its subject that the caller knows, and returns its sequence. If there is a newer one the
// error wraps reloader.ErrOutrun. In a stream in which nothing expires by itself, which was made by an older server, m stays.
func (h *hub) put(ctx context.Context, m *nats.Msg, after uint64) (uint64, error) {
	ctx, release := h.q.bounded(ctx, answerTime, m.Subject)
	defer release()
	ack, err := h.q.js.PublishMsg(ctx, m, jetstream.WithExpectLastSequencePerSubject(after))
	if hasCode(err, codeNothingExpires) {
		m.Header.Del(jetstream.MsgTTLHeader)
		ack, err = h.q.js.PublishMsg(ctx, m, jetstream.WithExpectLastSequencePerSubject(after))
	}
	if isConflict(err) {
		return 0, fmt.Errorf("%w: %w", reloader.ErrOutrun, err)
	}
	if err != nil {
		return 0, explain(ctx, err)
	}
	return ack.Sequence, nil
}

// maxOutrun is how often in a row somebody else may be first.
const maxOutrun = 5

// bring stores m, a record from o, if the hub does not have it, and reports whether that was so, and what the hub had before. What p says
// was brought before. Servers of a cluster may answer with what they had a moment ago: then it is refused, and looked at again. If the hub has lost
// what we stored or saw there, the error wraps errSetBack.
func (h *hub) bring(ctx context.Context, stream string, m *nats.Msg, o origin, p proof) (stored bool, had newest, err error) {
	m.Header.Set(headerOrigin, o.String())
	m.Header.Set(headerProof, p.String())
	var missed newest // what we know of and who stores does not
	for range maxOutrun {
		last, known := h.recall(m.Subject)
		if !known {
			if last, err = h.last(ctx, stream, m.Subject); err != nil {
				return false, newest{}, err
			}
			last.data = nil
		}
		if missed.sequence > 0 && missed.lostBy(stream, last) {
			return false, last, fmt.Errorf("%w: on %s it had %d, and has %d", errSetBack, m.Subject, missed.sequence, last.sequence)
		}
		if last.origin.has(o) {
			h.remember(m.Subject, last)
			return false, last, nil
		}
		sequence, err := h.put(ctx, m, last.sequence)
		if err == nil {
			h.remember(m.Subject, newest{sequence: sequence, origin: o, proof: p, stored: time.Now()})
			return true, last, nil
		}
		h.forget(m.Subject)
		if !errors.Is(err, reloader.ErrOutrun) {
			return false, newest{}, err
		}
		missed = newest{}
		if is, told := lastOnRefusal(err); known && told && is < last.sequence {
			missed = last
		}
	}
	return false, newest{}, fmt.Errorf("store at the hub on %s: %w", m.Subject, reloader.ErrOutrun)
}

func (h *hub) recall(subject string) (newest, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n, ok := h.known[subject]
	return n, ok
}

func (h *hub) remember(subject string, n newest) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.known) >= maxNewest {
		clear(h.known)
	}
	h.known[subject] = n
}

func (h *hub) forget(subject string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.known, subject)
}

// bind makes the cluster with that UID the one that its name stands for at the hub, or fails with ErrOtherCluster. It reports whether the
// name stood for nobody, so that the hub has nothing of this cluster.
func (h *hub) bind(ctx context.Context, cluster, uid string) (anew bool, err error) {
	for range maxOutrun {
		bound, err := h.bound(ctx, cluster, uid)
		if bound.sequence > 0 && len(bound.data) > 0 || err != nil {
			return false, wrap(err, "bind %s at the hub", cluster)
		}
		_, err = h.put(ctx, &nats.Msg{Subject: clusterPrefix + "." + escape(cluster), Data: []byte(uid)}, bound.sequence)
		if err == nil {
			return true, nil
		}
		if !errors.Is(err, reloader.ErrOutrun) {
			return false, fmt.Errorf("bind %s at the hub: %w", cluster, err)
		}
	}
	return false, fmt.Errorf("bind %s at the hub: %w", cluster, reloader.ErrOutrun)
}

// bound returns what the name of the cluster is bound to, which is nothing or that UID, or fails with ErrOtherCluster.
func (h *hub) bound(ctx context.Context, cluster, uid string) (newest, error) {
	bound, err := h.last(ctx, clustersStream, clusterPrefix+"."+escape(cluster))
	if err == nil && len(bound.data) > 0 && string(bound.data) != uid {
		err = fmt.Errorf("%w at the hub: %s is the cluster with UID %.80q, and this one has UID %.80q; give this one another "+
			"--cluster-name, or, if the cluster was really rebuilt, have the old one removed there: \"reroll nats remove %s\"",
			ErrOtherCluster, cluster, bound.data, uid, cluster)
	}
	return bound, err
}

// errForgotten ends a session at a hub from which the cluster was removed.
var errForgotten = errors.New("the cluster was removed from the hub")

// remembers fails with errForgotten, or ErrOtherCluster, unless the name still stands for this cluster.
func (h *hub) remembers(ctx context.Context, cluster, uid string) error {
	bound, err := h.bound(ctx, cluster, uid)
	if err == nil && len(bound.data) == 0 {
		err = errForgotten
	}
	return err
}

// status returns the status of the cluster that the hub has, from which we go on; the zero value if it has none that can be read.
func (h *hub) status(ctx context.Context, cluster string) (reloader.ClusterStatus, error) {
	last, err := h.last(ctx, clustersStream, statusSubject(cluster))
	if err == nil {
		h.telling.Lock()
		h.told = last.sequence
		h.telling.Unlock()
	}
	if err != nil || len(last.data) == 0 {
		return reloader.ClusterStatus{}, err
	}
	s, err := reloader.Decode[reloader.ClusterStatus](last.data)
	if err != nil {
		h.q.log.Warn("the status at the hub cannot be read; everything is brought anew", "cluster", cluster, "error", err)
	}
	return s, nil
}

// copied returns a message as it was stored here, for another stream: what the headers told this one's server stays here, but for when it expires.
func copied(subject string, header nats.Header, data []byte) *nats.Msg {
	header = maps.Clone(header)
	if header == nil {
		header = nats.Header{}
	}
	maps.DeleteFunc(header, func(key string, _ []string) bool {
		return strings.HasPrefix(key, "Nats-") && key != jetstream.MsgTTLHeader
	})
	return &nats.Msg{Subject: subject, Header: header, Data: data}
}
