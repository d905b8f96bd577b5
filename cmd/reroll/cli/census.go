package cli

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/adoption"
	"github.com/reroll-dev/reroll/reloader/live"
	"github.com/reroll-dev/reroll/reloader/workload"
)

type reader interface {
	// Workloads calls visit once for every workload, and returns the resources that may not be listed.
	Workloads(ctx context.Context, visit func(*workload.Workload) error) (hidden []string, err error)
	// Meta reads the metadata of a config, Get all of it, and List the metadata of all of a kind and namespace.
	Meta(ctx context.Context, c reloader.Config) (live.Meta, error)
	Get(ctx context.Context, c reloader.Config) (live.Object, error)
	List(ctx context.Context, kind reloader.ConfigKind, namespace string) (map[reloader.Config]live.Meta, error)
	Pods(ctx context.Context, w *workload.Workload) (workload.Pods, error)
}

// census reports what other tools have left on the workloads of a cluster. It keeps the contents of the configs of one workload at a time.
type census struct {
	reader
	adoption.View
	// namespace is the one whose configs are listed, by kind; a kind that may not be listed is not there.
	namespace string
	listed    map[reloader.ConfigKind]map[reloader.Config]live.Meta

	reports  []adoption.Report
	warnings []string
}

func newCensus(r reader, v adoption.View) *census {
	return &census{reader: r, View: v, reports: []adoption.Report{}, warnings: []string{}}
}

// take inspects every workload that a tool has touched.
func (c *census) take(ctx context.Context) error {
	var touched []*workload.Workload
	hidden, err := c.Workloads(ctx, func(w *workload.Workload) error {
		if c.Touched(w) {
			touched = append(touched, w)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, resource := range hidden {
		c.warnings = append(c.warnings, "you have no permission to list "+resource+", so they are left out")
	}
	slices.SortFunc(touched, func(a, b *workload.Workload) int { return compareRefs(a.Ref(), b.Ref()) })
	for _, w := range touched {
		if w.Namespace != c.namespace || c.listed == nil {
			if err := c.list(ctx, w.Namespace); err != nil {
				return err
			}
		}
		report, err := c.inspect(ctx, w)
		if err != nil {
			return err
		}
		c.reports = append(c.reports, report)
	}
	return nil
}

func (c *census) inspect(ctx context.Context, w *workload.Workload) (adoption.Report, error) {
	in := adoption.Input{
		Workload: w, Configs: map[reloader.Config]adoption.Known{}, Names: adoption.Names{},
		Pods: func() (workload.Pods, error) { return c.Pods(ctx, w) },
	}
	for kind, metas := range c.listed {
		for config := range metas {
			in.Names[kind] = append(in.Names[kind], config.Name)
		}
		slices.Sort(in.Names[kind])
	}
	configs, contents := c.Wants(w, in.Names)
	for _, config := range configs {
		in.Configs[config] = c.read(ctx, config, contents)
	}
	if err := ctx.Err(); err != nil {
		return adoption.Report{}, err
	}
	return c.Report(in)
}

// list lists the configs of a namespace, as far as that is permitted.
func (c *census) list(ctx context.Context, namespace string) error {
	c.namespace, c.listed = namespace, map[reloader.ConfigKind]map[reloader.Config]live.Meta{}
	for _, kind := range reloader.ConfigKinds {
		metas, err := c.List(ctx, kind, namespace)
		switch {
		case err == nil:
			c.listed[kind] = metas
		case !apierrors.IsForbidden(err):
			return fmt.Errorf("list %ss of %s: %w", kind, namespace, err)
		case kind.Info().Group == "": // most clusters lack the other kinds, and answer so only to those who may list it
			c.warnings = append(c.warnings, fmt.Sprintf("you have no permission to list %ss of %s, so patterns for them were not evaluated", kind, namespace))
		}
	}
	return nil
}

func (c *census) read(ctx context.Context, config reloader.Config, content bool) (k adoption.Known) {
	var err error
	metas, listed := c.listed[config.Kind]
	switch {
	case content:
		var obj live.Object
		obj, err = c.Get(ctx, config)
		k.Meta, k.Content = obj.Meta, obj.Content
	case listed && config.Namespace == c.namespace:
		meta, there := metas[config]
		return adoption.Known{Meta: meta, Absent: !there}
	default:
		k.Meta, err = c.Meta(ctx, config)
	}
	switch {
	case apierrors.IsNotFound(err):
		return adoption.Known{Absent: true}
	case err != nil:
		return adoption.Known{Fault: err.Error()}
	}
	return k
}
