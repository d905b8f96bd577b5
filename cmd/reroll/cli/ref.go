package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// ref names one workload or config, as far as the command line does.
type ref struct{ cluster, namespace, kind, name string }

// refForm is how a ref is written.
const refForm = "[[CLUSTER/]NAMESPACE/]KIND/NAME"

func quote(text string) string { return strconv.Quote(text) }

// shortKinds are the short names that kubectl knows.
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

// Workload reads [NAMESPACE/][KIND/]NAME, which names a workload, in a namespace that a flag may give. What is left open is empty.
func Workload(text, namespace string) (reloader.WorkloadRef, error) {
	r, err := looseRef(text)
	if err == nil && r.cluster != "" {
		err = Usage(fmt.Errorf("%.300q is not NAMESPACE/KIND/NAME, such as shop/Deployment/web", text))
	}
	if err == nil {
		r, err = r.within(scope{namespace: namespace})
	}
	w := reloader.WorkloadRef{Kind: r.kind, Namespace: r.namespace, Name: r.name}
	if err != nil {
		return w, err
	}
	whole := reloader.WorkloadRef{Kind: cmp.Or(w.Kind, "Deployment"), Namespace: cmp.Or(w.Namespace, "default"), Name: w.Name}
	return w, Usage(whole.Validate())
}

// ChooseAmong asks which of several workloads is meant.
func ChooseAmong(text string, names []string) error {
	if len(names) > maxNamed {
		names = append(slices.Clone(names[:maxNamed]), "and more")
	}
	return Usage(fmt.Errorf("which %s is meant? Name one of %s", text, strings.Join(names, ", ")))
}

// AboutOne is the check of the arguments of a command about a workload. Who writes the kind and the name as two arguments is told how to.
func AboutOne(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 2 {
			if _, err := kindOf(args[0], workloadKinds()); err == nil {
				return fmt.Errorf("use KIND/NAME, such as %s/%s", args[0], args[1])
			}
		}
		return check(cmd, args)
	}
}

// kindOf returns the kind of a list that text means: in any case, in the plural, or by its short name.
func kindOf(text string, kinds []string) (string, error) {
	lower := strings.ToLower(text)
	for _, kind := range kinds {
		if name := strings.ToLower(kind); lower == name || lower == name+"s" || lower == name+"es" || shortKinds[lower] == kind {
			return kind, nil
		}
	}
	return "", Usage(fmt.Errorf("%q is not one of the kinds %s", text, strings.Join(kinds, ", ")))
}

// parseRef reads a ref. Its last two parts are always there.
func parseRef(text string, kinds []string) (r ref, err error) {
	parts := strings.Split(text, "/")
	if len(parts) < 2 || len(parts) > 4 || slices.Contains(parts, "") {
		return ref{}, Usage(fmt.Errorf("%.300q is not %s, such as shop/%s/%s", text, refForm, kinds[0], example(parts)))
	}
	slices.Reverse(parts)
	r.name = parts[0]
	if r.kind, err = kindOf(parts[1], kinds); err != nil {
		return ref{}, err
	}
	if len(parts) > 2 {
		r.namespace = parts[2]
	}
	if len(parts) > 3 {
		r.cluster = parts[3]
	}
	return r, nil
}

// example returns a name to show the form of a ref with: the one that was meant, as far as there is one.
func example(parts []string) string {
	if name := parts[len(parts)-1]; len(parts) == 1 && name != "" && len(name) <= 63 {
		return name
	}
	return "cart"
}

// in is within for a ref whose namespace must be known then.
func (r ref) in(s scope) (ref, error) {
	r, err := r.within(s)
	if err == nil && r.namespace == "" {
		err = Usage(fmt.Errorf("in which namespace is %s/%s? Name it with -n, or as NAMESPACE/%s/%s", r.kind, r.name, r.kind, r.name))
	}
	return r, err
}

// within fills in what the ref leaves open from flags, which must not say something else.
func (r ref) within(s scope) (ref, error) {
	r.namespace, r.cluster = cmp.Or(r.namespace, s.namespace), cmp.Or(r.cluster, s.cluster)
	if s.namespace != "" && s.namespace != r.namespace || s.cluster != "" && s.cluster != r.cluster {
		return r, Usage(fmt.Errorf("%s is not where the flags say", r))
	}
	return r, nil
}

// String returns r as it is written.
func (r ref) String() string {
	text := r.kind + "/" + r.name
	for _, part := range []string{r.namespace, r.cluster} {
		if part == "" {
			return text
		}
		text = part + "/" + text
	}
	return text
}
