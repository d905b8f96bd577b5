package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/reroll-dev/reroll/api"
	"github.com/reroll-dev/reroll/api/clients"
)

// Group is the API group of the resources that rights are given on.
const Group = "reroll.dev"

const (
	// remembered is how long an answer of the API server is taken for good.
	remembered = 10 * time.Second
	// reviewTime bounds one question to the API server.
	reviewTime = 5 * time.Second
	// maxTokenBytes bounds a token: what is longer is none, and is not sent on.
	maxTokenBytes = 16 << 10
	// accessReviewsAtOnce is how many questions about the rights of one user are under way. They take turns at the rate for all, so that
	// a user who asks about very many namespaces keeps the others waiting for no more than that many answers.
	accessReviewsAtOnce = 8
	// maxAnswers bounds how many answers about rights are remembered.
	maxAnswers = 8192
)

// backoff is for questions to the API server that failed.
var backoff = wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Steps: 2}

// Options say which tokens are believed.
type Options struct {
	// API is how to reach the API server that is asked.
	API *rest.Config
	// Audiences are the accepted ones of tokens; empty is the API server itself.
	Audiences []string
}

// Gate judges requests. Make it with New.
type Gate struct {
	authenticator authenticator.Request
	// client asks about rights, and answers has the answers, by the SHA-256 of the question.
	client  kubernetes.Interface
	answers *cache.LRUExpireCache
	// asking bounds the questions about one user's rights.
	asking *clients.Turns
}

// New returns a Gate that asks the API server of o. It sends nothing yet.
func New(o Options) (*Gate, error) {
	tokens, err := newTokens(o)
	if err != nil {
		return nil, fmt.Errorf("authentication: %w", err)
	}
	client, err := connect(o.API, reviewQPS, reviewBurst)
	if err != nil {
		return nil, err
	}
	return &Gate{
		authenticator: group.NewAuthenticatedGroupAdder(bearertoken.New(tokens)), client: client,
		asking: clients.NewTurns(accessReviewsAtOnce), answers: cache.NewLRUExpireCache(maxAnswers),
	}, nil
}

// Authenticate returns who makes r; ok is false if r does not prove that. It fails if the API server gives no answer, and with
// api.ErrTooManyFailures if r's address has failed too often.
func (g *Gate) Authenticate(r *http.Request) (api.User, bool, error) {
	if len(r.Header.Get("Authorization")) > maxTokenBytes {
		return api.User{}, false, nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), 2*reviewTime)
	defer cancel()
	answer, ok, err := g.authenticator.AuthenticateRequest(r.Clone(context.WithValue(ctx, addressKey{}, clients.Of(r.RemoteAddr))))
	if ok && answer != nil && answer.User != nil {
		u := answer.User
		return api.User{Name: u.GetName(), UID: u.GetUID(), Groups: u.GetGroups(), Extra: u.GetExtra()}, true, nil
	}
	if errors.Is(err, api.ErrTooManyFailures) {
		return api.User{}, false, api.ErrTooManyFailures
	}
	if unreachable(err) {
		return api.User{}, false, fmt.Errorf("review a token: %w", err)
	}
	return api.User{}, false, nil // a token that is not to be believed is an error to the library
}

// Allowed reports whether u may do d. It fails if the API server gives no answer.
func (g *Gate) Allowed(ctx context.Context, u api.User, d api.Deed) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, reviewTime)
	defer cancel()
	done, err := g.asking.Take(ctx, u.Name)
	if err != nil {
		return false, fmt.Errorf("review access: %w", err)
	}
	defer done()
	extra := make(map[string]authorizationv1.ExtraValue, len(u.Extra))
	for key, values := range u.Extra {
		extra[key] = values
	}
	allowed, err := g.permits(ctx, authorizationv1.SubjectAccessReviewSpec{
		User: u.Name, UID: u.UID, Groups: u.Groups, Extra: extra,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: d.Verb, Group: Group, Version: "v1", Resource: d.Resource, Namespace: d.Namespace, Name: d.Name,
		},
	})
	if err != nil {
		return false, fmt.Errorf("review access: %w", err)
	}
	return allowed, nil
}
