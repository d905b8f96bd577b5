package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/reroll-dev/reroll/tests/line"
)

const (
	// hotSettle is hotReload.settle, and kubeletLag the longest time after which the files of a pod are new.
	hotSettle, kubeletLag = time.Second, 700 * time.Millisecond
	hotPods               = 4
)

// hot is a Deployment whose running pods take new content without a restart. Each pod is a server that reads its files when it is called; they are as late
// as the kubelet's.
type hot struct {
	world *world
	dice  *dice
	mu    sync.Mutex
	// writes are the contents of its ConfigMap, and has what each pod has read. asked counts the calls, and callers has the last one of each pod and change.
	writes  []stamped
	has     [hotPods]string
	asked   int
	callers map[string]caller
	doubled []fault
}

// caller is a process that asked a pod to take a change, and how often it did.
type caller struct{ process, times int }

// again takes note of a call for the same pod and change, and says what is wrong with it: another process asks while this one runs, or it asks more often
// than at once and after the longest time of kubelets.
func (c caller) again(process int, runs func(process int) bool) (next caller, wrong string) {
	switch {
	case c.process != process && c.times > 0 && runs(c.process):
		wrong = fmt.Sprintf("process %d asked it, and so did %d, which runs", process, c.process)
	case c.process != process:
		c = caller{process, 0}
	case c.times > 1:
		wrong = fmt.Sprintf("process %d asked it %d times", process, c.times+1)
	}
	c.times++
	return c, wrong
}

// runs reports whether a process is there.
func runs(process int) bool { return syscall.Kill(process, 0) == nil }

// stamped is a content that was stored by then.
type stamped struct {
	content string
	at      time.Time
}

var hotConfig = config{"ConfigMap", namespaces[0], "hot"}

// create makes the Deployment and its pods.
func (h *hot) create(ctx context.Context) error {
	h.writes, h.callers = []stamped{{firstContent, time.Now().Add(-time.Minute)}}, map[string]caller{}
	if _, err := h.world.in(hotConfig).Create(ctx, hotConfig.object(firstContent), metav1.CreateOptions{}); err != nil {
		return err
	}
	o := workload{"Deployment", hotConfig.Namespace, "hot", nil}.object()
	o.SetAnnotations(map[string]string{"reroll.dev/auto": "true", "reroll.dev/strategy": "http", "reroll.dev/http-reload": "POST :web/reload"})
	spec := map[string]any{
		"volumes":    []any{map[string]any{"name": "v", "configMap": map[string]any{"name": "hot"}}},
		"containers": []any{map[string]any{"name": "main", "image": "example.com/main", "volumeMounts": []any{map[string]any{"name": "v", "mountPath": "/v"}}}},
	}
	if err := unstructured.SetNestedField(o.Object, spec, "spec", "template", "spec"); err != nil {
		return err
	}
	if _, err := h.world.dynamic.Resource(resource("Deployment")).Namespace(hotConfig.Namespace).Create(ctx, o, metav1.CreateOptions{}); err != nil {
		return err
	}
	for i := range hotPods {
		h.has[i] = firstContent
		if err := line.RunPod(ctx, h.world.client, hotConfig.Namespace, "pod-template-hash", fmt.Sprint(i), metav1.OwnerReference{Name: "hot"}, &http.Server{Handler: h.reader(i)}); err != nil {
			return err
		}
	}
	return nil
}

// reader returns what answers for a pod.
func (h *hot) reader(i int) http.HandlerFunc {
	return func(_ http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.asked++
		agent := r.UserAgent() // reroll/VERSION (HOST/PROCESS CHANGE)
		text, change, _ := strings.Cut(agent[strings.LastIndexByte(agent, '/')+1:], " ")
		process, err := strconv.Atoi(text)
		pod := fmt.Sprintf("pod %d, change %s", i, change)
		next, wrong := h.callers[pod].again(process, runs)
		if h.callers[pod] = next; wrong != "" || err != nil {
			h.doubled = append(h.doubled, fault{doubled, pod, agent + ": " + wrong})
		}
		late := time.Now().Add(-h.dice.upTo(kubeletLag))
		for _, w := range h.writes {
			if w.at.Before(late) {
				h.has[i] = w.content
			}
		}
	}
}

// edit writes few contents at random, some of them again and again, until ctx ends. whole bounds what it has begun by then.
func (h *hot) edit(ctx, whole context.Context) {
	writer := &writer{world: h.world}
	for pause(ctx, h.dice.upTo(2*hotSettle)); ctx.Err() == nil; pause(ctx, h.dice.upTo(2*hotSettle)) {
		content := fmt.Sprint("hot-", h.dice.n(2))
		writer.store(whole, hotConfig, content, nil)
		h.mu.Lock()
		h.writes = append(h.writes, stamped{content, time.Now()})
		h.mu.Unlock()
	}
}

// faults says which pods have not read the newest content or were asked twice, and whether they were restarted.
func (h *hot) faults(ctx context.Context) (found []fault) {
	h.mu.Lock()
	defer h.mu.Unlock()
	newest := h.writes[len(h.writes)-1].content
	found = slices.Clone(h.doubled)
	for i, content := range h.has {
		if content != newest {
			found = append(found, fault{lost, fmt.Sprint("pod ", i), fmt.Sprintf("it has read %s, and the newest content is %s", content, newest)})
		}
	}
	d, err := h.world.client.AppsV1().Deployments(hotConfig.Namespace).Get(ctx, "hot", metav1.GetOptions{})
	if err == nil && d.Generation > 1 {
		found = append(found, fault{doubled, "Deployment hot", fmt.Sprintf("it rolled %d times", d.Generation-1)})
	}
	return found
}
