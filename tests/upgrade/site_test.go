package upgrade

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// member is a workload and the config of its name that it uses.
type member struct{ name, kind, config string }

// members are all workloads. What befalls each is in its name.
var members = []member{
	{"still", "Deployment", "ConfigMap"},
	{"still-secret", "StatefulSet", "Secret"},
	{"waits", "Deployment", "Secret"},
	{"waits-set", "StatefulSet", "ConfigMap"},
	{"away", "Deployment", "ConfigMap"},
	{"away-daemon", "DaemonSet", "Secret"},
	{"sentinel", "Deployment", "ConfigMap"},
}

// site is a namespace with all members, and how often the template of each has to have changed.
type site struct {
	t      *testing.T
	ctx    context.Context
	line   *line.Line
	client dynamic.Interface
	ns     string
	// edits counts all edits, so that no content comes twice.
	edits int
	want  map[string]int64
}

// testTime bounds what is done with one version.
const testTime = 6 * time.Minute

// newSite makes the members, and returns when Reroll knows all.
func newSite(ctx context.Context, t *testing.T, l *line.Line) *site {
	t.Helper()
	client, err := dynamic.NewForConfig(l.Kube.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, ctx: ctx, line: l, client: client, ns: l.Kube.Namespace(t), want: map[string]int64{}}
	for _, m := range members {
		s.create(m.config, m.name, map[string]any{"data": map[string]any{"k": "MA=="}})
		s.create(m.kind, m.name, m.body())
	}
	s.await(func(ctx context.Context) error {
		settled, open, err := l.Reroll.Settled(ctx, s.ns)
		if err == nil && (len(settled) != len(members) || open > 0) {
			err = fmt.Errorf("%d workloads have their baselines and %d have not, of %d", len(settled), open, len(members))
		}
		return err
	})
	return s
}

// body returns all of a workload but its name.
func (m member) body() map[string]any {
	labels, source := map[string]any{"app": m.name}, "configMapRef"
	if m.config == "Secret" {
		source = "secretRef"
	}
	return map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{"reloader.stakater.com/auto": "true"}},
		"spec": map[string]any{
			"selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{
				"metadata": map[string]any{"labels": labels},
				"spec": map[string]any{"containers": []any{map[string]any{
					"name": "main", "image": "registry.example/none:1",
					"envFrom": []any{map[string]any{source: map[string]any{"name": m.name}}},
				}}},
			},
		},
	}
}

func (s *site) in(kind string) dynamic.ResourceInterface {
	return s.client.Resource(scenario.Resource(kind)).Namespace(s.ns)
}

func (s *site) create(kind, name string, body map[string]any) {
	s.t.Helper()
	o := &unstructured.Unstructured{Object: body}
	o.SetAPIVersion(scenario.Resource(kind).GroupVersion().String())
	o.SetKind(kind)
	o.SetName(name)
	_, err := s.in(kind).Create(s.ctx, o, metav1.CreateOptions{})
	s.must(err)
}

func (s *site) must(err error) {
	s.t.Helper()
	if err == nil {
		return
	}
	for _, r := range []*line.Reroll{s.line.Ingest, s.line.Dispatch, s.line.Reroll} {
		if r != nil {
			log := r.Log()
			s.t.Logf("a process logged:\n%s", log[max(0, len(log)-4000):])
		}
	}
	s.t.Fatal(err)
}

// stepTime bounds what is waited for at one place.
const stepTime = time.Minute

func (s *site) await(check func(context.Context) error) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.ctx, stepTime)
	defer cancel()
	s.must(line.Poll(ctx, check))
}

// edit gives the config of each of these members new content, of which one roll each has to come.
func (s *site) edit(names ...string) {
	s.t.Helper()
	for _, m := range members {
		if !slices.Contains(names, m.name) {
			continue
		}
		s.edits++
		value := base64.StdEncoding.EncodeToString(fmt.Append(nil, s.edits))
		_, err := s.in(m.config).Patch(s.ctx, m.name, types.MergePatchType, fmt.Appendf(nil, `{"data":{"k":%q}}`, value), metav1.PatchOptions{})
		s.must(err)
		s.want[m.name]++
	}
}

// editAll gives all configs new content.
func (s *site) editAll() {
	s.t.Helper()
	for _, m := range members {
		s.edit(m.name)
	}
}

// rolls returns how often the template of a member was changed: nobody but Reroll writes its spec.
func (s *site) rolls(m member) int64 {
	s.t.Helper()
	live, err := s.in(m.kind).Get(s.ctx, m.name, metav1.GetOptions{})
	s.must(err)
	return live.GetGeneration() - 1
}

// judge waits until all has come of the edits that has to, and then until an edit that came after has been dealt with. It checks that each
// member has rolled as often as it had to, and that each roll is on record once.
func (s *site) judge(when string) {
	s.t.Helper()
	s.awaitRolls(when)
	for range 2 { // hints are verified in parallel: the second round begins when the first is done
		s.edit("sentinel")
		s.awaitRolls(when)
	}
	for _, m := range members {
		if got := s.rolls(m); got != s.want[m.name] {
			s.must(fmt.Errorf("%s: %s rolled %d times, not %d", when, m.name, got, s.want[m.name]))
		}
	}
	s.awaitRecords(when)
}

// awaitRolls waits until each member has rolled as often as it has to, at least.
func (s *site) awaitRolls(when string) {
	s.t.Helper()
	s.await(func(context.Context) error {
		var missing error
		for _, m := range members {
			if got := s.rolls(m); got < s.want[m.name] {
				missing = errors.Join(missing, fmt.Errorf("%s: %s rolled %d times, not %d", when, m.name, got, s.want[m.name]))
			}
		}
		return missing
	})
}

// awaitRecords waits until each roll is on record once.
func (s *site) awaitRecords(when string) {
	s.t.Helper()
	s.await(func(ctx context.Context) error {
		reloads, err := s.line.Reroll.Reloads(ctx, s.ns)
		if err != nil {
			return err
		}
		found := map[string]int64{}
		for _, r := range reloads {
			if r.Outcome == "Reloaded" {
				found[r.Workload.Name]++
			}
		}
		for _, m := range members {
			if found[m.name] != s.want[m.name] {
				return fmt.Errorf("%s: %s has %d reloads on record, not %d", when, m.name, found[m.name], s.want[m.name])
			}
		}
		return nil
	})
}

// history is all that the REST API says of the reloads of the site, by ID, as far as tests read it.
func (s *site) history() map[string]line.Reload {
	s.t.Helper()
	reloads, err := s.line.Reroll.Reloads(s.ctx, s.ns)
	s.must(err)
	all := map[string]line.Reload{}
	for _, r := range reloads {
		all[r.ID] = r
	}
	return all
}

// change is what the REST API says of a change, as far as the test reads it.
type change struct {
	ID     string
	Config struct{ Name string }
	// NewDigest is the content that the config has now.
	NewDigest string
}

// changes returns the newest change of each config.
func (s *site) changes(ctx context.Context) (map[string]change, error) {
	var page struct{ Items []change }
	err := s.line.Reroll.Get(ctx, "/api/v1/changes?"+url.Values{"namespace": {s.ns}, "limit": {"500"}}.Encode(), &page)
	newest := map[string]change{}
	for _, c := range page.Items { // newest first
		if _, found := newest[c.Config.Name]; !found {
			newest[c.Config.Name] = c
		}
	}
	return newest, err
}

// editAndSee edits, and waits until the changes are on record.
func (s *site) editAndSee(names ...string) {
	s.t.Helper()
	before, err := s.changes(s.ctx)
	s.must(err)
	s.edit(names...)
	s.await(func(ctx context.Context) error {
		now, err := s.changes(ctx)
		for _, name := range names {
			if err == nil && now[name].ID == before[name].ID {
				err = fmt.Errorf("the change of %s is not on record", name)
			}
		}
		return err
	})
}
