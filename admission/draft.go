package admission

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/digest"
	"github.com/reroll-dev/reroll/reloader/strategy"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Rules are how an installation marks workloads.
type Rules struct {
	Dialects dialect.Set
	// Ring has the keys under which marks of digests are made, and were.
	Ring *digest.Ring
	// Strategy is the name of the strategy of workloads that do not choose one.
	Strategy string
}

// Draft is what is known of a request before any config is read.
type Draft struct {
	rules Rules
	// now is the workload as the request leaves it, with what was restored.
	now      *workload.Workload
	plan     dialect.Plan
	restored []strategy.Op
	// created says that there was no workload before.
	created bool
	// Needs are the configs whose marks the workload is to carry; none if the request leaves the pod template as it is.
	Needs []reloader.Config
}

// Draft compares a workload before and after a request, as JSON; before is empty at its creation. It returns nil if the workload has not
// opted in.
func (r Rules) Draft(kind workload.Kind, before, after json.RawMessage) (*Draft, error) {
	now, err := r.parse(kind, after)
	if err != nil {
		return nil, err
	}
	plan := r.Dialects.Compile(now.Workload)
	if !plan.OptedIn() || now.TemplateOf != nil || now.DeletionTimestamp != nil {
		return nil, nil
	}
	d := &Draft{rules: r, now: now.Workload, created: len(before) == 0}
	if d.created {
		d.plan = plan
		d.Needs = needs(&plan)
		return d, nil
	}
	old, err := r.parse(kind, before)
	if err != nil {
		return nil, err
	}
	if d.restored = r.restore(&plan, old, now); len(d.restored) > 0 {
		if now, err = r.amended(kind, after, d.restored); err != nil {
			return nil, err
		}
		d.now, plan = now.Workload, r.Dialects.Compile(now.Workload)
	}
	d.plan = plan
	if !equality.Semantic.DeepEqual(old.template, now.template) {
		d.Needs = needs(&plan)
	}
	return d, nil
}

// object is a workload and its pod template in full.
type object struct {
	*workload.Workload
	template corev1.PodTemplateSpec
}

func (r Rules) parse(kind workload.Kind, raw json.RawMessage) (object, error) {
	w, err := kind.Strip(raw, r.Dialects.KeepsAnnotation)
	if err != nil {
		return object{}, err
	}
	var spec struct {
		Spec struct {
			Template corev1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(raw, &spec); err != nil {
		return object{}, fmt.Errorf("read the pod template of a %s: %w", kind.Kind, err)
	}
	return object{w, spec.Spec.Template}, nil
}

// amended returns what ops make of an object.
func (r Rules) amended(kind workload.Kind, raw json.RawMessage, ops []strategy.Op) (object, error) {
	body, err := marshal(ops)
	if err != nil {
		return object{}, err
	}
	patch, err := jsonpatch.DecodePatch(body)
	if err != nil {
		return object{}, fmt.Errorf("decode JSON patch: %w", err)
	}
	if raw, err = patch.Apply(raw); err != nil {
		return object{}, fmt.Errorf("restore the marks of a %s: %w", kind.Kind, err)
	}
	return r.parse(kind, raw)
}

// needs are the configs that may reload a workload, as far as they are known by name: those that it lists, and those that it refers to and a
// pattern matches. Those of other clusters have no marks, and those of other namespaces are left to the dispatcher: what the webhook reads, and
// whoever makes it read, stay in one namespace.
func needs(plan *dialect.Plan) []reloader.Config {
	found := slices.Clone(plan.Names)
	for c := range plan.Workload.Template.References {
		if plan.Matches(c) {
			found = append(found, c)
		}
	}
	slices.SortFunc(found, compareConfigs)
	return slices.DeleteFunc(slices.Compact(found), func(c reloader.Config) bool { return c.Cluster != "" || c.Namespace != plan.Workload.Namespace })
}

// restore returns the operations that give back to now the marks of old that it has dropped, in their places.
func (r Rules) restore(plan *dialect.Plan, old, now object) []strategy.Op {
	var ops []strategy.Op
	for i, c := range now.template.Spec.Containers {
		j := slices.IndexFunc(old.template.Spec.Containers, func(o corev1.Container) bool { return o.Name == c.Name })
		if j >= 0 {
			wanted := func(name string) bool { return wantsVariable(plan, now.Workload, c.Name, name) }
			ops = append(ops, restoreVariables(now.Template.Path, i, c.Env, old.template.Spec.Containers[j].Env, old.Template.Containers[j].Marks, wanted)...)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(old.Template.Annotations)) {
		if _, kept := now.Template.Annotations[key]; !kept && marksTemplate(plan, key) {
			ops = append(ops, strategy.AnnotateTemplate(now.Workload, key, old.Template.Annotations[key])...)
		}
	}
	for _, key := range []string{strategy.LastReloadKey, strategy.BroughtKey} {
		value, had := old.Annotations[key]
		if _, kept := now.Annotations[key]; had && !kept {
			ops = append(ops, strategy.Annotate(now.Workload, key, value)...)
		}
	}
	return ops
}

// marksTemplate reports whether annotations of that key in the pod template are marks of a tool that the workload is opted in to.
func marksTemplate(plan *dialect.Plan, key string) bool {
	if slices.Contains([]string{strategy.ConfigDigestKey, strategy.RequestedKey, strategy.LastReloadedFromKey}, key) {
		return true
	}
	return slices.ContainsFunc(plan.Enabled, func(d *dialect.Dialect) bool { return d.WritesAnnotation(key) })
}

// wantsVariable reports whether a variable of a container of w is the mark of a config that w still has to do with. If patterns say which
// those are, all may be.
func wantsVariable(plan *dialect.Plan, w *workload.Workload, container, name string) bool {
	if len(plan.Patterns) > 0 {
		return true
	}
	is := func(c reloader.Config) bool {
		return name == strategy.EnvName(c) && container == strategy.ContainerName(w, c) ||
			name == strategy.CollaborneEnvName(c) || name == strategy.Fabric8EnvName(c)
	}
	return slices.ContainsFunc(plan.Names, is) || slices.ContainsFunc(slices.Collect(maps.Keys(w.Template.References)), is)
}

func compareConfigs(a, b reloader.Config) int {
	switch x, y := a.String(), b.String(); {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}
