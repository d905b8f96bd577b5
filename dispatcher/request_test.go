package dispatcher_test

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// annotateWith gives a workload an annotation.
func (w *world) annotateWith(ref scenario.Ref, key, value string) {
	w.t.Helper()
	w.must(w.patch(alice, ref, types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, key, value)))
}

// request asks for a roll of web.
func (w *world) request(value string) {
	w.t.Helper()
	w.annotateWith(web, dispatcher.RequestedAnnotation, value)
}

// TestRequest: rolls that somebody asks for.
func TestRequest(t *testing.T) {
	each(t, scenario.Settings{}, worlds{
		"each new value is one roll, also one that was there before the last, and is on record with it": func(t *testing.T, w *world) {
			w.usually()
			for n, value := range []string{"new certificates", "again", "new certificates"} {
				w.request(value)
				w.pass(time.Minute)
				w.rolled(web, int64(n+1))
				w.annotateWith(web, "other", value)
				w.pass(time.Minute)
				w.rolled(web, int64(n+1))
			}
			reloads := w.store.reloadsOf(webRef)
			if len(reloads) != 3 {
				t.Fatalf("on record: %+v", reloads)
			}
			r := reloads[0]
			if r.Requested != "new certificates" || r.Outcome != reloader.ReasonReloaded || r.PatchedAt.IsZero() || len(r.Causes) != 0 || r.ID == reloads[2].ID {
				t.Errorf("on record: %+v", r)
			}
			w.edited("2", 4)
		},
		"what is there when a workload is first seen asks for nothing, also when the records are lost": func(_ *testing.T, w *world) {
			w.usual()
			w.request("1")
			w.settled()
			w.rolled(web, 0)
			w.forget()
			w.settled()
			w.rolled(web, 0)
			w.request("2")
			w.rolls(1)
			w.forget()
			w.settled()
			w.rolled(web, 1)
		},
		"the next process rolls, once": func(_ *testing.T, w *world) {
			w.usually()
			w.stop()
			w.request("1")
			for range 2 {
				w.settled()
				w.rolled(web, 1)
				w.stop()
			}
		},
	})
}
