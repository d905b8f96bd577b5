package dispatcher_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// line is one line of the log, as far as it says what it is about.
type line struct {
	Msg, Result, Outcome, Type string
	Reload, Change, Requested  string
	Changes                    []string
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

// lines returns the lines with a message.
func (j *journal) lines(t *testing.T, msg string) (found []line) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	for text := range bytes.Lines(j.text.Bytes()) {
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if l.Msg == msg {
			found = append(found, l)
		}
	}
	return found
}

// one returns the only line with a message.
func (j *journal) one(t *testing.T, msg string) line {
	t.Helper()
	found := j.lines(t, msg)
	if len(found) != 1 {
		t.Fatalf("%d lines %q, want one: %s", len(found), msg, j.text.String())
	}
	return found[0]
}

// logging has the dispatchers of w write to a journal.
func (w *world) logging() *journal {
	j := &journal{}
	w.configure = func(o *dispatcher.Options) {
		o.Logger = slog.New(slog.NewJSONHandler(j, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	return j
}

// recorded returns the IDs of all changes of app that are no first sight, and those of all reloads of web.
func (w *world) recorded() (changes, reloads []string) {
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	for _, data := range w.store.history {
		if c := decode[reloader.Change](data); c.Type != reloader.ChangeBaseline {
			changes = append(changes, c.ID)
		}
	}
	for _, data := range w.store.reloads {
		if r := decode[reloader.Reload](data); r.Workload == webRef {
			reloads = append(reloads, r.ID)
		}
	}
	return slices.Compact(changes), slices.Compact(reloads)
}

// TestLogNamesWhatIsOnRecord: at each stage of a change the log has the IDs under which the stage is on record, which are those of the API.
func TestLogNamesWhatIsOnRecord(t *testing.T) {
	inWorld(t, scenario.Settings{}, func(t *testing.T, w *world) {
		log := w.logging()
		w.usually()
		w.edit(alice, app, "2")
		w.pass(quiet)
		w.say(web, 2, allNew)
		w.pass(quiet)
		changes, reloads := w.recorded()
		if len(changes) != 1 || len(reloads) != 1 {
			t.Fatalf("on record are changes %q and reloads %q, want one of each", changes, reloads)
		}
		var told []line
		for _, l := range log.lines(t, "change") {
			if l.Type != string(reloader.ChangeBaseline) {
				told = append(told, l)
			}
		}
		if len(told) != 1 || told[0].Change != changes[0] {
			t.Errorf("the change: %+v, want %s", told, changes[0])
		}
		for _, stage := range []string{"reload", "rollout"} {
			if l := log.one(t, stage); l.Reload != reloads[0] || !slices.Equal(l.Changes, changes) {
				t.Errorf("%s: %+v, want reload %s and changes %q", stage, l, reloads[0], changes)
			}
		}
	})
}

// TestLogNamesWhatFails: so it is where something goes wrong.
func TestLogNamesWhatFails(t *testing.T) {
	runWorld(t, "the patch", scenario.Settings{}, func(t *testing.T, w *world) {
		log := w.logging()
		w.usually()
		w.failing(only("patch", "/web", errors.NewForbidden(deployments, "web", errNoRight)))
		w.edit(alice, app, "2")
		w.pass(quiet)
		changes, reloads := w.recorded()
		failed := log.lines(t, "workload cannot be rolled yet")
		if len(failed) == 0 || len(reloads) != 1 || failed[0].Reload != reloads[0] || !slices.Equal(failed[0].Changes, changes) {
			t.Errorf("%+v, want reload %q and changes %q", failed, reloads, changes)
		}
	})
	runWorld(t, "the record", scenario.Settings{}, func(t *testing.T, w *world) {
		log := w.logging()
		w.usually()
		w.store.lose(nil, errLost)
		w.edit(alice, app, "2")
		w.pass(quiet)
		w.store.lose(nil, nil)
		w.pass(time.Minute)
		changes, reloads := w.recorded()
		failed := log.lines(t, "the record of a workload is not stored yet")
		// The first look may be at a record without a reload.
		if len(reloads) != 1 || !slices.ContainsFunc(failed, func(l line) bool {
			return l.Reload == reloads[0] && slices.Equal(l.Changes, changes)
		}) {
			t.Errorf("%+v, want reload %q and changes %q", failed, reloads, changes)
		}
	})
}
