//go:build nightly

package thousand

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/synadia-io/orbit.go/jetstreamext"
	"golang.org/x/sync/errgroup"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/queue"
	"github.com/reroll-dev/reroll/reloader/queue/hub"
	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/natsserver"
)

// batchSize is how many records a forwarder stores at once, with their position.
const batchSize = 999

// BenchmarkForwarders: how many records a second a hub that waits for its disk takes from forwarders that catch up, next to as many publishers that do
// nothing but store batches of messages of the same size in the same stream.
func BenchmarkForwarders(b *testing.B) {
	for name, c := range map[string]struct {
		start               func(b *testing.B, clusters []string) (url string)
		forwarders, records int
	}{
		"one into one server":       {func(b *testing.B, clusters []string) string { return natsserver.StartHub(b, clusters).ClientURL() }, 1, 20_000},
		"fifty into a hub of three": {func(b *testing.B, clusters []string) string { return natsserver.StartHubCluster(b, clusters...).URL }, 50, 1000},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				w := &world{password: natsserver.PasswordFile(b), local: startLocal(b, c.forwarders)}
				url := c.start(b, clusterNames(c.forwarders))
				ours := w.forward(b, url, c.forwarders, c.records)
				bare := w.bare(b, url, c.forwarders, c.records)
				total := float64(c.forwarders * c.records)
				b.ReportMetric(total/ours.Seconds(), "records/s")
				b.ReportMetric(total/bare.Seconds(), "bare/s")
				b.ReportMetric(bare.Seconds()/ours.Seconds(), "ratio")
				b.StartTimer()
			}
		})
	}
}

// forward has members join with that many records each, and returns how long the hub took to have them all.
func (w *world) forward(b *testing.B, url string, members, records int) time.Duration {
	b.Helper()
	all := make([]*member, members)
	for i := range all {
		var err error
		all[i], err = w.newMember(b.Context(), clusterName(i), url)
		line.Must(b, err)
		b.Cleanup(func() { _ = all[i].queue.Close(context.Background()) }) // it was read only
	}
	line.Must(b, each(b.Context(), all, func(ctx context.Context, m *member) error {
		for n := range records {
			if _, err := m.change(ctx, n+1, reloader.ChangeUpdated); err != nil {
				return err
			}
		}
		return nil
	}))
	ctx, end := context.WithCancel(b.Context())
	var running sync.WaitGroup
	began := time.Now()
	for _, m := range all {
		run := hub.New(m.queue, m.hub)
		running.Go(func() { run.Run(ctx, hub.Following{}) })
	}
	c, err := queue.Dial(login(url, natsserver.HubUser, w.password))
	line.Must(b, err)
	defer c.NATS.Close()
	for want, has := uint64(members*(records+1)), uint64(0); has < want; {
		if !pause(b.Context(), 10*time.Millisecond) {
			b.Fatalf("the hub has %d of %d subjects", has, want)
		}
		if s, err := c.JS.Stream(b.Context(), queue.HistoryStream); err == nil { // a busy hub may leave a question without an answer
			has = s.CachedInfo().State.NumSubjects
		}
	}
	took := time.Since(began)
	end()
	running.Wait()
	return took
}

// bare stores as many messages of the size of a record, without reading, positions and checks.
func (w *world) bare(b *testing.B, url string, members, records int) time.Duration {
	b.Helper()
	body := []byte(`"` + strings.Repeat("x", 600) + `"`)
	ctx, cancel := context.WithTimeout(b.Context(), 10*time.Minute) // without a limit of its own, each batch would have five seconds
	defer cancel()
	publishing, ctx := errgroup.WithContext(ctx)
	began := time.Now()
	for i := range members {
		publishing.Go(func() error {
			c, err := queue.Dial(login(url, clusterName(i), w.password))
			if err != nil {
				return err
			}
			defer c.NATS.Close()
			for n := 0; n < records && err == nil; n += batchSize {
				var batch []*nats.Msg
				for k := range min(batchSize, records-n) {
					batch = append(batch, &nats.Msg{Subject: fmt.Sprintf("hub.reroll.change.%s.configmap.shop.bare-%d", clusterName(i), n+k), Header: nats.Header{}, Data: body})
				}
				_, err = jetstreamext.PublishMsgBatch(ctx, c.JS, batch, jetstreamext.BatchFlowControl{AckFirst: true, AckTimeout: time.Minute})
			}
			return err
		})
	}
	line.Must(b, publishing.Wait())
	return time.Since(began)
}
