package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/adoption"
	"github.com/reroll-dev/reroll/reloader/live"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// reader reads one cluster, and writes nothing.
type reader interface {
	// Workloads calls visit once for every workload, and returns the resources that may not be listed.
	Workloads(ctx context.Context, visit func(*workload.Workload) error) (hidden []string, err error)
	// Meta reads the metadata of a config, Get the whole of it, and List the versions of all of a kind and namespace.
	Meta(ctx context.Context, c reloader.Config) (live.Meta, error)
	Get(ctx context.Context, c reloader.Config) (live.Object, error)
	List(ctx context.Context, kind reloader.ConfigKind, namespace string) (map[reloader.Config]live.Meta, error)
	// StartedAfter reports whether some container of w's pods runs, and none has started at t or before.
	StartedAfter(ctx context.Context, w *workload.Workload, t time.Time) (bool, error)
}

// census gathers what other tools have left on the workloads of a cluster. Contents are read for one workload at a time, and let go.
type census struct {
	reader
	adoption.View
	say func(namespace string)
	// names are those of the configs of the namespaces that were looked at, and metas what was read of configs without content.
	names map[string]adoption.Names
	metas map[reloader.Config]adoption.Known

	reports  []adoption.Report
	warnings []string
}

func newCensus(r reader, v adoption.View, say func(namespace string)) *census {
	return &census{reader: r, View: v, say: say, names: map[string]adoption.Names{}, metas: map[reloader.Config]adoption.Known{}}
}

// take looks at every workload.
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
		c.warnings = append(c.warnings, resource+" may not be listed: what there is of them is not known")
	}
	slices.SortFunc(touched, func(a, b *workload.Workload) int { return compareRefs(a.Ref(), b.Ref()) })
	for _, w := range touched {
		c.say(w.Namespace)
		report, err := c.look(ctx, w)
		if err != nil {
			return err
		}
		c.reports = append(c.reports, report)
	}
	return nil
}

// look reads what a report needs, and returns it.
func (c *census) look(ctx context.Context, w *workload.Workload) (adoption.Report, error) {
	names, err := c.namesIn(ctx, w.Namespace)
	if err != nil {
		return adoption.Report{}, err
	}
	configs, contents := c.Wants(w, names)
	read := map[reloader.Config]adoption.Known{}
	for _, config := range configs {
		read[config] = c.read(ctx, config, contents)
	}
	if err := ctx.Err(); err != nil {
		return adoption.Report{}, err
	}
	report := c.Report(w, read, names)
	for i := range report.Configs {
		if err := c.weigh(ctx, w, &report.Configs[i]); err != nil {
			return adoption.Report{}, err
		}
	}
	report.Settle()
	return report, nil
}

// weigh finds out whether a missed change has reached the pods by itself.
func (c *census) weigh(ctx context.Context, w *workload.Workload, f *adoption.Fate) error {
	if f.State != adoption.Missed || f.Written.IsZero() {
		return nil
	}
	newer, err := c.StartedAfter(ctx, w, f.Written)
	if newer {
		f.State = adoption.PodsNewer
	}
	return err
}

// namesIn lists the configs of a namespace, as far as that is permitted.
func (c *census) namesIn(ctx context.Context, namespace string) (adoption.Names, error) {
	if names, known := c.names[namespace]; known {
		return names, nil
	}
	names := adoption.Names{}
	for _, kind := range reloader.ConfigKinds {
		configs, err := c.List(ctx, kind, namespace)
		if apierrors.IsForbidden(err) && kind == reloader.SecretProviderClass {
			continue // most clusters have none, and say so to nobody who may not list them
		}
		if apierrors.IsForbidden(err) {
			c.warnings = append(c.warnings, fmt.Sprintf("%ss of %s may not be listed: what patterns match there is not known", kind, namespace))
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list %ss of %s: %w", kind, namespace, err)
		}
		names[kind] = []string{}
		for config := range maps.Keys(configs) {
			names[kind] = append(names[kind], config.Name)
		}
		slices.Sort(names[kind])
	}
	c.names[namespace] = names
	return names, nil
}

// read reads a config, with its content or without.
func (c *census) read(ctx context.Context, config reloader.Config, content bool) adoption.Known {
	if content {
		obj, err := c.Get(ctx, config)
		k := known(obj.Meta, err)
		k.Content = obj.Content
		return k
	}
	if k, before := c.metas[config]; before {
		return k
	}
	meta, err := c.Meta(ctx, config)
	c.metas[config] = known(meta, err)
	return c.metas[config]
}

func known(m live.Meta, err error) adoption.Known {
	switch {
	case apierrors.IsNotFound(err):
		return adoption.Known{Absent: true}
	case err != nil:
		return adoption.Known{Fault: err.Error()}
	}
	return adoption.Known{Meta: m}
}
