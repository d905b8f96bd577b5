package cli

import (
	"cmp"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// ref names one workload or config, as far as the command line does.
type ref struct{ cluster, namespace, kind, name string }

// How a workload and a config are written.
const (
	workloadForm = "[NAMESPACE/]KIND/NAME"
	configForm   = "[[CLUSTER/]NAMESPACE/]KIND/NAME"
)

var shortKinds = map[string]string{
	"deploy": "Deployment", "sts": "StatefulSet", "ds": "DaemonSet", "cj": "CronJob", "ro": "Rollout", "dc": "DeploymentConfig", "cm": "ConfigMap",
}

func workloadKinds() (names []string) {
	for _, k := range workload.Kinds {
		names = append(names, k.Kind)
	}
	return names
}

func configKinds() (names []string) {
	for _, k := range reloader.ConfigKinds {
		names = append(names, string(k))
	}
	return names
}

// kindOf returns the kind of a list that text means: in any case, in the plural, or by its short name.
func kindOf(text string, kinds []string) (string, bool) {
	lower := strings.ToLower(text)
	i := slices.IndexFunc(kinds, func(kind string) bool {
		name := strings.ToLower(kind)
		return lower == name || lower == name+"s" || lower == name+"es" || shortKinds[lower] == kind
	})
	if i < 0 {
		return "", false
	}
	return kinds[i], true
}

// one joins the arguments that name one object: KIND NAME means KIND/NAME.
func one(args []string) string { return strings.Join(args, "/") }

// oneObject is the check of those arguments.
var oneObject = cobra.RangeArgs(1, 2)

// parseRef reads a ref, and fills in what it leaves open from the flags. loose says that the kind may be open.
func (g *globals) parseRef(text string, kinds []string, loose bool) (r ref, err error) {
	parts := strings.Split(text, "/")
	slices.Reverse(parts)
	if len(parts) > 4 || slices.Contains(parts, "") || len(parts) < 2 && !loose {
		return r, usagef("%.300q is not %s, such as shop/%s/cart", text, configForm, kinds[0])
	}
	r.name = parts[0]
	rest := parts[1:]
	if len(rest) > 0 {
		kind, known := kindOf(rest[0], kinds)
		switch {
		case known:
			r.kind, rest = kind, rest[1:]
		case !loose || len(rest) > 1 || g.namespace != "":
			return r, usagef("%.300q is not one of the kinds %s", rest[0], strings.Join(kinds, ", "))
		}
	}
	if len(rest) > 0 {
		r.namespace = rest[0]
	}
	if len(rest) > 1 {
		r.cluster = rest[1]
	}
	r.namespace, r.cluster = cmp.Or(r.namespace, g.namespace), cmp.Or(r.cluster, g.cluster)
	if g.namespace != "" && g.namespace != r.namespace || g.cluster != "" && g.cluster != r.cluster {
		return r, usagef("%s contradicts --namespace or --cluster", r)
	}
	return r, nil
}

// placed reads a ref whose namespace must not be open.
func (g *globals) placed(text string, kinds []string) (ref, error) {
	r, err := g.parseRef(text, kinds, false)
	if err == nil && r.namespace == "" {
		err = usagef("in which namespace is %s? Name it with -n, or as NAMESPACE/%s", r, r)
	}
	return r, err
}

// String returns r as it is written.
func (r ref) String() string {
	parts := slices.DeleteFunc([]string{r.cluster, r.namespace, r.kind, r.name}, func(part string) bool { return part == "" })
	return strings.Join(parts, "/")
}

// query returns the parts of r that are known, by the names of parameters.
func (r ref) query(cluster, namespace, kind, name string) url.Values {
	q := url.Values{}
	for parameter, value := range map[string]string{cluster: r.cluster, namespace: r.namespace, kind: r.kind, name: r.name} {
		set(q, parameter, value)
	}
	return q
}

func workloadRef(cluster string, w reloader.WorkloadRef) ref {
	return ref{cluster: cluster, namespace: w.Namespace, kind: w.Kind, name: w.Name}
}

func configRef(cluster string, c reloader.Config) ref {
	return ref{cluster: cluster, namespace: c.Namespace, kind: string(c.Kind), name: c.Name}
}

// nearName names a config, with its namespace and cluster if they are not those of a workload.
func nearName(c reloader.Config, w reloader.WorkloadRef) string {
	r := configRef(c.Cluster, c)
	if r.cluster == "" && r.namespace == w.Namespace {
		r.namespace = ""
	}
	return r.String()
}

// maxNamed is how many workloads of a name are read, and named if one of them must be chosen.
const maxNamed = 10

// find returns the workload that is meant. What the command line leaves open is looked up among the workloads on record.
func (s *session) find(text string) (ref, error) {
	r, err := s.parseRef(text, workloadKinds(), true)
	if err != nil {
		return r, err
	}
	if err := s.checkCluster(r.cluster); err != nil {
		return r, err
	}
	l, err := list[view.Workload](s, s.client, "workloads", r.query("cluster", "namespace", "kind", "name"), maxNamed)
	if err != nil {
		return r, err
	}
	var names []string
	for _, w := range l.items {
		names = append(names, workloadRef(w.Cluster, w.Workload).String())
	}
	switch {
	case len(names) == 1:
		return workloadRef(l.items[0].Cluster, l.items[0].Workload), nil
	case len(names) > 1:
		return r, usagef("which %s is meant? Name one of %s", text, strings.Join(names, ", "))
	case r.namespace != "" && r.kind != "":
		return s.only(r) // that it is not on record is the answer
	}
	return r, errors.New("found no workload " + r.String() + " on record. List them with: " + s.typed(s.cmd, "reroll get workloads -A"))
}

// clusters returns those of a name, or all.
func (s *session) clusters(name string) (listing[view.Cluster], error) {
	q := url.Values{}
	set(q, "name", name)
	return list[view.Cluster](s, s.client, "clusters", q, 0)
}

func (s *session) knownClusters() (names []string, err error) {
	l, err := s.clusters("")
	for _, c := range l.items {
		names = append(names, c.Cluster)
	}
	return names, err
}

// checkCluster refuses a cluster that the API does not know. A user who may not list clusters gets no such answer.
func (s *session) checkCluster(name string) error {
	if name == "" {
		return nil
	}
	names, err := s.knownClusters()
	if err != nil || len(names) == 0 || slices.Contains(names, name) {
		return nil //nolint:nilerr // the question itself says what is wrong
	}
	return usagef("unknown cluster %s; Reroll knows %s", name, strings.Join(names, ", "))
}

// only fills in the cluster of a ref: there must be one alone if the command line names none.
func (s *session) only(r ref) (ref, error) {
	if r.cluster != "" {
		return r, nil
	}
	names, err := s.knownClusters()
	switch {
	case err != nil:
		return r, err
	case len(names) == 0:
		return r, errors.New("no cluster is known yet; name it with --cluster")
	case len(names) > 1:
		return r, usagef("in which cluster is %s? Name it with --cluster: %s", r, strings.Join(names, ", "))
	}
	r.cluster = names[0]
	return r, nil
}

func set(q url.Values, name, value string) {
	if value != "" {
		q.Set(name, value)
	}
}
