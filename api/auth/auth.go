package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/kubernetes"

	"github.com/reroll-dev/reroll/api"
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
)

// Options say whom to believe. At least one of Tokens, ClientCAFile and ProxyCAFile is required.
type Options struct {
	// Kubeconfig and Context choose the API server that is asked. If both are empty and the process runs in a cluster, that one is.
	Kubeconfig, Context string
	UserAgent           string
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
	authorizer    authorizer.Authorizer
	// refreshes are what keeps the files of CAs up to date.
	refreshes []dynamiccertificates.ControllerRunner
}

// New returns a Gate that asks the API server of o. It reads files, and sends nothing yet.
func New(o Options) (*Gate, error) {
	client, err := connect(o)
	if err != nil {
		return nil, err
	}
	return newGate(o, client)
}

func newGate(o Options, client kubernetes.Interface) (*Gate, error) {
	g := &Gate{}
	backoff := &wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Steps: 2}
	who := authenticatorfactory.DelegatingAuthenticatorConfig{
		CacheTTL: remembered, TokenAccessReviewTimeout: reviewTime, WebhookRetryBackoff: backoff, APIAudiences: o.Audiences,
	}
	if o.Tokens {
		who.TokenAccessReviewClient = client.AuthenticationV1()
	}
	var err error
	if o.ClientCAFile != "" {
		if who.ClientCertificateCAContentProvider, err = g.watchCA("clients", o.ClientCAFile); err != nil {
			return nil, err
		}
	}
	if o.ProxyCAFile != "" {
		if who.RequestHeaderConfig, err = g.proxy(o); err != nil {
			return nil, err
		}
	}
	if g.authenticator, _, err = who.New(); err != nil {
		return nil, fmt.Errorf("authentication: %w", err)
	}
	what := authorizerfactory.DelegatingAuthorizerConfig{
		SubjectAccessReviewClient: client.AuthorizationV1(), AllowCacheTTL: remembered, DenyCacheTTL: remembered, WebhookRetryBackoff: backoff,
	}
	if g.authorizer, err = what.New(); err != nil {
		return nil, fmt.Errorf("authorisation: %w", err)
	}
	return g, nil
}

func (g *Gate) proxy(o Options) (*authenticatorfactory.RequestHeaderConfig, error) {
	ca, err := g.watchCA("proxies", o.ProxyCAFile)
	if err != nil {
		return nil, err
	}
	return &authenticatorfactory.RequestHeaderConfig{
		UsernameHeaders: userHeaders, UIDHeaders: uidHeaders, GroupHeaders: groupHeaders, ExtraHeaderPrefixes: extraPrefixes,
		CAContentProvider: ca, AllowedClientNames: headerrequest.StaticStringSlice(o.ProxyNames),
	}, nil
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

// Authenticate returns who makes r; ok is false if r does not prove that. It fails if the API server gives no answer.
func (g *Gate) Authenticate(r *http.Request) (api.User, bool, error) {
	if len(r.Header.Get("Authorization")) > maxTokenBytes {
		return api.User{}, false, nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), 2*reviewTime)
	defer cancel()
	answer, ok, err := g.authenticator.AuthenticateRequest(r.Clone(ctx))
	if ok && answer != nil && answer.User != nil {
		u := answer.User
		return api.User{Name: u.GetName(), UID: u.GetUID(), Groups: u.GetGroups(), Extra: u.GetExtra()}, true, nil
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
	decision, _, err := g.authorizer.Authorize(ctx, authorizer.AttributesRecord{
		User: &user.DefaultInfo{Name: u.Name, UID: u.UID, Groups: u.Groups, Extra: u.Extra},
		Verb: d.Verb, APIGroup: Group, APIVersion: "v1", Resource: d.Resource, Namespace: d.Namespace, Name: d.Name, ResourceRequest: true,
	})
	if err != nil {
		return false, fmt.Errorf("review access: %w", err)
	}
	return decision == authorizer.DecisionAllow, nil
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
