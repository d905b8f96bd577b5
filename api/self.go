package api

import (
	"context"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/reroll-dev/reroll/api/view"
)

// longestNamespace is how long the name of a namespace is at most.
const longestNamespace = 63

type getSelfInput struct {
	Namespaces []string `query:"namespace" maxItems:"20" doc:"Namespaces to report the user's rights in, separated by commas."`
}

type selfOutput struct {
	Body view.Self
}

// getSelf says nothing of nobody: where nobody can be told apart, everybody may read, and nobody more than that.
func (a *server) getSelf(ctx context.Context, in *getSelfInput) (*selfOutput, error) {
	if slices.ContainsFunc(in.Namespaces, func(name string) bool { return len(name) > longestNamespace }) {
		return nil, huma.Error422UnprocessableEntity("The parameter namespace must be names of at most 63 characters.")
	}
	self := view.Self{Groups: []string{}, Actions: []string{}, ConfigActions: []string{}, Namespaces: []view.NamespaceRights{}}
	user, ok := userOf(ctx)
	if !ok {
		return &selfOutput{Body: self}, nil
	}
	self.Authenticated, self.User = true, user.Name
	self.Groups = append(self.Groups, user.Groups...)
	everywhere, err := a.rightsOf(ctx, user, "", nil)
	if err != nil {
		return nil, err
	}
	self.Actions, self.ConfigActions = everywhere.show()
	for _, namespace := range in.Namespaces {
		here, err := a.rightsOf(ctx, user, namespace, everywhere)
		if err != nil {
			return nil, err
		}
		rights := view.NamespaceRights{Namespace: namespace}
		rights.Actions, rights.ConfigActions = here.show()
		self.Namespaces = append(self.Namespaces, rights)
	}
	return &selfOutput{Body: self}, nil
}

// rights are the actions that somebody may do, in their order.
type rights []bool

// rightsOf asks what user may do in a namespace. What they may do everywhere is not asked again, nor is what is in no namespace.
func (a *server) rightsOf(ctx context.Context, user User, namespace string, everywhere rights) (rights, error) {
	granted := make(rights, len(actions))
	if a.commands == nil {
		return granted, nil
	}
	for i, action := range actions {
		if everywhere != nil && (everywhere[i] || action.resource == resourceClusters) {
			granted[i] = everywhere[i]
			continue
		}
		allowed, err := a.may(ctx, user, Deed{Verb: string(action.verb), Resource: action.resource, Namespace: namespace})
		if err != nil {
			return nil, err
		}
		granted[i] = allowed
	}
	return granted, nil
}

func (r rights) show() (onWorkloads, onConfigs []string) {
	onWorkloads, onConfigs = []string{}, []string{}
	for i, action := range actions {
		switch {
		case !r[i]:
		case action.resource == resourceConfigs:
			onConfigs = append(onConfigs, string(action.verb))
		default:
			onWorkloads = append(onWorkloads, string(action.verb))
		}
	}
	return onWorkloads, onConfigs
}
