//go:build nightly

package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// actors are two users who take turns.
var actors = []string{"alice@example.com", "bob@example.com"}

// parts are what becomes of configs in each round, by the name of the config. Each has a workload of its own.
var parts = map[string]struct {
	reason string
	// do makes the edit of a round.
	do func(r *room, round string)
	// contents is how many contents the config gets in a round.
	contents int
}{
	"updated": {"a PUT", func(r *room, round string) { r.setData("updated", "k", round) }, 1},
	"patched": {"a PATCH", func(r *room, round string) { r.mergeData("patched", round) }, 1},
	"anew": {"it is deleted, and created with another content", func(r *room, round string) {
		r.delete("anew")
		r.create(configMap("anew", map[string]string{"k": round}))
	}, 1},
	"alike": {"it is deleted, and created as it was", func(r *room, _ string) {
		r.delete("alike")
		r.create(configMap("alike", map[string]string{"k": "start"}))
	}, 0},
	"labelled": {"a label is no content", func(r *room, round string) {
		_, err := r.client.CoreV1().ConfigMaps(r.ns).Patch(r.ctx, "labelled", types.MergePatchType,
			fmt.Appendf(nil, `{"metadata":{"labels":{"round":%q}}}`, round), metav1.PatchOptions{})
		r.must(err)
	}, 0},
	"untouched": {"every event about it is of a write without effect", func(r *room, _ string) { r.setData("untouched", "k", "start") }, 0},
}

func (r *room) mergeData(name, value string) {
	r.t.Helper()
	_, err := r.client.CoreV1().ConfigMaps(r.ns).Patch(r.ctx, name, types.MergePatchType, fmt.Appendf(nil, `{"data":{"k":%q}}`, value), metav1.PatchOptions{})
	r.must(err)
}

// TestAllSourcesTogether has a process hear of each write from the audit webhook, from the API server's log as a shipper posts it, late
// and in part twice, and from a watch; and sweep all the time. Whatever comes first, each content rolls once, is one change, and is the doing of
// who wrote it.
func TestAllSourcesTogether(t *testing.T) {
	log := filepath.Join(t.TempDir(), "audit.log")
	l := ownLine(t, line.Options{
		Kube: kube.Options{
			Audit:          &kube.Audit{},
			APIServerFlags: []string{"--audit-log-path=" + log},
		},
		Flags: []string{"--source", "auto", "--set", "resyncInterval=2s"},
	})
	for _, window := range []string{"0s", window.String()} {
		t.Run("window "+window, func(t *testing.T) {
			restartWith(t, l, "--set", "debounce.window="+window)
			h := history{room: newRoom(t, l)}
			h.shipper = &shipper{room: h.room, log: log}
			h.begin()
			for n := range 4 {
				h.round(n)
			}
			h.shipper.ship()
			h.check()
			t.Log("the whole log once more")
			h.shipper.again()
			h.check()
			h.checkFeeds()
		})
	}
	t.Run("audit alone", func(t *testing.T) {
		restartWith(t, l, "--set", "debounce.window=0s", "--source=audit", "--set", "resyncInterval=0")
		newRoom(t, l).checkSource("audit")
	})
}

// checkSource edits a config and looks by which source the reloads that follow came.
func (r *room) checkSource(want string) {
	r.t.Helper()
	r.quiesce()
	r.must(line.Poll(r.ctx, func(ctx context.Context) error {
		reloads, err := r.line.Reroll.Reloads(ctx, r.ns)
		if err != nil {
			return err
		}
		for _, reload := range reloads {
			for _, c := range reload.Causes {
				if c.Source != want {
					return line.Stop(fmt.Errorf("a reload by source %q, want %q: %+v", c.Source, want, reload))
				}
			}
		}
		if len(reloads) != r.probes {
			return fmt.Errorf("%d reloads are on record for %d edits", len(reloads), r.probes)
		}
		return nil
	}))
}

// restartWith starts the line's process again with more flags.
func restartWith(t *testing.T, l *line.Line, flags ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTime)
	defer cancel()
	if err := errors.Join(l.Reroll.Terminate(ctx), l.Reroll.Start(flags...), l.Reroll.WaitReady(ctx)); err != nil {
		t.Fatal(err)
	}
}

// history is what happened to the configs of parts since it began, and what is to come of it.
type history struct {
	*room
	shipper *shipper
	// authors has who wrote each content of a round.
	authors []string
	// logged is how long the log was when the last round began.
	logged int
}

func (h *history) begin() {
	h.t.Helper()
	for name := range parts {
		h.create(configMap(name, map[string]string{"k": "start"}))
		h.create(deployment("web-"+name, usesEnvFrom(name)))
	}
	for name := range parts {
		h.waitBaseline("web-"+name, 1)
	}
	h.shipper.ship() // who created them was told of before anybody depended on them, and may come again next to the first edit
	h.quiesce()
	h.logged = h.shipper.shipped
}

// round has one of the actors edit every config, and ships what was logged of the round before.
func (h *history) round(n int) {
	h.t.Helper()
	author := actors[n%len(actors)]
	h.authors = append(h.authors, author)
	now := len(h.shipper.lines())
	acting := *h.room
	acting.client = h.as(author)
	for name := range parts {
		parts[name].do(&acting, fmt.Sprint(n))
	}
	for name, part := range parts {
		h.waitRolls("web-"+name, int64(part.contents*len(h.authors)))
	}
	h.shipper.shipUpTo(h.logged)
	h.logged = now
}

// check waits until all is quiet, and looks at the cluster and at what is on record.
func (h *history) check() {
	h.t.Helper()
	h.quiesce()
	h.must(line.Poll(h.ctx, func(ctx context.Context) error {
		changes, err := h.line.Reroll.Changes(ctx, h.ns)
		if err != nil {
			return err
		}
		return h.checkAuthors(changes)
	}))
	for name, part := range parts {
		want := part.contents * len(h.authors)
		if got := h.rolls("web-" + name); got != int64(want) {
			h.t.Errorf("%s: rolled %d times, want %d: %s", name, got, want, part.reason)
		}
	}
	h.must(line.Poll(h.ctx, func(ctx context.Context) error {
		reloads, err := h.line.Reroll.Reloads(ctx, h.ns)
		for name, part := range parts {
			if err == nil {
				err = checkReloads(name, part.contents*len(h.authors), reloads)
			}
		}
		return err
	}))
}

// checkReloads finds a reload for each roll, for a change of its own, and by a source that is turned on.
func checkReloads(name string, want int, reloads []line.Reload) error {
	causes := map[string]bool{}
	n := 0
	for _, r := range reloads {
		if r.Workload.Name != "web-"+name {
			continue
		}
		n++
		if r.Outcome != "Reloaded" || len(r.Causes) != 1 {
			return line.Stop(fmt.Errorf("%s: %+v", name, r))
		}
		causes[r.Causes[0].ChangeID] = true
		if s := r.Causes[0].Source; !slices.Contains([]string{"audit", "shipped", "watch", "sweep"}, s) {
			return line.Stop(fmt.Errorf("%s: a reload by source %q", name, s))
		}
	}
	if n > want {
		return line.Stop(fmt.Errorf("%s: %d reloads on record, want %d", name, n, want))
	}
	if n != want || len(causes) != want {
		return fmt.Errorf("%s: %d reloads on record for %d changes, want %d", name, n, len(causes), want)
	}
	return nil
}

// checkAuthors finds one change for each content, each the doing of who wrote it and of nobody else.
func (h *history) checkAuthors(changes []line.Change) error {
	for name, part := range parts {
		var authors []string
		for _, c := range slices.Backward(changes) {
			if c.Config.Name != name || c.Type == "Deleted" || isFirst(c) || c.Old.Sum == c.New.Sum {
				continue
			}
			who := map[string]bool{}
			for _, candidate := range c.Candidates {
				who[candidate.User+" "+candidate.Basis] = true
			}
			authors = append(authors, strings.Join(slices.Sorted(maps.Keys(who)), " or "))
		}
		var want []string
		for _, author := range h.authors {
			if part.contents > 0 {
				want = append(want, author+" OnlyWriter")
			}
		}
		if !slices.Equal(authors, want) {
			return fmt.Errorf("%s: changes by %q, want %q: %s", name, authors, want, part.reason)
		}
	}
	return nil
}

// checkFeeds looks whether every source has brought something, and the sweep nothing that they had not.
func (r *room) checkFeeds() {
	r.t.Helper()
	text, err := r.line.Reroll.Metrics(r.ctx)
	r.must(err)
	for metric, some := range map[string]bool{
		`reroll_ingest_event_age_seconds_count{cluster="local",source="audit"}`:   true,
		`reroll_ingest_event_age_seconds_count{cluster="local",source="shipped"}`: true,
		`reroll_sweep_drift_total`: false,
	} {
		value, found := 0.0, false
		for row := range strings.Lines(text) {
			if rest, ok := strings.CutPrefix(row, metric+" "); ok {
				value, err = strconv.ParseFloat(strings.TrimSpace(rest), 64)
				r.must(err)
				found = true
			}
		}
		if !found || (value > 0) != some {
			r.t.Errorf("%s is %v (known: %t), want some: %t", metric, value, found, some)
		}
	}
}
