package cli

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/api/view"
	"github.com/reroll-dev/reroll/cmd/reroll/config"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/adoption"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/digest"
	"github.com/reroll-dev/reroll/reloader/kube"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// What manifests would do to a config that is live.
const (
	wouldCreate = "Created"
	wouldUpdate = "Updated"
	wouldKeep   = "Unchanged"
	// wouldPerhaps is of a config that the user may not read.
	wouldPerhaps = "Unknown"
)

// comparison compares manifests with a cluster, by the user's own rights.
type comparison struct {
	cluster *kube.Cluster
	// creations says that the creation of a config rolls those that ask for it.
	creations bool
	// hot is which reloads without a restart are allowed.
	hot  config.HotReload
	ring *digest.Ring
	// asking are the workloads that ask for configs.
	asking []dialect.Plan
}

// compare says what applying manifests would roll. Reroll need not run in the cluster.
func (f *impactFlags) compare(ctx context.Context, proposals []proposal) (found []foreseen, err error) {
	settings, err := f.settings.Read()
	if err != nil {
		return nil, Usage(err)
	}
	scope := kube.Scope{Rollouts: true}
	for _, p := range proposals {
		scope.Namespaces = append(scope.Namespaces, p.Config.Namespace)
	}
	if slices.ContainsFunc(proposals, func(p proposal) bool { return p.Annotations[dialect.ShareKey] != "" }) {
		scope.Namespaces = nil // workloads of any namespace may use it
	}
	cluster, err := f.connect(ctx, adoption.Keeps(settings.AllDialects()), scope)
	if err != nil {
		return nil, err
	}
	key := make(digest.Key, digest.KeySize)
	_, _ = rand.Read(key) // it never fails
	ring, err := digest.NewRing(key)
	if err != nil {
		return nil, err
	}
	c := &comparison{cluster: cluster, creations: settings.Reload.OnCreate, hot: settings.HotReload, ring: ring}
	chosen := settings.Dialects()
	hidden, err := cluster.Workloads(ctx, func(w *workload.Workload) error {
		if plan := chosen.Compile(w); plan.OptedIn() {
			c.asking = append(c.asking, plan)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(c.asking, func(a, b dialect.Plan) int { return compareRefs(a.Workload.Ref(), b.Workload.Ref()) })
	for _, p := range proposals {
		impact, err := c.foresee(ctx, p)
		if err != nil {
			return nil, err
		}
		for _, resource := range hidden {
			impact.Complete = false
			impact.Warnings = append(impact.Warnings, "you may not list "+resource+", so they are left out")
		}
		found = append(found, impact)
	}
	return found, nil
}

func (c *comparison) foresee(ctx context.Context, p proposal) (v foreseen, err error) {
	of := view.Supposed{Key: projection.KeyOf("", p.Config), Now: time.Now()}
	v.Change = wouldUpdate
	unread := []string{}
	live, err := c.cluster.Get(ctx, p.Config)
	switch {
	case apierrors.IsNotFound(err):
		v.Change = wouldCreate
	case apierrors.IsForbidden(err):
		v.Change = wouldPerhaps
		unread = append(unread, fmt.Sprintf("you may not read %s, so it counts as changed", configRef("", p.Config)))
	case err != nil:
		return v, fmt.Errorf("read %s: %w", configRef("", p.Config), err)
	case p.content.Size() > 0: // something else fills in an empty one
		v.Differs = digest.Diff(c.ring.Digest(live.Content), c.ring.Digest(p.content))
	}
	if v.Change == wouldUpdate && len(v.Differs) == 0 {
		v.Change = wouldKeep
	}
	for _, k := range v.Differs {
		of.Keys = append(of.Keys, k.Key)
	}
	for _, plan := range c.asking {
		by := plan.Decide(p.ConfigMeta)
		counts := v.Change != wouldKeep && (v.Change != wouldCreate || by.Created || c.creations)
		if counts && by.Reload && plan.Matches(p.Config) && plan.Shows(p.ConfigMeta) {
			of.Dependents = append(of.Dependents, c.recordOf(&plan, p.Config, by))
		}
	}
	v.Impact = view.FromSupposed(of)
	v.Complete, v.Warnings = len(unread) == 0, unread // there are no records here to be in doubt about
	return v, nil
}

// recordOf is what Reroll would have on record about a workload that is to roll for a config.
func (c *comparison) recordOf(plan *dialect.Plan, config reloader.Config, by dialect.Decision) *reloader.WorkloadRecord {
	w, e := plan.Workload, reloader.Edge{Config: config, Why: by.Why, Clause: by.Clause, UsedKeys: by.UsedKeys, Applied: reloader.Digest{Sum: "live"}}
	if r, used := w.Template.References.Find(config); used {
		e.Uses = r.Uses
	}
	e.Restarts = plan.Restarts(config, c.hot.Enabled, c.hot.Exec)
	record := &reloader.WorkloadRecord{Workload: w.Ref(), Strategy: plan.Chosen.Strategy, Edges: []reloader.Edge{e}, Dormant: w.Dormant, Keys: plan.Chosen.Keys.String()}
	if h := plan.Chosen.Hot; h != nil {
		record.Strategy = h.Strategy
	}
	if p := plan.Chosen.Pause; p.Begun {
		record.Hold = &reloader.Hold{Reason: reloader.ReasonPaused, Since: p.Until.Add(-p.Period), Due: p.Until}
	}
	return record
}

const maxManifests = 64 << 20

type proposal struct {
	dialect.ConfigMeta
	content digest.Content
}

// proposalsIn returns the ConfigMaps and Secrets among the manifests of a file, which may be in lists; - is stdin. A manifest without a namespace is of the
// given one. Other objects do not count.
func proposalsIn(stdin io.Reader, name, namespace string) (found []proposal, err error) {
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer file.Close() //nolint:errcheck // it was only read
		stdin = file
	}
	documents := utilyaml.NewYAMLReader(bufio.NewReader(io.LimitReader(stdin, maxManifests)))
	for n := 1; ; n++ {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err == nil {
			found, err = propose(found, document, namespace)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: document %d is not a manifest", name, n) // what is wrong with it could quote a Secret
		}
	}
}

func propose(found []proposal, document []byte, namespace string) ([]proposal, error) {
	var of struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Items      []json.RawMessage `json:"items"`
	}
	if err := yaml.Unmarshal(document, &of); err != nil {
		return nil, err
	}
	for _, item := range of.Items {
		var err error
		if found, err = propose(found, item, namespace); err != nil {
			return nil, err
		}
	}
	var p proposal
	var meta metav1.ObjectMeta
	var err error
	switch of.APIVersion + "/" + of.Kind {
	case "v1/ConfigMap":
		var o corev1.ConfigMap
		err = yaml.Unmarshal(document, &o)
		o.Namespace = cmp.Or(o.Namespace, namespace)
		meta, p.content = o.ObjectMeta, digest.OfConfigMap(&o)
	case "v1/Secret":
		var o corev1.Secret
		err = yaml.Unmarshal(document, &o)
		if o.Data == nil {
			o.Data = map[string][]byte{}
		}
		for key, value := range o.StringData {
			o.Data[key] = []byte(value)
		}
		o.Namespace = cmp.Or(o.Namespace, namespace)
		meta, p.content = o.ObjectMeta, digest.OfSecret(&o)
	}
	if meta.Name == "" || err != nil {
		return found, err
	}
	p.Config, p.Annotations, p.Labels = p.content.Config(), meta.Annotations, meta.Labels
	found = slices.DeleteFunc(found, func(earlier proposal) bool { return earlier.Config == p.Config }) // as kubectl apply leaves it
	return append(found, p), nil
}
