package dispatcher_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/dispatcher/turn"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// TestStatus: what a process says of itself.
func TestStatus(t *testing.T) {
	each(t, scenario.Settings{}, worlds{
		"status says what holds back": func(t *testing.T, w *world) {
			window, err := control.ParseWindow("CRON_TZ=UTC 0 22 * * * 6h")
			w.must(err)
			w.braked(turn.Limits{Windows: []control.Window{window}})
			p := w.usually()
			if s := p.Status(); !s.Ready || s.Workloads != 1 || s.Pending != 0 || s.Held != nil || s.Freeze != nil || s.Notifies || !s.At.Equal(time.Now()) {
				t.Errorf("at rest: %+v", s)
			}
			until, ended := time.Now().Add(48*time.Hour).UTC().Truncate(time.Second), time.Now().Add(-time.Hour).Format(time.RFC3339)
			p.SetControl(control.Parse(map[string]string{
				control.Key: "freeze: {reason: incident 7, until: '" + until.Format(time.RFC3339) + "'}\n" +
					"pauses: [{namespace: shop, selector: 'app in (" + strings.Repeat("long,", 200) + "cart)', until: '" + until.Format(time.RFC3339) + "', reason: sale}, " +
					"{selector: 'a=b', until: '" + ended + "'}]",
			}))
			w.edit(alice, app, "2")
			w.pass(time.Minute)
			s := p.Status()
			if diff := cmp.Diff(&reloader.Pause{Reason: "incident 7", Until: until}, s.Freeze); diff != "" {
				t.Errorf("freeze (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(map[reloader.Reason]int{reloader.ReasonFrozen: 1}, s.Held); diff != "" || s.Pending != 1 {
				t.Errorf("%d pending, held (-want +got):\n%s", s.Pending, diff)
			}
			if len(s.Pauses) != 1 || s.Pauses[0].Reason != "sale" || !s.Pauses[0].Until.Equal(until) || len(s.Pauses[0].Selector) > 520 {
				t.Errorf("want the pause that has not ended, its selector cut: %+v", s.Pauses)
			}
			if s.ControlProblem != "" {
				t.Errorf("problem: %q", s.ControlProblem)
			}
			if len(s.Windows) != 1 || s.Windows[0].Open != window.Open(time.Now()) || !s.Windows[0].Next.Equal(window.Next(time.Now())) {
				t.Errorf("windows: %+v", s.Windows)
			}
			p.SetControl(control.Parse(map[string]string{control.Key: "windows: ['CRON_TZ=UTC 0 3 * * * 1h']"}))
			if s := p.Status(); s.Freeze != nil || s.Pauses != nil || len(s.Windows) != 1 || !strings.Contains(s.Windows[0].Schedule, "0 3") {
				t.Errorf("thawed, and in another window: %+v", s)
			}
			p.SetControl(control.Parse(map[string]string{control.Key: "{"}))
			if s := p.Status(); s.Freeze == nil || s.ControlProblem == "" {
				t.Errorf("what cannot be read freezes nothing: %+v", s)
			}
		},
		// At each stage of a change the log has the IDs under which the stage is on record, which are those of the API.
		"log names what is on record": func(t *testing.T, w *world) {
			j := &journal{}
			w.configure = func(o *dispatcher.Options) { o.Logger = slog.New(slog.NewJSONHandler(j, nil)) }
			w.usually()
			w.edit(alice, app, "2")
			w.pass(quiet)
			w.say(web, 2, allNew)
			w.stop()
			change, _ := w.store.changesOf(appConfig)
			reload, said := w.store.reloadsOf(webRef)[0], map[string]int{}
			for text := range bytes.Lines(j.text.Bytes()) {
				var l struct {
					Msg, Type, Reload, Change string
					Changes                   []string
				}
				w.must(json.Unmarshal(text, &l))
				switch l.Msg {
				case "change":
					if l.Type == string(reloader.ChangeBaseline) {
						continue
					}
					l.Reload, l.Changes = reload.ID, []string{l.Change}
				case "reload", "rollout":
				default:
					continue
				}
				if said[l.Msg]++; l.Reload != reload.ID || !slices.Equal(l.Changes, []string{change.ID}) {
					t.Errorf("%s: want reload %s and change %s", text, reload.ID, change.ID)
				}
			}
			if diff := cmp.Diff(map[string]int{"change": 1, "reload": 1, "rollout": 1}, said); diff != "" {
				t.Errorf("lines by stage (-want +got):\n%s", diff)
			}
		},
	})
}

// journal keeps what is logged, as JSON.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}
