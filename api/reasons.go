package api

import (
	"context"

	"github.com/reroll-dev/reroll/api/view"
)

type listReasonsInput struct {
	Paging
}

func (a *server) listReasons(_ context.Context, in *listReasonsInput) (*listed[view.ReasonInfo], error) {
	return byKey(a, in.Paging, bind("reasons", nil), view.ReasonInfos(), func(r view.ReasonInfo) string { return string(r.Reason) })
}
