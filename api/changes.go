package api

import (
	"context"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
)

// ChangeFilter is what a listing of changes can be narrowed to. An empty field does not narrow it.
type ChangeFilter struct {
	Cluster          string    `query:"cluster" maxLength:"63" doc:"Only changes in this cluster."`
	Namespace        string    `query:"namespace" maxLength:"63" doc:"Only changes of configs in this namespace."`
	Kind             string    `query:"kind" enum:"ConfigMap,Secret,SecretProviderClass" doc:"Only changes of configs of this kind. The same as configKind."`
	ConfigKind       string    `query:"configKind" enum:"ConfigMap,Secret,SecretProviderClass" doc:"Only changes of configs of this kind."`
	Name             string    `query:"name" maxLength:"253" doc:"Only changes of configs of this name."`
	Type             string    `query:"type" enum:"Baseline,Updated,Created,Deleted" doc:"Only changes of this type."`
	IncludeBaselines bool      `query:"includeBaselines" doc:"Also show baselines, the first sight of each config. They are hidden otherwise, unless type asks for them."`
	Since            time.Time `query:"since" pattern:"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$" patternDescription:"RFC 3339" doc:"Only changes verified at this time or later (RFC 3339)."`
}

func (f *ChangeFilter) match(c *reloader.Change) bool {
	return is(f.Cluster, c.Cluster) &&
		is(f.Namespace, c.Config.Namespace) &&
		is(f.Kind, c.Config.Kind) &&
		is(f.ConfigKind, c.Config.Kind) &&
		is(f.Name, c.Config.Name) &&
		is(f.Type, c.Type) &&
		(c.Type != reloader.ChangeBaseline || f.IncludeBaselines || f.Type != "") &&
		!c.VerifiedAt.Before(f.Since)
}

// is reports whether a filter lets value through. An empty filter lets everything through.
func is[S ~string](filter string, value S) bool { return filter == "" || filter == string(value) }

type listChangesInput struct {
	Paging
	ChangeFilter
}

func (a *server) listChanges(ctx context.Context, in *listChangesInput) (*listed[view.Change], error) {
	return bySequence(ctx, a, asked("changes", in.Paging, in.ChangeFilter), view.FromChange,
		func(from projection.Place, limit int) (projection.Page[reloader.Change], error) {
			return a.records.Changes(from, limit, in.match)
		})
}

type getChangeInput struct {
	ID      string `path:"id" maxLength:"64" doc:"The change's ID."`
	Cluster string `query:"cluster" maxLength:"63" doc:"The change's cluster: required if several clusters have a change of this ID."`
}

type changeOutput struct {
	Body view.Change
}

func (a *server) getChange(ctx context.Context, in *getChangeInput) (*changeOutput, error) {
	c, several := theOne(in.Cluster, a.records.ChangesNamed(in.ID), func(c *reloader.Change) string { return c.Cluster })
	deed := Deed{Verb: "get", Resource: resourceChanges}
	if c != nil {
		deed.Namespace = c.Config.Namespace
	}
	if err := a.permitKnown(ctx, deed); err != nil {
		return nil, err
	}
	switch {
	case several:
		return nil, ambiguous("change")
	case c == nil:
		return nil, a.missing("change")
	}
	return &changeOutput{Body: view.FromChange(c)}, nil
}

// theOne returns the record that is asked for by its ID: that of a cluster or, if none is named, the only one. several says that there are more.
func theOne[T any](cluster string, named []*T, of func(*T) string) (one *T, several bool) {
	if cluster != "" {
		named = slices.DeleteFunc(named, func(r *T) bool { return of(r) != cluster })
	}
	if len(named) != 1 {
		return nil, len(named) > 1
	}
	return named[0], false
}

// ambiguous is the answer to a question for one record by an ID that several clusters use.
func ambiguous(what string) error {
	return huma.Error409Conflict("Several clusters have a " + what + " of this ID: name one with the parameter cluster.")
}

// missing is the answer to a question for one record that is not there.
func (a *server) missing(what string) error {
	if !a.records.CaughtUp() {
		return stillReading()
	}
	if what == "workload" {
		return huma.Error404NotFound("There is no such workload, or it is not opted in.")
	}
	return huma.Error404NotFound("There is no such " + what + ", or it is no longer kept.")
}
