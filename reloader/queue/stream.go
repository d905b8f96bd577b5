package queue

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Names of the streams. Those with KV in theirs are KV buckets as well, so that any KV client can read them.
const (
	hintsStream   = "HINTS"
	changesStream = "CHANGES"
	reloadsStream = "RELOADS"
	// followsStream is that of a hub alone.
	followsStream   = "FOLLOWS"
	workloadsStream = "KV_" + workloadsBucket
	clustersStream  = "KV_" + clustersBucket
)

// Names of the KV buckets, as KV clients know them.
const (
	workloadsBucket = "reroll_workloads"
	clustersBucket  = "reroll_clusters"
)

const (
	hintsPerConfig     = 16
	hintsMaxAge        = 24 * time.Hour
	changesPerConfig   = 64
	reloadsPerWorkload = 50
	reloadsMaxAge      = 30 * 24 * time.Hour
)

// generation counts the layouts of the streams. A program leaves streams of a later generation as they are, so that two versions
// side by side do not change them in turn.
const (
	generation    = 1
	generationKey = "reroll.dev/generation"
)

// API levels of the server from which a feature may be used.
const (
	levelMessageTTL  = 1
	levelAtomicBatch = 2
)

// wantedStreams lists every stream as this version wants it from a server of the given API level.
func wantedStreams(o Options, level int) []jetstream.StreamConfig {
	// A message that is rolled up can ask for all others of the stream to be dropped. In a cluster KV clients of people purge keys so; at a hub
	// that would be one cluster's right over the records of all others.
	rollup := o.Role != RoleHubAdmin
	streams := []jetstream.StreamConfig{{
		Name: hintsStream, Subjects: []string{hintPrefix + ".>"}, Description: "what may have been touched",
		MaxMsgsPerSubject: hintsPerConfig, MaxAge: hintsMaxAge, MaxBytes: o.HintsMaxBytes, Discard: jetstream.DiscardNew,
		AllowAtomicPublish: true,
	}, {
		Name: changesStream, Subjects: []string{changePrefix + ".>"}, Description: "what has changed; the newest is the state",
		MaxMsgsPerSubject: changesPerConfig, MaxBytes: noLimit, Discard: jetstream.DiscardNew,
	}, {
		Name: reloadsStream, Subjects: []string{reloadPrefix + ".>"}, Description: "what was rolled, and why",
		MaxMsgsPerSubject: reloadsPerWorkload, MaxAge: reloadsMaxAge, MaxBytes: o.ReloadsMaxBytes, Discard: jetstream.DiscardOld,
		AllowAtomicPublish: true,
	}, {
		Name: workloadsStream, Subjects: []string{workloadPrefix + ".>"}, Description: "what workloads depend on, and how far they are",
		MaxMsgsPerSubject: 1, MaxBytes: noLimit, Discard: jetstream.DiscardNew,
		AllowRollup: rollup, DenyDelete: true, AllowAtomicPublish: true, AllowMsgTTL: level >= levelMessageTTL,
	}, {
		Name: clustersStream, Subjects: []string{clusterPrefix + ".>"}, Description: "which cluster a name belongs to",
		MaxMsgsPerSubject: 1, MaxBytes: noLimit, Discard: jetstream.DiscardNew, AllowRollup: rollup, DenyDelete: true,
	}}
	if o.Role == RoleHubAdmin {
		streams = append(streams, jetstream.StreamConfig{
			Name: followsStream, Subjects: []string{followPrefix + ".>", wantPrefix + ".>"}, Description: "what clusters ask and tell about configs of others",
			MaxMsgsPerSubject: 1, MaxBytes: noLimit, Discard: jetstream.DiscardNew,
			// What comes in as the service of another account goes out to none, but what the stream says itself does.
			RePublish: &jetstream.RePublish{Source: ">", Destination: toldPrefix + ".>"},
		})
	}
	for i := range streams {
		streams[i].Retention, streams[i].Storage = jetstream.LimitsPolicy, jetstream.FileStorage
		streams[i].AllowDirect = true
		streams[i].AllowAtomicPublish = streams[i].AllowAtomicPublish && level >= levelAtomicBatch
		streams[i].Replicas = o.Replicas
		streams[i].Metadata = map[string]string{generationKey: strconv.Itoa(generation)}
	}
	return streams
}

// overlay returns is with everything that want decides, and keeps what else an operator has set.
func overlay(is, want jetstream.StreamConfig) jetstream.StreamConfig {
	is.Subjects, is.Description = want.Subjects, want.Description
	is.Retention, is.Storage, is.Discard = want.Retention, want.Storage, want.Discard
	is.MaxMsgsPerSubject, is.MaxAge, is.MaxBytes = want.MaxMsgsPerSubject, want.MaxAge, want.MaxBytes
	is.AllowDirect, is.DenyDelete = want.AllowDirect, want.DenyDelete
	is.AllowRollup = is.AllowRollup && want.AllowRollup // nobody who does not know that it is a hub allows it there again
	// These two cannot, or need not, be taken back.
	is.AllowAtomicPublish = is.AllowAtomicPublish || want.AllowAtomicPublish
	is.AllowMsgTTL = is.AllowMsgTTL || want.AllowMsgTTL
	if want.RePublish != nil {
		is.RePublish = want.RePublish
	}
	if want.Replicas > 0 {
		is.Replicas = want.Replicas
	}
	return is
}

// stamped returns is with the metadata of want. Servers before 2.10 forget it, so it is no part of overlay.
func stamped(is, want jetstream.StreamConfig) jetstream.StreamConfig {
	is.Metadata = maps.Clone(is.Metadata)
	if is.Metadata == nil {
		is.Metadata = map[string]string{}
	}
	maps.Copy(is.Metadata, want.Metadata)
	return is
}

// ensureStream makes want exist, and returns the stream as it is then. A user who may only look can start on what an administrator has made, as
// long as that can be used.
func (q *Queue) ensureStream(ctx context.Context, want jetstream.StreamConfig) (jetstream.Stream, error) {
	s, err := q.js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		s, err = q.makeStream(ctx, want)
	}
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", want.Name, explain(ctx, err))
	}
	is := s.CachedInfo().Config
	if n := generationOf(is); n > generation {
		q.log.Warn("stream belongs to a newer version and is left as it is", "stream", want.Name, "generation", n)
		return s, nil
	}
	if q.embedded == nil {
		want = grown(is, want)
	}
	if !reflect.DeepEqual(is, overlay(is, want)) {
		updated, err := q.updateStream(ctx, stamped(overlay(is, want), want))
		if errors.Is(err, ErrDenied) {
			return s, q.inspect(is, want)
		}
		if err != nil {
			return nil, fmt.Errorf("update stream %s: %w", want.Name, err)
		}
		s, is = updated, updated.CachedInfo().Config
	}
	return s, errors.Join(mismatch(is, overlay(is, want)), unfit(is, want))
}

// makeStream makes a stream that is not there, or returns the one that somebody else has made meanwhile.
func (q *Queue) makeStream(ctx context.Context, want jetstream.StreamConfig) (jetstream.Stream, error) {
	making, release := q.bounded(ctx, answerTime, "$JS.API.STREAM.CREATE."+want.Name)
	defer release()
	s, err := q.js.CreateStream(making, want)
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		return q.js.Stream(ctx, want.Name)
	}
	if err = explain(making, err); errors.Is(err, ErrDenied) {
		return nil, fmt.Errorf(`%w: there is no stream %s: "reroll nats setup" makes it: %w`, ErrNotSetUp, want.Name, err)
	}
	return s, err
}

func (q *Queue) updateStream(ctx context.Context, config jetstream.StreamConfig) (jetstream.Stream, error) {
	ctx, release := q.bounded(ctx, answerTime, "$JS.API.STREAM.UPDATE."+config.Name)
	defer release()
	s, err := q.js.UpdateStream(ctx, config)
	return s, explain(ctx, err)
}

// inspect judges a stream that somebody else has made: an error if it cannot be used, a warning if it keeps less than it should.
func (q *Queue) inspect(is, want jetstream.StreamConfig) error {
	if less := shrinks(want, is); len(less) > 0 {
		q.log.Warn("the stream keeps less than it should; reroll nats setup mends it", "stream", is.Name, "limits", strings.Join(less, "; "))
	}
	return unfit(is, want)
}

func generationOf(is jetstream.StreamConfig) int {
	n, _ := strconv.Atoi(is.Metadata[generationKey]) // none is the first
	return n
}
