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

// TestDoubt: content that nothing proves is compared with nothing, until something does.
func TestDoubt(t *testing.T) {
	for name, test := range map[string]func(w *world, doubt func(bool)){
		"it is where it begins": func(w *world, doubt func(bool)) {
			doubt(true)
			w.usually()
			w.stop()
			w.edit(bob, app, "2")
			doubt(false)
			w.settled()
			w.rolled(web, 1)
		},
		"classes come and go without a roll": func(w *world, _ func(bool)) {
			w.must(w.create(alice, object(w.t, fmt.Sprintf(`
kind: Deployment
metadata: {name: web, annotations: {%s}}
spec: {template: {spec: {
  containers: [{name: main, volumeMounts: [{name: v, mountPath: /v}]}],
  volumes: [{name: v, csi: {driver: d, volumeAttributes: {secretProviderClass: app}}}]}}}`, auto))))
			w.settled()
			w.give("app", "1")
			w.successor()
			w.must(w.delete(alice, app))
			w.successor()
			w.rolled(web, 0)
			w.give("app", "2")
			w.successor()
			w.rolled(web, 1) // what comes back with other content has changed
		},
	} {
		runWorld(t, name, scenario.Settings{}, func(_ *testing.T, w *world) {
			doubt := &atomic.Bool{}
			w.configure = func(o *dispatcher.Options) {
				o.Configs, o.ReloadOnCreate, o.ReloadOnDelete = doubtful{o.Configs, doubt}, true, true
			}
			test(w, doubt.Store)
		})
	}
}
