package showcase

import (
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// scene is one change that is not left to chance.
type scene struct {
	ago             time.Duration
	cluster         string
	namespace, name string
	by              []string
	keys            []reloader.KeyChange
	// rolling is the app that still rolls out.
	rolling string
}

// story is what happened last, the newest first: what held apps wait for is in it.
var story = []scene{
	{
		ago: 2 * time.Minute, cluster: "prod-eu", namespace: "shop", name: "cm/feature-flags", by: []string{"alice@example.com"},
		keys: []reloader.KeyChange{changed("checkout.v2"), {Key: "gift-cards", Op: reloader.KeyAdded}},
	},
	{
		ago: 3 * time.Minute, cluster: "prod-eu", namespace: "payments", name: "secret/acquirer-certificates", by: []string{certManager},
		keys: []reloader.KeyChange{changed("tls.crt"), changed("tls.key")}, rolling: "ledger",
	},
	{
		ago: 8 * time.Minute, cluster: "prod-us", namespace: "shop", name: "cm/feature-flags", by: []string{flux},
		keys: []reloader.KeyChange{{Key: "gift-cards", Op: reloader.KeyAdded}},
	},
	{ago: 13 * time.Minute, cluster: "staging", namespace: "platform", name: "cm/routes", by: []string{flux}, keys: []reloader.KeyChange{changed("routes.yaml")}},
	{ago: 17 * time.Minute, cluster: "prod-eu", namespace: "shop", name: "secret/payments-api", by: []string{"bob@example.com"}, keys: []reloader.KeyChange{changed("api-key")}},
	{ago: 21 * time.Minute, cluster: "prod-us", namespace: "platform", name: "cm/routes", keys: []reloader.KeyChange{changed("timeouts.yaml")}},
	{
		ago: 29 * time.Minute, cluster: "prod-eu", namespace: "shop", name: "cm/mail-templates", by: []string{"chidi@example.com", "dana@example.com"},
		keys: []reloader.KeyChange{changed("receipt.html")},
	},
}

func changed(key string) reloader.KeyChange {
	return reloader.KeyChange{Key: key, Op: reloader.KeyChanged}
}

// tell makes the change of a scene: apps that are held for the config wait, a dead letter after it was refused, and all others roll.
func (f *Fleet) tell(s scene) {
	c := f.change(s.cluster, config(s.namespace, s.name), f.Now.Add(-s.ago))
	c.Keys = s.keys
	by(&c, s.by...)
	f.Records.AddChange(f.seq, c)
	for _, a := range dependents(c) {
		r := f.reload(a, c)
		held := a.hold != nil && a.configs[0] == s.name
		switch {
		case held && !a.hold.DeadLetter():
			continue
		case held:
			refuse(&r, a.hold.Message)
		case a.name == s.rolling:
			r.Rollout.Result, r.Rollout.EndedAt = reloader.ReasonRolling, time.Time{}
		}
		f.add(r)
	}
}
