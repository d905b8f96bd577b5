package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/authentication/request/union"
	"k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
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

// Options say whom to believe. At least one of Tokens, ClientCAFile and ProxyCAFile is required.
type Options struct {
	// API is how to reach the API server that is asked.
	API *rest.Config
	// Tokens says that bearer tokens of the API server are believed, and Audiences whom they must be for; empty is the API server itself.
	Tokens    bool
	Audiences []string
	// ClientCAFile has the CAs whose client certificates are believed: the common name is the user, organisations are the groups.
	ClientCAFile string
	// ProxyCAFile has the CAs of proxies that say in headers who asks, and ProxyNames their common names; empty is any.
	ProxyCAFile string
	ProxyNames  []string
}

// The headers in which proxies say who asks, as Kubernetes' own do.
var (
	userHeaders   = headerrequest.StaticStringSlice{"X-Remote-User"}
	uidHeaders    = headerrequest.StaticStringSlice{"X-Remote-Uid"}
	groupHeaders  = headerrequest.StaticStringSlice{"X-Remote-Group"}
	extraPrefixes = headerrequest.StaticStringSlice{"X-Remote-Extra-"}
)

// Gate judges requests. Make it with New.
type Gate struct {
	authenticator authenticator.Request
	// client asks about rights, and answers has what it was told, by the SHA-256 of the question.
	client  kubernetes.Interface
	answers *cache.LRUExpireCache
	// asking bounds the questions about one user's rights.
	asking *clients.Turns
	// refreshes are what keeps the files of CAs up to date.
	refreshes []dynamiccertificates.ControllerRunner
}

// New returns a Gate that asks the API server of o. It reads files, and sends nothing yet.
func New(o Options) (*Gate, error) {
	g := &Gate{asking: clients.NewTurns(accessReviewsAtOnce), answers: cache.NewLRUExpireCache(maxAnswers)}
	if err := g.believe(o); err != nil {
		return nil, fmt.Errorf("authentication: %w", err)
	}
	var err error
	if g.client, err = connect(o.API, reviewQPS, reviewBurst); err != nil {
		return nil, err
	}
	return g, nil
}

// believe sets up every way to prove who asks that o names.
func (g *Gate) believe(o Options) error {
	var ways []authenticator.Request
	if o.ProxyCAFile != "" {
		proxy, err := g.proxy(o)
		if err != nil {
			return err
		}
		ways = append(ways, proxy)
	}
	if o.ClientCAFile != "" {
		ca, err := g.watchCA("clients", o.ClientCAFile)
		if err != nil {
			return err
		}
		ways = append(ways, x509.NewDynamic(ca.VerifyOptions, x509.CommonNameUserConversion))
	}
	if o.Tokens {
		tokens, err := newTokens(o)
		if err != nil {
			return err
		}
		ways = append(ways, bearertoken.New(tokens))
	}
	if len(ways) == 0 {
		return errors.New("no way to prove who asks is given")
	}
	g.authenticator = group.NewAuthenticatedGroupAdder(union.New(ways...))
	return nil
}

func (g *Gate) proxy(o Options) (authenticator.Request, error) {
	ca, err := g.watchCA("proxies", o.ProxyCAFile)
	if err != nil {
		return nil, err
	}
	names := headerrequest.StaticStringSlice(o.ProxyNames)
	return headerrequest.NewDynamicVerifyOptionsSecure(ca.VerifyOptions, names, userHeaders, uidHeaders, groupHeaders, extraPrefixes), nil
}

// watchCA reads a file of CAs, and has Run read it again when it changes.
func (g *Gate) watchCA(name, file string) (*dynamiccertificates.DynamicFileCAContent, error) {
	ca, err := dynamiccertificates.NewDynamicCAContentFromFile(name, file)
	if err != nil {
		return nil, fmt.Errorf("CA of %s: %w", name, err)
	}
	g.refreshes = append(g.refreshes, ca)
	return ca, nil
}

// Run keeps the files of CAs up to date until ctx ends.
func (g *Gate) Run(ctx context.Context) error {
	var all sync.WaitGroup
	for _, r := range g.refreshes {
		all.Go(func() { r.Run(ctx, 1) })
	}
	<-ctx.Done()
	all.Wait()
	return nil
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
	if silent(err) {
		return api.User{}, false, fmt.Errorf("review a token: %w", err)
	}
	return api.User{}, false, nil // a token or certificate that is not to be believed is an error to the library
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

// silent reports whether err says that the API server could not be asked, and not that it does not believe the client.
func silent(err error) bool {
	var several interface{ Errors() []error }
	if errors.As(err, &several) {
		for _, one := range several.Errors() {
			if silent(one) {
				return true
			}
		}
		return false
	}
	return unreachable(err)
}
