package api

import (
	"context"
	"errors"
	"net/http"
)

// User is who makes a request, as Kubernetes tells users apart.
type User struct {
	Name   string
	UID    string
	Groups []string
	Extra  map[string][]string
}

// Deed is what a request is to do: a verb on a resource of the group reroll.dev. An empty Namespace means all of them, or that the
// resource has none, and an empty Name means any.
type Deed struct {
	Verb      string
	Resource  string
	Namespace string
	Name      string
}

// ErrTooManyFailures means that a client has failed to prove who it is too often, and that its new tokens are not looked at for a while.
var ErrTooManyFailures = errors.New("too many failed authentications")

// Access says who makes a request, and what they may do. Both questions fail if they cannot be answered now; then nothing is let through.
type Access interface {
	// Authenticate returns who makes r; ok is false if r does not prove who that is. The error may be ErrTooManyFailures.
	Authenticate(r *http.Request) (user User, ok bool, err error)
	// Allowed reports whether user may do d.
	Allowed(ctx context.Context, user User, d Deed) (bool, error)
}

// The resources of Deeds.
const (
	resourceChanges   = "changes"
	resourceReloads   = "reloads"
	resourceConfigs   = "configs"
	resourceWorkloads = "workloads"
	resourceClusters  = "clusters"
)

// placed is the parameters of a request that looks at one namespace, or at all if it is empty; and at one object, unless name is empty.
type placed interface {
	place() (namespace, name string)
}

func (f *ChangeFilter) place() (namespace, name string)   { return f.Namespace, "" }
func (f *ReloadFilter) place() (namespace, name string)   { return f.Namespace, "" }
func (f *WorkloadFilter) place() (namespace, name string) { return f.Namespace, "" }
func (f *EventFilter) place() (namespace, name string)    { return f.Namespace, "" }
func (f *ClusterFilter) place() (namespace, name string)  { return "", "" }
func (in *getStatsInput) place() (namespace, name string) { return in.Namespace, "" }
func (p *WorkloadPath) place() (namespace, name string)   { return p.Namespace, p.Name }

// inPlace returns handle for those who may do all that is needed where the request looks. The place of the needs is that of the request.
func inPlace[I any, P interface {
	*I
	placed
}, O any](a *server, handle func(context.Context, *I) (*O, error), needs ...Deed,
) func(context.Context, *I) (*O, error) {
	return func(ctx context.Context, in *I) (*O, error) {
		namespace, name := P(in).place()
		for _, d := range needs {
			d.Namespace, d.Name = namespace, name
			if err := a.permit(ctx, d); err != nil {
				return nil, err
			}
		}
		return handle(ctx, in)
	}
}
