package api

import (
	"cmp"
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/api/view"
)

// Limits of a question about statistics.
const (
	standardSpan = time.Hour
	longestSpan  = 366 * 24 * time.Hour
)

type getStatsInput struct {
	Cluster   string    `query:"cluster" maxLength:"63" example:"local" doc:"Only what happened in this cluster."`
	Namespace string    `query:"namespace" maxLength:"63" example:"shop" doc:"Only what happened in this namespace."`
	Since     time.Time `query:"since" pattern:"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$" patternDescription:"RFC 3339" doc:"The beginning of the span (RFC 3339). An hour before its end if absent."`
	Until     time.Time `query:"until" pattern:"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$" patternDescription:"RFC 3339" doc:"The end of the span (RFC 3339). Now if absent."`
}

type statsOutput struct {
	Body view.Stats
}

func (a *server) getStats(ctx context.Context, in *getStatsInput) (*statsOutput, error) {
	until := cmp.Or(in.Until, time.Now()).UTC()
	since := cmp.Or(in.Since, until.Add(-standardSpan)).UTC()
	if length := until.Sub(since); length <= 0 || length > longestSpan || since.Year() < 1 || until.Year() > 9999 {
		return nil, huma.Error422UnprocessableEntity("The parameter since must be before until, by a year at most, and both in the years 1 to 9999.")
	}
	done, err := a.scan(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	sight := a.reach(ctx)
	stats := view.Count(a.records, since, until, func(at projection.Place) bool {
		return is(in.Cluster, at.Cluster) && is(in.Namespace, at.Namespace) && sight.sees(at.Cluster, at.Namespace)
	})
	stats.Warnings = append(stats.Warnings, a.warnings(ctx, in.Cluster)...)
	return &statsOutput{Body: stats}, nil
}
