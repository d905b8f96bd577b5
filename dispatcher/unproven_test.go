package dispatcher_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/live"
	"github.com/reroll-dev/reroll/tests/scenario"
)

// doubtful reads configs whose content is unproven while doubt is set. A SecretProviderClass is read from the ConfigMap of its name.
type doubtful struct {
	dispatcher.Configs
	doubt *atomic.Bool
}

func (d doubtful) Meta(ctx context.Context, c reloader.Config) (live.Meta, error) {
	m, err := d.Configs.Meta(ctx, readAs(c))
	return d.mark(m), err
}

func (d doubtful) Get(ctx context.Context, c reloader.Config) (live.Object, error) {
	o, err := d.Configs.Get(ctx, readAs(c))
	o.Meta = d.mark(o.Meta)
	return o, err
}

func (d doubtful) mark(m live.Meta) live.Meta {
	if d.doubt.Load() {
		m.Unproven, m.DataWritten, m.DataManager = true, time.Time{}, ""
		m.ResourceVersion += "?"
	}
	return m
}

func readAs(c reloader.Config) reloader.Config {
	if c.Kind == reloader.SecretProviderClass {
		c.Kind = reloader.ConfigMap
	}
	return c
}

// inDoubt runs a test in a world whose contents can be doubted.
func inDoubt(t *testing.T, options func(*dispatcher.Options), test func(w *world, doubt *atomic.Bool)) {
	t.Helper()
	inWorld(t, scenario.Settings{}, func(_ *testing.T, w *world) {
		doubt := &atomic.Bool{}
		w.configure = func(o *dispatcher.Options) {
			o.Configs = doubtful{o.Configs, doubt}
			options(o)
		}
		test(w, doubt)
	})
}

func asUsual(*dispatcher.Options) {}

func TestWhatIsKnownStaysTrueInDoubt(t *testing.T) {
	inDoubt(t, asUsual, func(w *world, doubt *atomic.Bool) {
		w.usually()
		doubt.Store(true)
		w.edit(bob, app, "2")
		w.rolls(0)
		w.edit(bob, app, "1")
		doubt.Store(false)
		w.rolls(0)
		w.edit(bob, app, "3")
		w.rolls(1)
	})
}

func TestDoubtIsWhereItBegins(t *testing.T) {
	inDoubt(t, asUsual, func(w *world, doubt *atomic.Bool) {
		doubt.Store(true)
		w.usually()
		w.stop()
		w.edit(bob, app, "2")
		doubt.Store(false)
		w.settled()
		w.rolled(web, 1)
	})
}

func TestNoMarkIsHeldAgainstDoubt(t *testing.T) {
	inDoubt(t, asUsual, func(w *world, doubt *atomic.Bool) {
		doubt.Store(true)
		w.give("app", "1")
		w.must(w.create(alice, object(t, fmt.Sprintf(`
kind: Deployment
metadata: {name: web, annotations: {%s}}
spec: {template: {spec: {containers: [{name: main, envFrom: [{configMapRef: {name: app}}], env: [{name: %s, value: old}]}]}}}`, auto, appVariable))))
		w.settled()
		w.rolled(web, 0)
	})
}

func TestClassesComeAndGoWithoutReload(t *testing.T) {
	inDoubt(t, absences(true, true), func(w *world, _ *atomic.Bool) {
		w.must(w.create(alice, object(t, fmt.Sprintf(`
kind: Deployment
metadata: {name: web, annotations: {%s}}
spec: {template: {spec: {
  containers: [{name: main, volumeMounts: [{name: v, mountPath: /v}]}],
  volumes: [{name: v, csi: {driver: d, volumeAttributes: {secretProviderClass: app}}}]}}}`, auto))))
		again := func() {
			w.settled()
			w.stop()
		}
		again()
		w.give("app", "1")
		again()
		w.must(w.delete(alice, app))
		again()
		w.rolled(web, 0)
		w.give("app", "2")
		again()
		w.rolled(web, 1) // what comes back with other content has changed
	})
}
