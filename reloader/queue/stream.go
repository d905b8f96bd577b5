package queue

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// The streams. FollowStream exists at a hub alone.
const (
	HintsStream   = "HINTS"
	HistoryStream = "HISTORY"
	StateStream   = "STATE"
	FollowStream  = "FOLLOW"
)

const (
	hintsPerConfig = 16
	hintsMaxAge    = 24 * time.Hour
	// historyPerSubject is how many changes of a config, and how many reloads of a workload, are kept.
	historyPerSubject = 50
	historyMaxAge     = 90 * 24 * time.Hour
	noLimit           = -1
)

// definitions lists every stream. Sizes in bytes follow from maxStore.
func definitions(maxStore int64) []jetstream.StreamConfig {
	streams := []jetstream.StreamConfig{{
		Name: HintsStream, Subjects: []string{hintPrefix + ".>"}, Description: "configs that may have been written",
		// An acknowledged hint is gone. A full stream refuses further hints, and their sender keeps them.
		Retention: jetstream.WorkQueuePolicy, Discard: jetstream.DiscardNew,
		MaxMsgsPerSubject: hintsPerConfig, MaxAge: hintsMaxAge, MaxBytes: maxStore / 4,
	}, {
		Name: HistoryStream, Subjects: []string{changePrefix + ".>", reloadPrefix + ".>", PositionPrefix + ".*." + HistoryStream},
		Description: "changes and reloads", Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardOld,
		MaxMsgsPerSubject: historyPerSubject, MaxAge: historyMaxAge, MaxBytes: maxStore / 2,
	}, {
		Name: StateStream, Subjects: []string{workloadPrefix + ".>", configPrefix + ".>", clusterPrefix + ".*.*", PositionPrefix + ".*." + StateStream},
		Description: "the newest record of each workload, config and cluster", Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardNew,
		MaxMsgsPerSubject: 1, MaxBytes: noLimit, AllowMsgTTL: true,
	}, {
		Name: FollowStream, Subjects: []string{CopyPrefix + ".>", WantPrefix + ".*.*"}, Description: "configs that clusters follow in others",
		Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardNew, MaxMsgsPerSubject: 1, MaxBytes: noLimit,
	}}
	for i := range streams {
		streams[i].Storage, streams[i].AllowDirect, streams[i].AllowAtomicPublish = jetstream.FileStorage, true, true
	}
	return streams
}

// ensureStreams creates the streams that are missing and updates those that differ.
func (c *Conn) ensureStreams(ctx context.Context) error {
	for _, want := range definitions(c.options.MaxStore) {
		if !slices.Contains(c.options.Streams, want.Name) {
			continue
		}
		want.Replicas = c.options.Replicas
		if err := c.ensureStream(ctx, want); err != nil {
			return fmt.Errorf("stream %s: %w", want.Name, explain(err))
		}
	}
	return nil
}

func (c *Conn) ensureStream(ctx context.Context, want jetstream.StreamConfig) error {
	found, err := c.JS.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		found, err = c.JS.CreateStream(ctx, want)
	}
	if err != nil {
		return err
	}
	is := found.CachedInfo().Config
	if target := c.target(is, want); !reflect.DeepEqual(is, target) {
		_, err = c.JS.UpdateStream(ctx, target)
	}
	return err
}

// target returns what is to become of a stream. Limits, placement and the like of an external server are the operator's.
func (c *Conn) target(is, want jetstream.StreamConfig) jetstream.StreamConfig {
	is.Subjects, is.Description, is.Retention, is.Discard = want.Subjects, want.Description, want.Retention, want.Discard
	is.AllowDirect, is.AllowAtomicPublish, is.AllowMsgTTL = true, true, want.AllowMsgTTL
	is.MaxMsgsPerSubject = want.MaxMsgsPerSubject
	if c.embedded != nil {
		is.MaxAge, is.MaxBytes = want.MaxAge, want.MaxBytes
	}
	if want.Replicas > 0 {
		is.Replicas = want.Replicas
	}
	return is
}
