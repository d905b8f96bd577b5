package main

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/reroll-dev/reroll/tests/line"
)

// record is what the REST API says about a workload, as far as it tells what is wrong.
type record struct {
	Problems     []string        `json:"problems"`
	Hold         json.RawMessage `json:"hold"`
	Dependencies []struct {
		Why string `json:"why"`
	} `json:"dependencies"`
}

// said returns all that is said about a workload of the tenant, by the REST API and by Kubernetes Events.
func said(ctx context.Context, l *line.Line, events map[string]string, kind, name string) (string, error) {
	var r record
	if err := l.Reroll.Get(ctx, "/api/v1/workloads/"+line.ClusterName+"/"+tenant+"/"+kind+"/"+name, &r); err != nil {
		return "", err
	}
	text := strings.Join(r.Problems, "\n") + "\n" + string(r.Hold) + "\n" + events[kind+"/"+name]
	for _, d := range r.Dependencies {
		if !strings.Contains(text, d.Why) {
			text += "\n" + d.Why
		}
	}
	return text, nil
}

// eventsOf returns the messages of the Warning Events of the tenant, by kind and name of the workload.
func eventsOf(ctx context.Context, client kubernetes.Interface) (map[string]string, error) {
	list, err := client.CoreV1().Events(tenant).List(ctx, metav1.ListOptions{FieldSelector: "type=Warning"})
	if err != nil {
		return nil, err
	}
	events := map[string]string{}
	for _, e := range list.Items {
		events[e.InvolvedObject.Kind+"/"+e.InvolvedObject.Name] += e.Message + "\n"
	}
	return events, nil
}

// shown bounds what is shown of what is said.
const shown = 300

// silence waits until every workload of the tenant says what is wrong with it, and returns those that do not when ctx ends.
func (o options) silence(ctx context.Context, l *line.Line) (faults []string, heard map[string]string) {
	heard = map[string]string{}
	err := ask(ctx, func(ctx context.Context) error {
		events, err := eventsOf(ctx, l.Kube.Client())
		if err != nil {
			return err
		}
		faults = nil
		o.each(func(t trick, p place) {
			if regexp.MustCompile(t.says).MatchString(heard[p.name]) {
				return
			}
			text, err := said(ctx, l, events, t.makes(smallest, p).kind, p.name)
			if err == nil {
				heard[p.name] = text
			}
			if !regexp.MustCompile(t.says).MatchString(heard[p.name]) {
				faults = append(faults, fmt.Sprintf("%s does not say what is wrong (%s): %.*q, error %v", p.name, t.says, shown, heard[p.name], err))
			}
		})
		if len(faults) > 0 {
			return fmt.Errorf("%d do not say what is wrong", len(faults))
		}
		return nil
	})
	if err != nil && len(faults) == 0 {
		faults = append(faults, err.Error())
	}
	return faults, heard
}

// smallest is the smallest size, for what does not depend on it.
var smallest = options{Ordinary: 1, Namespaces: 1, Crowd: 1, Names: 1, Keys: 1}
