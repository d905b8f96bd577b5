package dialect

import (
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/digest"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Joint makes one mark of all configs that a dialect is interested in.
type Joint struct {
	// Reads says that the mark is made of contents: without, a Part has none.
	Reads bool
	// Values returns the mark that is to be written for w, and then those that prove as well that w runs with parts. A config that is not shown
	// to w's namespace is none of them: whoever may write w could stamp guesses of its content on w, and see which of them is right.
	Values func(w *workload.Workload, parts map[reloader.Config]Part) []string
	// Keyed is Values with the keyed mark first; nil if there is only one kind of mark that is made of content.
	Keyed func(w *workload.Workload, parts map[reloader.Config]Part) []string
	// Leaves reports whether the mark of w may be the same whether c is there or not; nil if it never is.
	Leaves func(w *workload.Workload, c reloader.Config) bool
}

// Part is a config as far as a joint mark is concerned. The zero Part stands for one that is absent.
type Part struct {
	UID, ResourceVersion string
	// Sum is the digest of the content, Keys has one of each key, and KeyID names the key under which they were made.
	Sum, KeyID string
	Keys       map[string]string
	// Content is what the config holds; it must not be kept.
	Content digest.Content
}

// tools are the kinds of workload that all tools but Stakater Reloader and Reroll itself look after at most.
var tools = []string{workload.Deployment.Kind, workload.StatefulSet.Kind, workload.DaemonSet.Kind, workload.DeploymentConfig.Kind}

// plainConfigs are the kinds of config that these tools know.
var plainConfigs = []reloader.ConfigKind{reloader.ConfigMap, reloader.Secret}
