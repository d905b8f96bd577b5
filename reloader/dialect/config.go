package dialect

import (
	"slices"

	"github.com/reroll-dev/reroll/reloader"
)

const (
	// ShareKey is the annotation of the owner of a config that lets workloads of other namespaces, separated by commas, or of all, *, reload
	// for it.
	ShareKey = OwnPrefix + "share-with"
	// FollowersKey on a config lists the clusters whose workloads may follow it, separated by commas; * is every cluster.
	FollowersKey = OwnPrefix + "followers"
)

// ConfigMeta is a config with its annotations and labels.
type ConfigMeta struct {
	Config      reloader.Config
	Annotations map[string]string
	Labels      map[string]string
	// Unselected says that the config's labels do not match those that the installation asks for.
	Unselected bool
	// Followed says that workloads of the config's own cluster may follow it.
	Followed bool
}

// ShowsTo reports whether workloads of a namespace may know anything of the config: it is their own, or it names them or their cluster. One of another
// cluster is known by what its owner sends, after asking for the consent.
func (c ConfigMeta) ShowsTo(namespace string) bool {
	return c.Config.Cluster != "" || c.Config.Namespace == namespace || c.Followed || consents(c.Annotations[ShareKey], namespace)
}

// MayFollow reports whether a config with these annotations lets workloads of a cluster follow it. A config that is ignored does not.
func MayFollow(annotations map[string]string, cluster string) bool {
	return annotations[ownIgnore] != exactlyTrue && consents(annotations[FollowersKey], cluster)
}

// consents reports whether a list has a name, or * for all.
func consents(list, name string) bool {
	all := slices.Collect(items(list))
	return slices.Contains(all, name) || slices.Contains(all, "*")
}
