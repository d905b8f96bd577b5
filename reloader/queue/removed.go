package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/reroll-dev/reroll/reloader"
)

// Where a cluster was removed from a hub, a place beside its status says so, and up to which sequence of each stream its records are gone. That
// is told before they go: those who follow the hub forget what they have of the cluster up to there, and skip what is still on its way to them.
// What a cluster that comes back brings is stored later. Who follows and was cut off meanwhile finds it there afterwards. The place of the status
// says the same, for those of older versions and until the next status.

// headerRemoved has up to where the records of the cluster were removed.
const headerRemoved = "Reroll-Removed"

// extents are sequences by the name of their stream.
type extents map[string]uint64

// String returns the extents as parseExtents reads them.
func (e extents) String() string {
	var words []string
	for stream, sequence := range e {
		words = append(words, stream+"="+strconv.FormatUint(sequence, 10))
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

// maxExtents bounds the streams in one header.
const maxExtents = 16

// parseExtents reads what String wrote. An error leaves out nothing in silence: it is nil only if all of it was understood.
func parseExtents(text string) (extents, error) {
	words := strings.Fields(text)
	if len(words) > maxExtents {
		return nil, fmt.Errorf("%d extents, more than %d", len(words), maxExtents)
	}
	e := extents{}
	for _, word := range words {
		stream, number, _ := strings.Cut(word, "=")
		sequence, err := strconv.ParseUint(number, 10, 64)
		if err != nil || stream == "" {
			return nil, fmt.Errorf("%.80q is no extent", word)
		}
		if _, twice := e[stream]; twice {
			return nil, fmt.Errorf("two extents of %.80q", stream)
		}
		e[stream] = sequence
	}
	return e, nil
}

// removeCluster tells those who follow the hub up to where the records of the cluster go, removes them, and frees the name last: who takes it
// then finds nothing of others under it. bound is where the name was bound in its stream; 0 if it was not.
func (q *Queue) removeCluster(ctx context.Context, cluster string, bound uint64) (steps []Step, err error) {
	q.endWants(ctx, cluster)
	upTo, err := q.tellRemoved(ctx, cluster)
	if err != nil {
		return nil, err
	}
	for _, part := range heldOf(cluster) {
		var n uint64
		for _, filter := range part.filters {
			gone := uint64(0)
			if upTo[part.stream] > 0 && err == nil {
				gone, err = q.purge(ctx, part.stream, filter, upTo[part.stream])
			}
			n += gone
		}
		steps = append(steps, Step{part.what, fmt.Sprintf("%d removed", n)})
		if err != nil {
			return steps, err
		}
	}
	freed := uint64(0)
	if bound > 0 {
		freed, err = q.purge(ctx, clustersStream, clusterPrefix+"."+escape(cluster), bound)
	}
	if freed > 0 {
		return append(steps, Step{"name " + cluster, "freed"}), err
	}
	return append(steps, Step{"name " + cluster, "was free"}), err
}

// endWants has each owner that the cluster asked hear that it follows nothing any more, so that they do not tell it anew what is removed. Where that
// cannot be said, or may not, since the permissions are of an earlier version, they remember it for a day.
func (q *Queue) endWants(ctx context.Context, cluster string) {
	ctx, release := q.bounded(ctx, answerTime, "$JS.API.STREAM.INFO.", wantPrefix)
	defer release()
	wants, err := q.subjectsOf(ctx, followsStream, wantPrefix+".*."+escape(cluster))
	names, namesErr := q.subjectsOf(ctx, clustersStream, clusterPrefix+".*")
	err = errors.Join(err, namesErr)
	for subject := range wants {
		token, _, _ := strings.Cut(strings.TrimPrefix(subject, wantPrefix+"."), ".")
		if _, hears := names[clusterPrefix+"."+token]; hears && err == nil { // a label can name any number of others
			err = q.endWant(ctx, subject, token, cluster)
		}
	}
	if err != nil {
		q.log.Warn("owners could not be told that the cluster follows nothing any more", "cluster", cluster, "error", err)
	}
}

// subjectsOf returns the subjects in a stream that match a filter; none if there is no such stream.
func (q *Queue) subjectsOf(ctx context.Context, name, filter string) (map[string]uint64, error) {
	stream, err := q.js.Stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", name, explain(ctx, err))
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(filter))
	if err != nil {
		return nil, fmt.Errorf("look at the subjects of %s: %w", name, explain(ctx, err))
	}
	return info.State.Subjects, nil
}

// endWant has the owner with the place of what the cluster wants hear that this is nothing.
func (q *Queue) endWant(ctx context.Context, subject, token, cluster string) error {
	owner, err := unescape(token)
	if err != nil {
		return nil //nolint:nilerr // nobody has that name, so that nobody hears it
	}
	data, err := reloader.Encode(reloader.Want{Owner: owner, Target: cluster})
	if err != nil {
		return nil //nolint:nilerr // as above
	}
	_, err = q.js.Publish(ctx, subject, data)
	return wrap(explain(ctx, err), "tell %s that %s follows nothing any more", owner, cluster)
}

// tellRemoved stores that all records of the cluster so far are removed, and returns how far that is.
func (q *Queue) tellRemoved(ctx context.Context, cluster string) (extents, error) {
	ctx, release := q.bounded(ctx, answerTime, "$JS.API.STREAM.INFO.", clusterPrefix)
	defer release()
	upTo := extents{}
	for _, part := range heldOf(cluster) {
		stream, err := q.js.Stream(ctx, part.stream)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("look at %s: %w", part.stream, explain(ctx, err))
		}
		upTo[part.stream] = stream.CachedInfo().State.LastSeq
	}
	for _, subject := range []string{removedSubject(cluster), statusSubject(cluster)} {
		m := newMessage(subject, "cluster-removed", cluster, time.Now(), nil)
		m.Header.Set(headerOperation, operationPurge)
		m.Header.Set(headerRemoved, upTo.String())
		if _, err := q.js.PublishMsg(ctx, m); err != nil {
			return nil, fmt.Errorf("tell that it is removed: %w", explain(ctx, err))
		}
	}
	return upTo, nil
}

// purge removes the messages of a stream that match filter, those up to a sequence if it is not 0, and returns how many those were.
func (q *Queue) purge(ctx context.Context, stream, filter string, upTo uint64) (purged uint64, err error) {
	subject := "$JS.API.STREAM.PURGE." + stream
	ctx, release := q.bounded(ctx, snapshotTime, subject)
	defer release()
	request := struct {
		Filter string `json:"filter"`
		Before uint64 `json:"seq,omitempty"`
	}{Filter: filter}
	if upTo > 0 {
		request.Before = upTo + 1
	}
	data, err := json.Marshal(request)
	if err != nil {
		return 0, err
	}
	m, err := q.nc.RequestWithContext(ctx, subject, data)
	if err != nil {
		return 0, fmt.Errorf("purge %s: %w", filter, explain(ctx, err))
	}
	var answer struct {
		Error  *jetstream.APIError `json:"error"`
		Purged uint64              `json:"purged"`
	}
	if err := json.Unmarshal(m.Data, &answer); err != nil {
		return 0, fmt.Errorf("purge %s: the answer cannot be understood: %w", filter, err)
	}
	if answer.Error != nil {
		return 0, fmt.Errorf("purge %s: %w", filter, answer.Error)
	}
	return answer.Purged, nil
}

// removal is up to where the records of a cluster were removed from a stream, and when.
type removal struct {
	sequence uint64
	at       time.Time
}

// removals are those that a follower has heard of, by stream and then by cluster, as it stands in subjects.
type removals map[string]map[string]removal

// add takes note of a removal.
func (r removals) add(token string, upTo extents, at time.Time) {
	for stream, sequence := range upTo {
		if !slices.ContainsFunc(heldOf(""), func(part held) bool { return part.stream == stream }) {
			continue // whoever may write the place of a status can name any; what is remembered is bounded by this
		}
		if r[stream] == nil {
			r[stream] = map[string]removal{}
		}
		r[stream][token] = removal{sequence, at}
	}
}

// cover reports whether a message of s is one that was removed. In a stream that was made later sequences have begun anew.
func (r removals) cover(s *followedStream, subject string, sequence uint64) bool {
	rest, _ := strings.CutPrefix(subject, strings.TrimSuffix(s.filter, ">"))
	token, _, _ := strings.Cut(rest, ".")
	gone, ok := r[s.name][token]
	return ok && sequence <= gone.sequence && s.created.Before(gone.at)
}

// clusterGone hands over that a cluster was removed. A status that somebody deleted by hand is none: the next one comes soon if its cluster
// is alive.
func (f *following) clusterGone(msg jetstream.Msg, sequence uint64) error {
	text := msg.Headers().Get(headerRemoved)
	if text == "" {
		return nil
	}
	upTo, err := parseExtents(text)
	if err != nil {
		return err
	}
	meta, err := msg.Metadata()
	if err != nil {
		return err
	}
	token, _, _ := strings.Cut(strings.TrimPrefix(msg.Subject(), clusterPrefix+"."), ".")
	cluster, err := unescape(token)
	if err != nil || f.to.ClusterGone == nil {
		return err
	}
	for stream, created := range f.created {
		if !created.Before(meta.Timestamp) {
			delete(upTo, stream) // it was made later, and its sequences have begun anew
		}
	}
	f.removals.add(token, upTo, meta.Timestamp)
	f.to.ClusterGone(reloader.ClusterGone{
		Cluster: cluster, Changes: upTo[changesStream], Reloads: upTo[reloadsStream], Workloads: upTo[workloadsStream], Statuses: sequence,
	})
	return nil
}
