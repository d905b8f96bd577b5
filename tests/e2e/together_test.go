//go:build nightly

package e2e

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// actors are two users who take turns.
var actors = []string{"alice@example.com", "bob@example.com"}

// parts are what becomes of the key k of configs in each round, by the name of the config. Each has a workload of its own.
var parts = map[string]struct {
	// patch is what an actor writes; empty: the config is deleted and created.
	patch string
	// contents is how many contents the config gets in a round.
	contents int
}{
	"patched":   {`{"data":{"k":%q}}`, 1},
	"anew":      {"", 1},
	"labelled":  {`{"metadata":{"labels":{"round":%q}}}`, 0},
	"untouched": {`{"data":{"k":"start"}}%.0s`, 0}, // every event about it is of a write without effect
}

// TestAllSourcesTogether has a process hear of each write from the audit webhook, from the API server's log as a shipper posts it, late
// and in part twice, and from a watch; and sweep all the time. Whatever comes first, each content rolls once, is one change, and is the doing of
// who wrote it.
func TestAllSourcesTogether(t *testing.T) {
	log := filepath.Join(t.TempDir(), "audit.log")
	l := ownLine(t, line.Options{
		Kube:  kube.Options{Audit: &kube.Audit{}, APIServerFlags: []string{"--audit-log-path=" + log}},
		Flags: []string{"--source", "auto", "--set", "resyncInterval=2s"},
	})
	for _, window := range []string{"0s", window.String()} {
		t.Run("window "+window, func(t *testing.T) {
			h := history{Room: line.NewRoom(t, l), log: log}
			h.Restart("--set", "debounce.window="+window)
			h.begin()
			for n := range 4 {
				h.round(n)
			}
			h.ship(len(h.lines()))
			h.check()
			h.shipped = 0
			h.ship(len(h.lines()))
			h.check()
		})
	}
	for _, source := range []string{"audit", "shipped"} {
		if n, err := l.Reroll.Metric(t.Context(), "reroll_ingest_event_age_seconds_count", `source="`+source+`"`); err != nil || n == 0 {
			t.Errorf("%v events of the source %s, %v", n, source, err)
		}
	}
	if n, err := l.Reroll.Metric(t.Context(), "reroll_sweep_drift_total"); err != nil || n != 0 {
		t.Errorf("the sweep found %v changes of which no source told, %v", n, err)
	}
}

// history is what happened to the configs of parts since it began, and what is to come of it.
type history struct {
	*line.Room
	log string
	// authors has who wrote each content of a round.
	authors []string
	// shipped is how many lines of the log were posted, and logged how many there were when the last round began.
	shipped, logged int
}

func (h *history) begin() {
	h.T.Helper()
	for name := range parts {
		h.Config(name, "start")
		h.Deploy("web-"+name, line.Auto, line.FromConfigMap(name))
	}
	for name := range parts {
		h.Baselines("web-"+name, 1)
	}
	h.ship(len(h.lines())) // who created them was told of before anybody depended on them, and may come again next to the first edit
	h.Quiet()
	h.logged = h.shipped
}

// round has one of the actors edit every config, and ships what was logged of the round before.
func (h *history) round(n int) {
	h.T.Helper()
	author := actors[n%len(actors)]
	h.authors = append(h.authors, author)
	now := len(h.lines())
	config := h.Line.Kube.RESTConfig()
	config.Impersonate = rest.ImpersonationConfig{UserName: author, Groups: []string{"system:masters"}}
	client, err := kubernetes.NewForConfig(config)
	h.Must(err)
	configs := client.CoreV1().ConfigMaps(h.NS)
	for name, part := range parts {
		if part.patch != "" {
			_, err = configs.Patch(h.Ctx(), name, types.MergePatchType, fmt.Appendf(nil, part.patch, fmt.Sprint(n)), metav1.PatchOptions{})
			h.Must(err)
			continue
		}
		live, err := configs.Get(h.Ctx(), name, metav1.GetOptions{})
		h.Must(err)
		h.Must(configs.Delete(h.Ctx(), name, metav1.DeleteOptions{}))
		live.ObjectMeta, live.Data = metav1.ObjectMeta{Name: name}, map[string]string{"k": fmt.Sprint(n)}
		_, err = configs.Create(h.Ctx(), live, metav1.CreateOptions{})
		h.Must(err)
	}
	for name, part := range parts {
		h.Rolled("web-"+name, part.contents*len(h.authors))
	}
	h.ship(h.logged)
	h.logged = now
}

// check waits until all is quiet, and looks at the cluster and at what is on record.
func (h *history) check() {
	h.T.Helper()
	h.Quiet()
	for name, part := range parts {
		want := part.contents * len(h.authors)
		h.Rolled("web-"+name, want)
		causes := map[string]bool{}
		reloads := h.Reloads("web-"+name, want)
		for _, r := range reloads {
			if r.Outcome != "Reloaded" || len(r.Causes) != 1 || !slices.Contains([]string{"audit", "shipped", "watch", "sweep"}, r.Causes[0].Source) {
				h.T.Errorf("%s: %+v", name, r)
			}
			causes[r.Causes[0].ChangeID] = true
		}
		if len(reloads) != want || len(causes) != want {
			h.T.Errorf("%s: %d reloads on record for %d changes, want %d", name, len(reloads), len(causes), want)
		}
	}
	h.Await("changes with their authors", func(ctx context.Context) error {
		changes, err := h.Line.Reroll.Changes(ctx, h.NS)
		if err != nil {
			return err
		}
		return h.checkAuthors(changes)
	})
}

// checkAuthors finds one change for each content, each the doing of who wrote it and of nobody else.
func (h *history) checkAuthors(changes []line.Change) error {
	for name, part := range parts {
		var authors, want []string
		for _, c := range slices.Backward(changes) {
			first := c.Type == "Created" && c.Old.Sum == "" // on record as that if its event comes before the first look because of a dependent
			if c.Config.Name != name || c.Type == "Deleted" || first || c.Old.Sum == c.New.Sum {
				continue
			}
			who := map[string]bool{}
			for _, candidate := range c.Candidates {
				who[fmt.Sprint(candidate.User, " ", candidate.Sure)] = true
			}
			authors = append(authors, strings.Join(slices.Sorted(maps.Keys(who)), " or "))
		}
		for _, author := range h.authors {
			if part.contents > 0 {
				want = append(want, author+" true")
			}
		}
		if !slices.Equal(authors, want) {
			return fmt.Errorf("%s: changes by %q, want %q", name, authors, want)
		}
	}
	return nil
}

// lines returns the complete lines of the API server's audit log, the oldest first.
func (h *history) lines() []string {
	h.T.Helper()
	content, err := os.ReadFile(h.log)
	h.Must(err)
	lines := strings.Split(string(content), "\n")
	return lines[:len(lines)-1]
}

// ship posts the lines of the log up to the nth, but for those that were posted before: in batches, each twice, as who has not seen the answer does.
func (h *history) ship(n int) {
	h.T.Helper()
	for batch := range slices.Chunk(h.lines()[h.shipped:n], 40) {
		h.shipped += len(batch)
		for range 2 {
			code, err := h.Line.Ship(h.Ctx(), "application/x-ndjson", "", []byte(strings.Join(batch, "\n")+"\n"))
			h.Must(err)
			if code != http.StatusNoContent {
				h.T.Fatalf("%d lines are answered with %d", len(batch), code)
			}
		}
	}
}
