package hub

import (
	"context"
	_ "embed" // the configurations
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/queue"
)

var (
	//go:embed hub.conf
	hubConf string
	//go:embed member.conf
	memberConf string
)

// Streams are those of a hub.
var Streams = []string{queue.HistoryStream, queue.StateStream, queue.FollowStream}

const (
	// maxUnacknowledged is how many copies may be on their way to a cluster.
	maxUnacknowledged = 100
	redeliverTime     = 30 * time.Second
)

// Permissions returns the accounts of a NATS configuration that make a hub of the clusters: one that has the streams, and one for each cluster, named
// as it is. Passwords are variables in the environment of the server.
func Permissions(clusters []string) (string, error) {
	var members strings.Builder
	for _, c := range clusters {
		if err := reloader.ValidateCluster(c); err != nil {
			return "", err
		}
		members.WriteString(MemberPermissions(c))
	}
	return strings.Replace(hubConf, "@members\n", members.String(), 1), nil
}

// MemberPermissions returns the account of one cluster.
func MemberPermissions(cluster string) string {
	return strings.NewReplacer("@cluster", cluster, "@CLUSTER", strings.ToUpper(strings.ReplaceAll(cluster, "-", "_"))).Replace(memberConf)
}

// Add creates the streams of a hub, and the consumer that pushes copies to a cluster. Calling it again is harmless.
func Add(ctx context.Context, o queue.Options, cluster string) (err error) {
	c, err := setup(ctx, o, cluster)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close(ctx)) }()
	_, err = c.JS.CreateOrUpdatePushConsumer(ctx, queue.FollowStream, jetstream.ConsumerConfig{
		Durable: cluster, DeliverSubject: "deliver." + cluster, AckPolicy: jetstream.AckExplicitPolicy, AckWait: redeliverTime,
		MaxAckPending: maxUnacknowledged, FilterSubjects: delivered(cluster),
	})
	if err != nil {
		return fmt.Errorf("create the consumer of %s: %w", cluster, err)
	}
	return nil
}

// Remove removes what a hub has of a cluster, and then notes that, so that readers begin again. It may be called again after any failure. A
// cluster that may still write begins again from its oldest record.
func Remove(ctx context.Context, o queue.Options, cluster string) (err error) {
	c, err := setup(ctx, o, cluster)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close(ctx)) }()
	err = c.JS.DeleteConsumer(ctx, queue.FollowStream, cluster)
	if err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return fmt.Errorf("delete the consumer of %s: %w", cluster, err)
	}
	for _, stream := range Streams {
		s, err := c.JS.Stream(ctx, stream)
		for _, filter := range append(delivered(cluster), "reroll.*."+cluster+".>") {
			if err == nil {
				err = s.Purge(ctx, jetstream.WithPurgeSubject(filter))
			}
		}
		if err != nil {
			return fmt.Errorf("remove the messages of %s from %s: %w", cluster, stream, err)
		}
	}
	note := queue.NewMessage(queue.RemovedSubject(cluster), nil)
	note.Header.Set(jetstream.MsgTTLHeader, queue.EndTime.String())
	if _, err := c.JS.PublishMsg(ctx, note); err != nil {
		return fmt.Errorf("note that %s is removed: %w", cluster, err)
	}
	return nil
}

func setup(ctx context.Context, o queue.Options, cluster string) (*queue.Conn, error) {
	if err := reloader.ValidateCluster(cluster); err != nil {
		return nil, err
	}
	o.Streams = Streams
	return queue.Setup(ctx, o)
}

// delivered are the subjects of what is delivered to a cluster: copies of others, and what they want of it.
func delivered(cluster string) []string {
	return []string{queue.CopyPrefix + ".*." + cluster + ".>", queue.WantPrefix + ".*." + cluster}
}
