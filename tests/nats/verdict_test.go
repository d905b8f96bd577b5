package nats

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/tests/line"
)

// settle waits until every template has the mark of the newest content, and has been seen with it.
func (p *pairs) settle(ctx context.Context, within time.Duration) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	began := time.Now()
	err := line.Poll(ctx, func(context.Context) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		for i, contents := range p.contents {
			seen := p.seen[pairName(i)]
			if want := contents[len(contents)-1]; len(seen) == 0 || seen[len(seen)-1].mark != want {
				return fmt.Errorf("%s does not have content %d; it was seen with %v", pairName(i), len(contents)-1, seen)
			}
		}
		return nil
	})
	if err != nil {
		p.t.Fatalf("%v\ningest:\n%s\ndispatch:\n%s", err, p.line.Ingest.Log(), p.line.Dispatch.Log())
	}
	p.t.Logf("every workload had the newest content after %v", time.Since(began))
}

// generations returns that of each Deployment, as the API server says.
func (p *pairs) generations(ctx context.Context) map[string]int64 {
	p.t.Helper()
	list, err := p.line.Kube.Client().AppsV1().Deployments(p.ns).List(ctx, metav1.ListOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
	found := map[string]int64{}
	for _, d := range list.Items {
		found[d.Name] = d.Generation
	}
	return found
}

// judge finds what was doubled, and what is not on record once.
func (p *pairs) judge(ctx context.Context) {
	p.t.Helper()
	p.mu.Lock()
	for i, contents := range p.contents {
		for _, fault := range doubled(contents, p.seen[pairName(i)]) {
			p.t.Errorf("%s: %s", pairName(i), fault)
		}
	}
	p.mu.Unlock()
	generations := p.generations(ctx)
	var reloads []line.Reload
	wait(ctx, p.t, p.line, func(ctx context.Context) (err error) {
		var rolls int64
		for _, g := range generations {
			rolls += g - 1
		}
		if reloads, err = p.line.Reroll.Reloads(ctx, p.ns); err == nil && int64(len(reloads)) < rolls {
			err = fmt.Errorf("%d of %d rolls are on record", len(reloads), rolls)
		}
		return err
	})
	ids, on := map[string]bool{}, map[string]int64{}
	for _, r := range reloads {
		if ids[r.ID] || r.Outcome != "Reloaded" {
			p.t.Errorf("reload %s of %s is on record as %s, seen before: %v", r.ID, r.Workload.Name, r.Outcome, ids[r.ID])
		}
		ids[r.ID] = true
		on[r.Workload.Name]++
	}
	for name, g := range generations {
		if on[name] != g-1 {
			p.t.Errorf("%s has rolled %d times, and %d reloads are on record", name, g-1, on[name])
		}
	}
	p.t.Logf("%d reloads", len(reloads))
}

// doubled finds what is wrong with the templates that were seen: nobody but Reroll writes them, and each has to bring a later one of the
// contents than the one before.
func doubled(contents []string, seen []sight) (faults []string) {
	at := 0
	for i, s := range seen {
		if i == 0 || s.generation == seen[i-1].generation {
			continue
		}
		brings := slices.Index(contents, s.mark)
		if brings <= at {
			faults = append(faults, fmt.Sprintf("generation %d brings content %d after content %d", s.generation, brings, at))
		}
		at = brings
	}
	if len(seen) > 0 && seen[len(seen)-1].generation > int64(len(contents)) {
		faults = append(faults, fmt.Sprintf("generation %d after %d contents", seen[len(seen)-1].generation, len(contents)))
	}
	return faults
}

func TestDoubled(t *testing.T) {
	contents := []string{"a", "b", "c"}
	for name, tc := range map[string]struct {
		seen   []sight
		faults int
	}{
		"one roll for each content": {[]sight{{1, ""}, {2, "b"}, {3, "c"}}, 0},
		"one roll for two contents": {[]sight{{1, ""}, {2, "c"}}, 0},
		"a status between":          {[]sight{{1, ""}, {2, "b"}, {2, "b"}, {3, "c"}}, 0},
		"the same content twice":    {[]sight{{1, ""}, {2, "c"}, {3, "c"}}, 1},
		"an older content":          {[]sight{{1, ""}, {2, "c"}, {3, "b"}}, 1},
		"the first content":         {[]sight{{1, ""}, {2, "a"}}, 1},
		"a content of nobody":       {[]sight{{1, ""}, {2, "x"}}, 1},
		"more rolls than contents":  {[]sight{{1, ""}, {2, "b"}, {4, "c"}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			if faults := doubled(contents, tc.seen); len(faults) != tc.faults {
				t.Errorf("found %q", faults)
			}
		})
	}
}
