package world

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// Probe says what sentinels look like, so that the Reroll of the line reacts to them.
type Probe struct {
	// Kinds are a workload of each kind that is waited for, since each kind is watched by itself. Empty: those of the group apps.
	Kinds []string `json:"kinds,omitempty"`
	// Annotation is the key that opts in. Empty: reloader.stakater.com/auto.
	Annotation string `json:"annotation,omitempty"`
	// Config is the kind of the config; a ConfigMap if it is empty.
	Config string `json:"config,omitempty"`
	// Labels are those of the config.
	Labels map[string]string `json:"labels,omitempty"`
	// Without are namespaces in which Reroll does not react to anything.
	Without []string `json:"without,omitempty"`
}

// ProbeFor returns a probe to which a Reroll with flags reacts: where ConfigMaps are ignored, its config is a Secret.
func ProbeFor(flags []string) Probe {
	if slices.Contains(flags, "--resources-to-ignore=configMaps") {
		return Probe{Config: "Secret"}
	}
	return Probe{}
}

func (p Probe) kinds() []string {
	if len(p.Kinds) == 0 {
		return []string{"Deployment", "StatefulSet", "DaemonSet"}
	}
	return p.Kinds
}

func (p Probe) config() string { return cmp.Or(p.Config, "ConfigMap") }

const sentinelPrefix = "sentinel-"

// Quiesce makes new sentinels, waits until Reroll has a baseline for them, edits their config and waits until they have rolled:
// whatever was seen before them has been dealt with by then.
func (w *World) Quiesce(ctx context.Context) error {
	for namespace := range w.namespaces {
		if slices.Contains(w.options.Probe.Without, namespace) {
			continue
		}
		if err := w.probe(ctx, namespace); err != nil {
			return fmt.Errorf("quiesce: %w", err)
		}
	}
	return nil
}

func (w *World) probe(ctx context.Context, namespace string) error {
	w.probes++
	name := fmt.Sprintf("%s%d", sentinelPrefix, w.probes)
	kinds, configs := w.options.Probe.kinds(), w.in(w.options.Probe.config(), namespace)
	if _, err := configs.Create(ctx, w.options.Probe.object(name), metav1.CreateOptions{}); err != nil {
		return err
	}
	for _, kind := range kinds {
		if _, err := w.in(kind, namespace).Create(ctx, w.options.Probe.sentinel(kind, name), metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	if err := w.settled(ctx, namespace, name, len(kinds)); err != nil {
		return err
	}
	for round := range 2 { // hints are verified in parallel: the second round begins when the first is done
		body := fmt.Appendf(nil, `{"data":{"probe":"%s"}}`, []string{"MQ==", "Mg=="}[round])
		if _, err := configs.Patch(ctx, name, types.MergePatchType, body, metav1.PatchOptions{}); err != nil {
			return err
		}
		if err := w.reloaded(ctx, namespace, name, (round+1)*len(kinds)); err != nil {
			return err
		}
	}
	return nil
}

// object returns the sentinels' config. Its value is one of ConfigMaps and, in base64, of Secrets.
func (p Probe) object(name string) *unstructured.Unstructured {
	config := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": p.config(), "data": map[string]any{"probe": "MA=="},
	}}
	config.SetName(name)
	config.SetLabels(p.Labels)
	return config
}

// sentinel returns a workload that uses the config of its name.
func (p Probe) sentinel(kind, name string) *unstructured.Unstructured {
	labels := map[string]any{"app": name}
	source := "configMapRef"
	if p.config() == "Secret" {
		source = "secretRef"
	}
	template := map[string]any{
		"metadata": map[string]any{"labels": labels},
		"spec": map[string]any{"containers": []any{map[string]any{
			"name": "main", "image": "registry.example/none:1",
			"envFrom": []any{map[string]any{source: map[string]any{"name": name}}},
		}}},
	}
	spec := map[string]any{"selector": map[string]any{"matchLabels": labels}, "template": template}
	switch kind {
	case "StatefulSet":
		spec["serviceName"] = name
	case "DeploymentConfig":
		spec["selector"] = labels
	case "Job", "CronJob":
		template["spec"].(map[string]any)["restartPolicy"] = "Never"
		spec = map[string]any{"template": template}
	}
	if kind == "CronJob" {
		spec = map[string]any{"schedule": "0 0 1 1 *", "jobTemplate": map[string]any{"spec": spec}}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": scenario.Resource(kind).GroupVersion().String(), "kind": kind, "spec": spec,
		"metadata": map[string]any{
			"name": name, "annotations": map[string]any{cmp.Or(p.Annotation, "reloader.stakater.com/auto"): "true"},
		},
	}}
}

// settled waits until every workload of a namespace has its baselines, the sentinels among them.
func (w *World) settled(ctx context.Context, namespace, name string, sentinels int) error {
	return line.Poll(ctx, func(ctx context.Context) error {
		settled, open, err := w.line.Reroll.Settled(ctx, w.Namespace(namespace))
		if err != nil {
			return err
		}
		found := 0
		for _, workload := range settled {
			if workload == name {
				found++
			}
		}
		if found != sentinels || open > 0 {
			return fmt.Errorf("%d of %d sentinels have a baseline, and %d workloads have not", found, sentinels, open)
		}
		return nil
	})
}

// reloaded waits until n reloads of the sentinels are on record; in a dry run, that is all that comes of an edit.
func (w *World) reloaded(ctx context.Context, namespace, name string, n int) error {
	return line.Poll(ctx, func(ctx context.Context) error {
		reloads, err := w.line.Reroll.Reloads(ctx, w.Namespace(namespace))
		if err != nil {
			return err
		}
		found := 0
		for _, r := range reloads {
			if r.Workload.Name == name {
				found++
			}
		}
		if found < n {
			return fmt.Errorf("%d of %d reloads of the sentinels are on record", found, n)
		}
		return nil
	})
}
