package queue

import (
	"fmt"
	"strings"

	"github.com/reroll-dev/reroll/reloader"
)

// The first two tokens of each subject are a prefix, and the third is the cluster that writes it: a hub exports subjects by that token.
// Subjects of configs and workloads continue with kind, namespace and name. The name comes last, so its dots separate further tokens.
const (
	hintPrefix     = "reroll.hint"
	changePrefix   = "reroll.change"
	reloadPrefix   = "reroll.reload"
	workloadPrefix = "reroll.workload"
	// configPrefix is followed by a config and has its newest change, so that a change can name keys however old the one before is.
	configPrefix = "reroll.config"
	// clusterPrefix is followed by the cluster and one of the tokens below.
	clusterPrefix = "reroll.cluster"
	// PositionPrefix is followed by the cluster and a stream, at a hub.
	PositionPrefix = "reroll.at"
	// CopyPrefix is followed by the owner, the target and the config, WantPrefix by the target and the owner, at a hub.
	CopyPrefix = "reroll.copy"
	WantPrefix = "reroll.want"

	uidToken     = "uid"
	statusToken  = "status"
	removedToken = "removed"
	// everyName stands for all configs of a namespace. No name of an object has an underscore.
	everyName = "_"
)

// StatusSubject returns the subject of the status of a cluster.
func StatusSubject(cluster string) string { return clusterPrefix + "." + cluster + "." + statusToken }

// RemovedSubject returns the subject on which a hub notes that it removed a cluster.
func RemovedSubject(cluster string) string { return clusterPrefix + "." + cluster + "." + removedToken }

// ConfigSubject returns the subject of c under a prefix that ends in the cluster that writes it. The kind is in lower case.
func ConfigSubject(prefix, cluster string, c reloader.Config) (string, error) {
	if err := c.Validate(); err != nil {
		return "", err
	}
	if c.Cluster != "" {
		return "", fmt.Errorf("%w: %s is a config of another cluster", reloader.ErrInvalidName, c)
	}
	if c.Name == "" && prefix != hintPrefix {
		return "", fmt.Errorf("%w: only a hint may be about a whole namespace", reloader.ErrInvalidName)
	}
	return join(prefix, cluster, string(c.Kind), c.Namespace, c.Name)
}

// workloadSubject returns the subject of ref in cluster under prefix.
func workloadSubject(prefix, cluster string, ref reloader.WorkloadRef) (string, error) {
	if err := ref.Validate(); err != nil {
		return "", err
	}
	return join(prefix, cluster, ref.Kind, ref.Namespace, ref.Name)
}

func join(prefix, cluster, kind, namespace, name string) (string, error) {
	if err := reloader.ValidateCluster(cluster); err != nil {
		return "", err
	}
	if kind = strings.ToLower(kind); reloader.ValidateCluster(kind) != nil { // one token, as a cluster is
		return "", fmt.Errorf("%w: kind %.80q", reloader.ErrInvalidName, kind)
	}
	if name == "" {
		name = everyName
	}
	return strings.Join([]string{prefix, cluster, kind, namespace, name}, "."), nil
}

// CutSubject returns the prefix of a subject and the cluster that writes it; empty if it is not one of ours.
func CutSubject(subject string) (prefix, cluster string) {
	tokens := strings.SplitN(subject, ".", 4)
	if len(tokens) < 4 || tokens[0] != "reroll" {
		return "", ""
	}
	return tokens[0] + "." + tokens[1], tokens[2]
}

// refOf returns the workload that a subject names. The kind is as given, since the subject has it in lower case.
func refOf(subject, kind string) (ref reloader.WorkloadRef, err error) {
	tokens := strings.SplitN(subject, ".", 6)
	if len(tokens) < 6 {
		return ref, fmt.Errorf("subject %.200q does not name a workload", subject)
	}
	ref = reloader.WorkloadRef{Kind: kind, Namespace: tokens[4], Name: tokens[5]}
	want, err := workloadSubject(workloadPrefix, tokens[2], ref)
	if err == nil && want != subject {
		err = fmt.Errorf("subject %.200q is not that of %s", subject, ref)
	}
	return ref, err
}
