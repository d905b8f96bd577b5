package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/reroll-dev/reroll/tests/scenario"
)

// namespaces are where everything is; there are two, so that a sweep has several lists to go through.
var namespaces = []string{"chaos-0", "chaos-1"}

// kinds are the workloads, which take turns.
var kinds = []string{"Deployment", "StatefulSet", "DaemonSet"}

// resource returns where workloads of a kind are.
func resource(kind string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: strings.ToLower(kind) + "s"}
}

// world is what the cluster holds: configs, and workloads that use two of them each.
type world struct {
	client    kubernetes.Interface
	dynamic   dynamic.Interface
	configs   []config
	workloads []workload
}

type workload struct {
	kind, namespace, name string
	uses                  []config
}

func (w workload) String() string { return w.kind + "/" + w.namespace + "/" + w.name }

// newWorld lays out a world. Nothing is created yet.
func newWorld(configs, workloads int) *world {
	w := &world{}
	for i := range configs {
		c := config{"ConfigMap", namespaces[i%len(namespaces)], fmt.Sprintf("config-%d", i)}
		if i/len(namespaces)%2 == 1 {
			c.Kind, c.Name = "Secret", fmt.Sprintf("secret-%d", i)
		}
		w.configs = append(w.configs, c)
	}
	for i := range workloads {
		first := i % configs
		// The steps are even, since the namespaces of configs alternate and a workload sees its own alone.
		second := (first + 2 + i/configs*4) % configs
		uses := []config{w.configs[first]}
		if w.configs[second].Namespace == uses[0].Namespace && second != first {
			uses = append(uses, w.configs[second])
		}
		w.workloads = append(w.workloads, workload{kinds[i%len(kinds)], uses[0].Namespace, fmt.Sprintf("web-%d", i), uses})
	}
	return w
}

// create makes the whole world, each config with its first content.
func (w *world) create(ctx context.Context, content string) error {
	for _, name := range namespaces {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := w.client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	for _, c := range w.configs {
		if _, err := w.in(c).Create(ctx, c.object(content), metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	for _, o := range w.workloads {
		if _, err := w.dynamic.Resource(resource(o.kind)).Namespace(o.namespace).Create(ctx, o.object(), metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// in returns where a config lives.
func (w *world) in(c config) dynamic.ResourceInterface {
	return w.dynamic.Resource(schema.GroupVersionResource{Version: "v1", Resource: strings.ToLower(c.Kind) + "s"}).Namespace(c.Namespace)
}

// key is the one key of every config.
const key = "k"

// object returns a config with a content.
func (c config) object(content string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": c.Kind, "metadata": map[string]any{"name": c.Name, "namespace": c.Namespace},
	}}
	c.setContent(o, content)
	return o
}

func (c config) setContent(o *unstructured.Unstructured, content string) {
	if c.Kind == "Secret" {
		content = base64.StdEncoding.EncodeToString([]byte(content))
	}
	o.Object["data"] = map[string]any{key: content}
}

// content returns what an object of this config holds.
func (c config) content(o *unstructured.Unstructured) string {
	content, _, _ := unstructured.NestedString(o.Object, "data", key)
	if c.Kind == "Secret" {
		plain, _ := base64.StdEncoding.DecodeString(content) // the API server stores nothing else
		content = string(plain)
	}
	return content
}

// variable is the environment variable in which Stakater Reloader, and Reroll like it, keeps the mark of this config.
func (c config) variable() string {
	return "STAKATER_" + strings.ToUpper(strings.ReplaceAll(c.Name, "-", "_")) + "_" + strings.ToUpper(c.Kind)
}

// hash is the mark that stands for a content.
func hash(content string) string {
	return scenario.StakaterHash(key + "=" + content)
}

// object returns a workload that asks for reloads of all it uses.
func (w workload) object() *unstructured.Unstructured {
	var from []any
	for _, c := range w.uses {
		field := "configMapRef"
		if c.Kind == "Secret" {
			field = "secretRef"
		}
		from = append(from, map[string]any{field: map[string]any{"name": c.Name}})
	}
	labels := map[string]any{"app": w.name}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": w.kind,
		"metadata": map[string]any{
			"name": w.name, "namespace": w.namespace,
			"annotations": map[string]any{"reloader.stakater.com/auto": "true"},
		},
		"spec": map[string]any{
			"selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{
				"metadata": map[string]any{"labels": labels},
				"spec": map[string]any{"containers": []any{map[string]any{
					"name": "main", "image": "example.com/main", "envFrom": from,
				}}},
			},
		},
	}}
}

// marks reads what a workload's template says about the configs that it uses.
func (w workload) marks(o *unstructured.Unstructured) marks {
	found := marks{}
	containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
	for _, container := range containers {
		env, _, _ := unstructured.NestedSlice(container.(map[string]any), "env")
		for _, entry := range env {
			for _, c := range w.uses {
				if v := entry.(map[string]any); v["name"] == c.variable() {
					found[c], _ = v["value"].(string)
				}
			}
		}
	}
	return found
}
