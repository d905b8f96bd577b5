package queue

import (
	"bytes"
	"context"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/reroll-dev/reroll/reloader"
)

// unreadable is the digest of a change that could not be read. Its key is nobody's, so that it can be compared with no content.
var unreadable = reloader.Digest{KeyID: "unreadable", Sum: "unreadable"}

// LoadChanges returns the newest change of each config of cluster. In place of a change that cannot be read comes
// a baseline whose digest is incomparable with any other, at the sequence that the next change must name.
func (q *Queue) LoadChanges(ctx context.Context, cluster string) (map[reloader.Config]reloader.StoredChange, error) {
	filter, err := clusterFilter(changePrefix, cluster)
	if err != nil {
		return nil, fmt.Errorf("load changes: %w", err)
	}
	changes := map[reloader.Config]reloader.StoredChange{}
	err = q.snapshot(ctx, changesStream, filter, func(msg jetstream.Msg, sequence uint64) error {
		stored, err := q.decodeChange(msg.Subject(), sequence, msg.Data())
		if err == nil {
			changes[stored.Change.Config] = stored
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("load changes of %s: %w", cluster, err)
	}
	return changes, nil
}

// LatestChange returns the newest change of c as LoadChanges would; false if there is none.
func (q *Queue) LatestChange(ctx context.Context, cluster string, c reloader.Config) (reloader.StoredChange, bool, error) {
	subject, err := configSubject(changePrefix, cluster, c)
	if err != nil {
		return reloader.StoredChange{}, false, fmt.Errorf("latest change: %w", err)
	}
	raw, err := q.last(ctx, changesStream, subject)
	if err != nil || raw == nil {
		return reloader.StoredChange{}, false, wrap(err, "latest change of %s", c)
	}
	stored, err := q.decodeChange(subject, raw.Sequence, raw.Data)
	return stored, err == nil, wrap(err, "latest change of %s", c)
}

// decodeChange reads a stored change. The subject says which config it is of.
func (q *Queue) decodeChange(subject string, sequence uint64, data []byte) (reloader.StoredChange, error) {
	change, reason := reloader.Decode[reloader.Change](data)
	if reason == nil {
		want, err := configSubject(changePrefix, change.Cluster, change.Config)
		if err == nil && want == subject {
			return reloader.StoredChange{Change: change, Sequence: sequence}, nil
		}
		reason = fmt.Errorf("change is of %s in %s, which is not its subject", change.Config, change.Cluster)
	}
	q.noteUnreadable(changesStream, subject, sequence, reason)
	p, err := parseSubject(changePrefix, subject)
	if err != nil {
		return reloader.StoredChange{}, err
	}
	c, err := p.config()
	if err != nil {
		return reloader.StoredChange{}, err
	}
	instead := reloader.Change{Cluster: p.cluster, Config: c, Type: reloader.ChangeBaseline, New: unreadable}
	return reloader.StoredChange{Change: instead, Sequence: sequence}, nil
}

// AppendChange stores c as the newest change of its config and returns its sequence. expectedLast is the sequence of the newest
// change that the caller knows, zero for none; if there is another, nothing is stored and the error wraps reloader.ErrOutrun.
// Appending the same change again, after an answer got lost, returns the sequence of the first time.
func (q *Queue) AppendChange(ctx context.Context, c reloader.Change, expectedLast uint64) (uint64, error) {
	subject, err := configSubject(changePrefix, c.Cluster, c.Config)
	if err != nil {
		return 0, fmt.Errorf("append change: %w", err)
	}
	data, err := reloader.EncodeWithin(c, q.limit())
	if err != nil {
		return 0, fmt.Errorf("append change of %s: %w", c.Config, err)
	}
	bounded, release := q.bounded(ctx, answerTime, subject)
	defer release()
	m := newMessage(subject, "change", c.Cluster, c.VerifiedAt, data)
	ack, err := q.js.PublishMsg(bounded, m, jetstream.WithExpectLastSequencePerSubject(expectedLast))
	if isConflict(err) {
		return q.settleConflict(ctx, c.Config, subject, data, err)
	}
	if err != nil {
		return 0, fmt.Errorf("append change of %s: %w", c.Config, explain(bounded, err))
	}
	q.trimHistory(ctx, subject, m.Size())
	return ack.Sequence, nil
}

const (
	// maxHistory is how many bytes the changes of one config may take, unless they are fewer than leastHistory. Otherwise some configs with very
	// many keys that are edited all the time would fill the store.
	maxHistory   = 1 << 20
	leastHistory = 4
)

// trimHistory drops the oldest changes on a subject if those that the stream keeps would be too large. size is that of the newest. What remains of it
// when that fails goes with the next change.
func (q *Queue) trimHistory(ctx context.Context, subject string, size int) {
	keep := max(leastHistory, maxHistory/size)
	if keep >= changesPerConfig {
		return
	}
	ctx, release := q.bounded(ctx, answerTime, "$JS.API.STREAM.PURGE."+changesStream)
	defer release()
	err := q.streams[changesStream].Purge(ctx, jetstream.WithPurgeSubject(subject), jetstream.WithPurgeKeep(uint64(keep)))
	if err != nil {
		q.log.Warn("could not drop old changes of a config", "changes", subject, "error", explain(ctx, err))
	}
}

// settleConflict finds out whether the change that is in the way is the one that was to be appended.
func (q *Queue) settleConflict(ctx context.Context, c reloader.Config, subject string, data []byte, conflict error) (uint64, error) {
	raw, err := q.last(ctx, changesStream, subject)
	if err != nil {
		return 0, fmt.Errorf("append change of %s: %w", c, err)
	}
	if raw != nil && bytes.Equal(raw.Data, data) {
		return raw.Sequence, nil
	}
	return 0, fmt.Errorf("append change of %s: %w: %w", c, reloader.ErrOutrun, conflict)
}

// wrap adds what was attempted to err, and leaves nil alone.
func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}
