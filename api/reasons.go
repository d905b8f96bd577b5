package api

import (
	"context"

	"github.com/reroll-dev/reroll/api/view"
)

type listReasonsInput struct {
	Paging
}

func (a *server) listReasons(ctx context.Context, in *listReasonsInput) (*listed[view.ReasonInfo], error) {
	return byKey(ctx, a, asked("reasons", in.Paging, nil), view.ReasonInfos(), func(r view.ReasonInfo) string { return string(r.Reason) })
}
