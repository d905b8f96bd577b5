package cli

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader/near"
)

// shortForm says how little names a workload.
const shortForm = "A workload that is the only one of its name among those on record may be named by NAME or NAMESPACE/NAME."

// maxNamed is how many workloads are named to choose from.
const maxNamed = 10

// find finds out which workload is meant. What the command line leaves open is looked up among the workloads on record.
func (s *session) find(text string, where scope) (ref, error) {
	r, err := looseRef(text)
	if err != nil {
		return r, err
	}
	if r, err = r.within(where); err != nil {
		return r, err
	}
	if r.cluster != "" {
		if err := s.checkCluster(r.cluster); err != nil || r.namespace != "" && r.kind != "" {
			return r, err
		}
	}
	named := scope{cluster: r.cluster, namespace: r.namespace}.query()
	set(named, "kind", r.kind)
	set(named, "name", r.name)
	l, err := list[view.Workload](s, s.client, "/api/v1/workloads", named, maxNamed+1, silently)
	var refused *refusal
	switch {
	case errors.As(err, &refused) && refused.status == http.StatusForbidden && r.namespace == "":
		return r, Usage(fmt.Errorf("in which namespace is %s? Name it with -n, or as NAMESPACE/KIND/NAME: you may not look everywhere", text))
	case err != nil:
		return r, err
	case len(l.items) == 1:
		w := l.items[0]
		return workloadRef(w.Cluster, w.Workload), nil
	case len(l.items) > 1:
		return r, ambiguous(text, r, l.items)
	case r.namespace != "" && r.kind != "":
		return s.only(r) // that it is not on record is the answer
	}
	return r, s.unknown(r)
}

// looseRef reads a ref that may lack everything but its name.
func looseRef(text string) (ref, error) {
	parts := strings.Split(text, "/")
	if !slices.Contains(parts, "") {
		if len(parts) == 1 {
			return ref{name: text}, nil
		}
		if _, err := kindOf(parts[0], workloadKinds()); err != nil && len(parts) == 2 {
			return ref{namespace: parts[0], name: parts[1]}, nil
		}
	}
	return parseRef(text, workloadKinds())
}

// ambiguous asks which of several workloads is meant.
func ambiguous(text string, r ref, found []view.Workload) error {
	var names, clusters []string
	name := namesOf(found)
	for _, w := range found {
		names, clusters = append(names, name(w)), append(clusters, w.Cluster)
	}
	if r.namespace != "" && r.kind != "" {
		return Usage(fmt.Errorf("in which cluster is %s? Name it with --cluster: %s", r, strings.Join(clusters[:min(len(clusters), maxNamed)], ", ")))
	}
	return ChooseAmong(text, names)
}

// unknown says that no workload of that name is on record, and which one was probably meant.
func (s *session) unknown(r ref) error {
	what := "there is no opted-in workload " + r.name
	if r.namespace != "" {
		what += " in namespace " + r.namespace
	}
	full := map[string]string{}
	var names []string
	l, _ := list[view.Workload](s, s.client, "/api/v1/workloads", scope{cluster: r.cluster}.query(), completionItems, silently) // what cannot be read is not proposed
	for _, w := range l.items {
		names = append(names, w.Workload.Name)
		full[w.Workload.Name] = workloadRef("", w.Workload).String()
	}
	meant, ok := near.Word(r.name, names)
	if !ok && full[r.name] != "" {
		meant, ok = r.name, true // elsewhere
	}
	if ok {
		return fmt.Errorf("%s; did you mean %s?", what, full[meant])
	}
	return fmt.Errorf("%s. `reroll workloads` lists those that there are; NAMESPACE/KIND/NAME explains one that is not opted in", what)
}
