package api

import (
	"context"

	"github.com/reroll-dev/reroll/api/view"
)

type selfOutput struct {
	Body view.Self
}

// getSelf has no user without authentication.
func (a *server) getSelf(ctx context.Context, _ *struct{}) (*selfOutput, error) {
	user, ok := userOf(ctx)
	return &selfOutput{Body: view.Self{Authenticated: ok, User: user.Name, Groups: append([]string{}, user.Groups...), Version: a.version}}, nil
}
