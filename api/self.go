package api

import (
	"context"

	"github.com/reroll-dev/reroll/api/view"
)

type getSelfInput struct {
	Namespace string `query:"namespace" maxLength:"63" doc:"Where actions are to be allowed. In all namespaces if absent."`
}

type selfOutput struct {
	Body view.Self
}

// getSelf says nothing of nobody: where nobody can be told apart, everybody may read, and nobody more than that.
func (a *server) getSelf(ctx context.Context, in *getSelfInput) (*selfOutput, error) {
	self := view.Self{Groups: []string{}, Actions: []string{}, ConfigActions: []string{}}
	user, ok := userOf(ctx)
	if !ok {
		return &selfOutput{Body: self}, nil
	}
	self.Authenticated, self.User = true, user.Name
	self.Groups = append(self.Groups, user.Groups...)
	for _, action := range actions {
		deed := Deed{Verb: string(action.verb), Resource: action.resource}
		if action.resource != resourceClusters {
			deed.Namespace = in.Namespace
		}
		allowed, err := a.may(ctx, user, deed)
		if err != nil {
			return nil, err
		}
		if !allowed || a.commands == nil {
			continue
		}
		if action.resource == resourceConfigs {
			self.ConfigActions = append(self.ConfigActions, string(action.verb))
		} else {
			self.Actions = append(self.Actions, string(action.verb))
		}
	}
	return &selfOutput{Body: self}, nil
}
