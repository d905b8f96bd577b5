package api

import (
	"context"

	"github.com/reroll-dev/reroll/api/view"
)

type versionOutput struct {
	Body view.Version
}

func (a *server) getVersion(context.Context, *struct{}) (*versionOutput, error) {
	return &versionOutput{Body: a.version}, nil
}
