package api

import (
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
)

// Limits of a question about statistics.
const (
	standardSpan = time.Hour
	longestSpan  = 366 * 24 * time.Hour
	mostBuckets  = 500
)

type getStatsInput struct {
	Cluster   string    `query:"cluster" maxLength:"63" example:"local" doc:"Only what happened in this cluster."`
	Namespace string    `query:"namespace" maxLength:"63" example:"shop" doc:"Only what happened in this namespace."`
	Since     time.Time `query:"since" pattern:"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$" patternDescription:"RFC 3339" doc:"The beginning of the span (RFC 3339). An hour before its end if absent."`
	Until     time.Time `query:"until" pattern:"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$" patternDescription:"RFC 3339" doc:"The end of the span (RFC 3339). Now if absent."`
	Buckets   int       `query:"buckets" minimum:"1" maximum:"500" default:"60" doc:"Into how many pieces the span is cut."`
}

// span returns the span and the length of its buckets, in whole seconds.
func (in *getStatsInput) span(now time.Time) (since, until time.Time, bucket time.Duration, err error) {
	since, until = in.Since, in.Until
	if until.IsZero() {
		until = now
	}
	if since.IsZero() {
		since = until.Add(-standardSpan)
	}
	since, until = since.UTC(), until.UTC()
	if since.Year() < 1 || until.Year() > 9999 {
		return since, until, 0, huma.Error422UnprocessableEntity("The parameters since and until must be in the years 1 to 9999.")
	}
	if length := until.Sub(since); length <= 0 || length > longestSpan {
		return since, until, 0, huma.Error422UnprocessableEntity("The parameter since must be before until, by a year at most.")
	}
	step := time.Duration(min(in.Buckets, mostBuckets)) * time.Second
	bucket = max(time.Second, (until.Sub(since)+step-1)/step*time.Second)
	return since, until, bucket, nil
}

type statsOutput struct {
	Body view.Stats
}

func (a *server) getStats(ctx context.Context, in *getStatsInput) (*statsOutput, error) {
	since, until, bucket, err := in.span(time.Now().UTC())
	if err != nil {
		return nil, err
	}
	tally := view.NewTally(since, until, bucket)
	done, err := a.scans.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	sight := a.reach(ctx)
	a.records.EachChange(func(c *reloader.Change) {
		if is(in.Cluster, c.Cluster) && is(in.Namespace, c.Config.Namespace) && sight.sees(c.Cluster, c.Config.Namespace) {
			tally.AddChange(c)
		}
	})
	a.records.EachReload(func(r *reloader.Reload) {
		if is(in.Cluster, r.Cluster) && is(in.Namespace, r.Workload.Namespace) && sight.sees(r.Cluster, r.Workload.Namespace) {
			tally.AddReload(r)
		}
	})
	stats := tally.Stats()
	stats.Warnings = append(stats.Warnings, a.warnings(ctx, in.Cluster)...)
	return &statsOutput{Body: stats}, nil
}
