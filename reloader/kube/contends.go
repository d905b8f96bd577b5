package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	// ErrNoDispatcher means that no pod in Reroll's own namespace decides and rolls.
	ErrNoDispatcher = errors.New("no pod of a dispatcher is there")
	// ErrNotSaid means that a dispatcher's settings are not all in its pod.
	ErrNotSaid = errors.New("the settings of a dispatcher are not all in its pod")
)

// Contends reports whether the dispatchers in Reroll's own namespace stand for a Lease, by the arguments and environment of their pods. Pods
// that end, or have ended, do not count. It fails with ErrNoDispatcher if there are none, and with ErrNotSaid if that may be said elsewhere.
func (c *Cluster) Contends(ctx context.Context) (bool, error) {
	pods, err := c.client.CoreV1().Pods(c.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, fmt.Errorf("list the pods of namespace %s: %w", c.Namespace, err)
	}
	found := map[answer]bool{}
	for i := range pods.Items {
		for _, container := range pods.Items[i].Spec.Containers {
			if !hasEnded(&pods.Items[i]) && dispatches(container) {
				found[contends(container)] = true
			}
		}
	}
	switch {
	case found[yes]:
		return true, nil
	case found[unsaid]:
		return false, fmt.Errorf("namespace %s: %w", c.Namespace, ErrNotSaid)
	case found[no]:
		return false, nil
	}
	return false, fmt.Errorf("namespace %s: %w", c.Namespace, ErrNoDispatcher)
}

func hasEnded(p *corev1.Pod) bool {
	return p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// dispatches reports whether a container decides and rolls.
func dispatches(c corev1.Container) bool {
	words := slices.Concat(c.Command, c.Args)
	return slices.Contains(words, "serve") || slices.Contains(words, "dispatch")
}

// answer is what a container says of a setting.
type answer int

const (
	no answer = iota
	yes
	// unsaid is what its pod does not say.
	unsaid
)

// contends says whether a container stands for a Lease, which a dry run does not.
func contends(c corev1.Container) answer {
	switch ha, dry := truth(c, "enable-ha"), truth(c, "dry-run"); {
	case ha == no || dry == yes:
		return no
	case ha == yes && dry == no:
		return yes
	}
	return unsaid
}

// truth returns the truth value of a setting that is false by default: of its flag, or else of its variable, or else of a file, which is not seen.
func truth(c corev1.Container, flag string) answer {
	if text, given := flagOf(c, flag); given {
		return truthOf(text)
	}
	if v, given := variable(c, flag); given {
		if v.ValueFrom != nil {
			return unsaid
		}
		return truthOf(v.Value)
	}
	if saysElsewhere(c) {
		return unsaid
	}
	return no
}

// saysElsewhere reports whether settings may be in a file, or in objects whose keys are variables.
func saysElsewhere(c corev1.Container) bool {
	if len(c.EnvFrom) > 0 {
		return true
	}
	if file, given := flagOf(c, "config"); given {
		return file != ""
	}
	v, _ := variable(c, "config")
	return v.Value != "" || v.ValueFrom != nil
}

func truthOf(text string) answer {
	switch value, err := strconv.ParseBool(text); {
	case err != nil: // one that refers to a variable, or with which nothing starts
		return unsaid
	case value:
		return yes
	}
	return no
}

// flagOf returns the last value of a flag, which is true if it has none.
func flagOf(c corev1.Container, flag string) (text string, given bool) {
	for _, word := range slices.Concat(c.Command, c.Args) {
		if value, is := strings.CutPrefix(word, "--"+flag+"="); is {
			text, given = value, true
		} else if word == "--"+flag {
			text, given = "true", true
		}
	}
	return text, given
}

// variable returns the last variable that stands for a flag.
func variable(c corev1.Container, flag string) (found corev1.EnvVar, given bool) {
	name := "REROLL_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
	for _, v := range c.Env {
		if v.Name == name {
			found, given = v, true
		}
	}
	return found, given
}
