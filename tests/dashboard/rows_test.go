package dashboard

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/dashboard/showcase"
)

const (
	manyRows = 10_000
	// mostDrawn bounds the rows in the page: those in sight of a window of 900 pixels, and some above and below.
	mostDrawn = 50
	// steps is how many frames are scrolled by stride pixels each, as a quick flick does, and frameTime is what each may take of the
	// page's main thread, in seconds. A sixtieth is what there is; machines that test are slower and do other things too.
	steps     = 120
	stride    = 270
	frameTime = 2.0 / 60
)

// scroll goes down step by step, one a frame, and returns the most rows that were in the page.
const scroll = `new Promise((done) => {
  const box = document.querySelector('[data-virtual]');
  let most = 0, step = 0;
  const frame = () => {
    most = Math.max(most, document.querySelectorAll('[data-row]').length);
    if (step++ === %d) return done(most);
    box.scrollTop += %d;
    requestAnimationFrame(frame);
  };
  box.scrollTop = 0;
  requestAnimationFrame(frame);
})`

func TestTenThousandRowsAreScrolledWithFewInThePage(t *testing.T) {
	_, url := serveFleet(t, manyRows)
	b := startBrowser(t)
	b.open(t, url, "light", desk)
	b.wait(t, "[data-row]")
	// The end of the list asks for more until there is no more.
	b.until(t, fmt.Sprintf(`(() => {
	  const box = document.querySelector('[data-virtual]');
	  box.scrollTop = box.scrollHeight;
	  return document.querySelector('.sum').innerText === '%d,000 changes';
	})()`, manyRows/1000))
	before := read[float64](t, b, "cpu", nil)
	drawn := read[int](t, b, "evaluate", params{"script": fmt.Sprintf(scroll, steps, stride)})
	frame := (read[float64](t, b, "cpu", nil) - before) / steps
	t.Logf("%.1f ms of the main thread for a frame, at most %d of %d rows in the page", frame*1000, drawn, manyRows)
	if drawn > mostDrawn || drawn < 10 {
		t.Errorf("%d rows in the page", drawn)
	}
	if frame > frameTime {
		t.Errorf("a frame takes %.1f ms of the main thread", frame*1000)
	}
	b.do(t, "evaluate", params{"script": `document.querySelector('[data-virtual]').scrollTop = 1e9; 0`})
	b.until(t, `document.querySelector('li:last-child[aria-posinset="10000"]') !== null`)
	b.faultless(t)
}

// whole tells that no part of what became of a change is cut off.
const whole = `[...document.querySelectorAll('[data-row] .outcome')].every((cell) => [...cell.children].every((part) =>
	part.getBoundingClientRect().right <= cell.getBoundingClientRect().right + 0.5 && part.scrollWidth <= part.clientWidth + 1 || getComputedStyle(part).display === 'none'))`

// Of two long outcomes that have no room beside each other one is shown, and that there is another; the panel leaves room for the longest.
func TestLongOutcomesAreNotCutOff(t *testing.T) {
	fleet, url := serveFleet(t, 1)
	config := reloader.Config{Kind: reloader.ConfigMap, Namespace: "added", Name: "settings"}
	c := reloader.Change{
		ID: "long", Cluster: "prod-eu", Config: config, Type: reloader.ChangeUpdated, UID: "u", ResourceVersion: "1", Source: reloader.SourceSweep, VerifiedAt: time.Now(),
	}
	fleet.Records.AddChange(1_000_000, c)
	for n := range 24 {
		w := workloadOf(fmt.Sprintf("w-%02d", n))
		if n < 12 {
			w.Hold = &reloader.Hold{Reason: reloader.ReasonWaitingForNamespace, Since: time.Now()}
			w.Edges = []reloader.Edge{{Config: config, Why: reloader.ReasonAuto, Pending: c.ID}}
			fleet.Records.PutWorkload(w)
			continue
		}
		fleet.Records.AddReload(uint64(1_000_001+n), reloader.Reload{
			ID: w.Workload.Name, Cluster: c.Cluster, Workload: w.Workload, UID: w.UID, Outcome: reloader.ReasonAlreadyCurrent, DecidedAt: time.Now(),
			Causes: []reloader.Cause{{ChangeID: c.ID, Config: config, Why: reloader.ReasonAuto, Source: c.Source, VerifiedAt: c.VerifiedAt}},
		})
	}
	b := startBrowser(t)
	b.open(t, url, "light", desk)
	row := `[data-row]:has-text("added/settings")`
	b.wait(t, row+` .badge:has-text("12 Waiting for namespace")`)
	b.wait(t, row+` .third:text-is("+1")`)
	b.until(t, whole)
	b.click(t, row)
	b.wait(t, ".panel .outcomes")
	b.until(t, whole)
	b.faultless(t)
}

// What became of a change is read without opening it: no badge is cut off, and of a third outcome it is said that there is one.
func TestOutcomesOfARowAreNotCutOff(t *testing.T) {
	_, url := serveFleet(t, 400)
	b := startBrowser(t)
	b.open(t, url, "light", desk)
	b.wait(t, "[data-row] .badge + .badge")
	b.until(t, whole)
	b.until(t, `(() => {
	  const third = document.querySelector('[data-row] .third');
	  if (!third) document.querySelector('[data-virtual]').scrollTop += 400;
	  return third !== null && getComputedStyle(third).display !== 'none' && third.innerText === '+1' && third.parentElement.querySelectorAll('.badge').length === 2;
	})()`)
	b.faultless(t)
}

// A workload that is frozen waits for the newest change alone. The row of the one before says that it was superseded, live and when it is
// read again, and its panel names who impersonated the user that made it.
func TestSecondEditDuringAFreeze(t *testing.T) {
	fleet, url := serveFleet(t, 1)
	b := startBrowser(t)
	b.open(t, url, "light", desk)
	b.wait(t, "[data-link=live]")
	w := workloadOf("cart")
	w.Edges = []reloader.Edge{{Config: reloader.Config{Kind: reloader.ConfigMap, Namespace: "added", Name: "settings"}, Why: reloader.ReasonAuto}}
	w.Hold = &reloader.Hold{Reason: reloader.ReasonFrozen, Since: time.Now()}
	for i, key := range []string{"first", "second"} {
		c := reloader.Change{
			ID: key, Cluster: w.Cluster, Config: w.Edges[0].Config, Type: reloader.ChangeUpdated, UID: "u", ResourceVersion: key,
			Keys: []reloader.KeyChange{{Key: key, Op: reloader.KeyChanged}}, Source: reloader.SourceAudit, VerifiedAt: time.Now(),
			Candidates: []reloader.Candidate{{Actor: reloader.Actor{User: "alice", AuthenticatedUser: "admin"}, Verb: reloader.VerbPatch, Time: time.Now(), Basis: reloader.BasisOnlyWriter}},
		}
		fleet.Records.AddChange(uint64(1_000_000+i), c)
		w.Edges[0].Pending = key
		fleet.Records.PutWorkload(w)
		b.wait(t, `[data-row]:has-text("~`+key+`"):has-text("cart"):has-text("Frozen")`)
	}
	superseded := `[data-row]:has-text("~first") .outcome:has-text("superseded by a newer change")`
	b.wait(t, superseded)
	b.do(t, "reload", nil)
	b.wait(t, superseded)
	b.click(t, `[data-row]:has-text("~first")`)
	b.wait(t, `.panel:has-text("A newer change of the same config superseded it")`)
	b.wait(t, `.panel .people:has-text("alice"):has-text("impersonated by admin")`)
	b.faultless(t)
}

// where is the first row in sight and the height at which it is.
const where = `(() => {
  const top = document.querySelector('[data-virtual]').getBoundingClientRect().top;
  const row = [...document.querySelectorAll('[data-row]')].find((r) => r.getBoundingClientRect().top >= top + 30);
  return [row.href, String(Math.round(row.getBoundingClientRect().top))];
})()`

func TestWhatComesInAboveDoesNotMoveWhatIsRead(t *testing.T) {
	fleet, url := serveFleet(t, 150)
	b := startBrowser(t)
	b.open(t, url, "light", desk)
	b.wait(t, "[data-row]")
	b.do(t, "evaluate", params{"script": `document.querySelector('[data-virtual]').scrollTop = 54 * 80; 0`})
	b.wait(t, `li[aria-posinset="83"]`)
	before := read[[]string](t, b, "evaluate", params{"script": where})
	for range 3 {
		fleet.Change(time.Now())
	}
	b.wait(t, ".news >> text=3 new changes")
	b.shoot(t, "news")
	if after := read[[]string](t, b, "evaluate", params{"script": where}); after[0] != before[0] || after[1] != before[1] {
		t.Errorf("the row in sight was %s, is %s", before, after)
	}
	b.click(t, ".news")
	b.gone(t, ".news")
	b.faultless(t)
}

// fillPlaces tells of n changes of one namespace after the other, the newest last.
func fillPlaces(fleet *showcase.Fleet, places ...place) {
	var seq uint64
	for _, p := range places {
		for range p.changes {
			seq++
			at := fleet.Now.Add(time.Duration(seq) * time.Second)
			c := reloader.Change{
				Cluster: p.cluster, Config: reloader.Config{Kind: reloader.ConfigMap, Namespace: p.namespace, Name: fmt.Sprintf("settings-%d", seq)},
				Type: reloader.ChangeUpdated, UID: "u", ResourceVersion: strconv.FormatUint(seq, 10), Source: reloader.SourceSweep, VerifiedAt: at,
			}
			c.ID = reloader.ChangeID(c)
			fleet.Records.AddChange(seq, c)
		}
	}
	fleet.Records.SetCaughtUp()
}

type place struct {
	cluster, namespace string
	changes            int
}

// A filter finds what is far down, also if pages between have nothing of it.
func TestFilteredRowsAreReachedBelowPagesWithoutAny(t *testing.T) {
	fleet := showcase.New(time.Now().Add(-time.Hour))
	fillPlaces(fleet, place{"c1", "shop", 100}, place{"c1", "data", 600}, place{"c1", "shop", 35})
	b := startBrowser(t)
	b.open(t, serve(t, fleet, nil)+"#/?namespace=shop", "light", desk)
	b.wait(t, "[data-row]")
	b.until(t, `(() => {
	  document.querySelector('[data-virtual]').scrollTop = 1e9;
	  return document.querySelector('.sum').innerText === '135 of 735 changes';
	})()`)
	b.faultless(t)
}

// What is forgotten about a cluster that was removed leaves the page, however far down it is.
func TestRowsOfARemovedClusterGo(t *testing.T) {
	fleet := showcase.New(time.Now().Add(-time.Hour))
	fillPlaces(fleet, place{"gone", "shop", 150}, place{"stays", "shop", 250}, place{"gone", "shop", 10})
	b := startBrowser(t)
	b.open(t, serve(t, fleet, nil), "light", desk)
	b.wait(t, "[data-link=live]")
	b.until(t, `(() => {
	  document.querySelector('[data-virtual]').scrollTop = 1e9;
	  return document.querySelector('.sum').innerText === '410 changes';
	})()`)
	fleet.Records.RemoveCluster(reloader.ClusterGone{Cluster: "gone", Changes: 1000})
	b.until(t, `document.querySelector('.sum').innerText === '250 changes'`)
	b.faultless(t)
}
