package dispatcher_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/tests/scenario"
)

// chaos is a world in which everything goes wrong by chance, and what may be expected of it.
type chaos struct {
	*world
	random *rand.Rand
	// versions counts the contents that the config had, the first one not included.
	versions int64
	value    string
	down     bool
	// anew says that the config is also deleted and made anew, and made counts that.
	anew bool
	made int64
}

// TestChaos: whatever fails, restarts, comes late, twice or in another order, in the end the workload carries the mark of the content,
// and its template has changed no more often than the content. A config that is made anew may add one roll each time: a pod that started after the
// last look that found its content may have started while it was away.
func TestChaos(t *testing.T) {
	for seed := range uint64(200) {
		window := []time.Duration{0, time.Second}[seed%2]
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			settings := scenario.Settings{
				Strategy: []string{"env-vars", "annotations"}[seed/2%2],
				Window:   scenario.Duration(window), MaxWait: scenario.Duration(5 * window),
			}
			inWorld(t, settings, func(t *testing.T, w *world) {
				w.overhears = seed/4%2 == 1
				c := &chaos{world: w, random: rand.New(rand.NewPCG(seed, 7)), value: "1", anew: seed/8%2 == 0}
				w.usual()
				w.pass(time.Minute)
				w.settled()
				for range 40 {
					c.act()
					w.pass(time.Duration(c.random.IntN(3000)) * time.Millisecond)
				}
				c.calm()
				c.check()
			})
		})
	}
}

func (c *chaos) act() {
	switch c.random.IntN(13) {
	case 0, 1, 2:
		c.change(fmt.Sprint(c.random.IntN(4)))
	case 3:
		if c.anew {
			c.made++
			c.must(c.delete(bob, app))
			c.give("app", c.value)
		}
	case 4:
		c.stop()
		c.down = true
	case 5, 6:
		c.up()
	case 7:
		c.failing(func(string, string) error {
			if time.Now().UnixNano()%3 == 0 {
				return errLost
			}
			return nil
		})
	case 8:
		c.failing(nil)
	case 9:
		c.stream.hold()
	case 10:
		c.deliver()
	case 11:
		c.store.lose(nil, []error{nil, errLost}[c.random.IntN(2)])
	case 12:
		c.second()
	}
}

func (c *chaos) change(value string) {
	if value != c.value {
		c.versions++
	}
	c.value = value
	c.edit(alice, app, value)
}

func (c *chaos) up() {
	if !c.down {
		return
	}
	c.failing(nil)
	c.store.lose(nil, nil)
	c.start()
	c.down = false
}

// second starts a dispatcher beside the one that runs.
func (c *chaos) second() {
	if c.down || len(c.running) > 1 {
		return
	}
	c.failing(nil)
	c.store.lose(nil, nil)
	c.start()
}

// deliver sends what was held, shuffled, and some of it twice.
func (c *chaos) deliver() {
	hints := c.stream.take()
	hints = append(hints, hints[:len(hints)/2]...)
	c.random.Shuffle(len(hints), func(i, j int) { hints[i], hints[j] = hints[j], hints[i] })
	c.stream.send(hints...)
}

// calm ends every fault and waits.
func (c *chaos) calm() {
	c.t.Helper()
	c.failing(nil)
	c.store.lose(nil, nil)
	c.up()
	c.deliver()
	c.pass(15 * time.Minute)
	c.must(c.Quiesce(c.t.Context()))
}

// mark returns the mark of the one config, written by either strategy.
func marked(template *corev1.PodTemplateSpec) string {
	var from struct {
		Hash string `json:"hash"`
	}
	if json.Unmarshal([]byte(template.Annotations["reloader.stakater.com/last-reloaded-from"]), &from) == nil {
		return from.Hash
	}
	for _, e := range template.Spec.Containers[0].Env {
		return e.Value
	}
	return ""
}

func (c *chaos) check() {
	c.t.Helper()
	template, err := c.Template(c.t.Context(), web)
	c.must(err)
	config, _ := c.read(app)
	want, got := scenario.StakaterHash("a="+config.(*corev1.ConfigMap).Data["a"]), marked(template)
	if got != want && (got != "" || c.value != "1") {
		c.t.Errorf("the mark is %q, want %s", got, want)
	}
	if g := c.revision(web); g-1 > c.versions+c.made {
		c.t.Errorf("the template changed %d times for %d contents, made anew %d times", g-1, c.versions, c.made)
	}
}
