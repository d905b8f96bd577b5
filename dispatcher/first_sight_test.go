package dispatcher_test

import (
	"testing"

	"github.com/reroll-dev/reroll/reloader"
)

// numberOfFlags returns what the process gives to the owner of the flags when it asks for them; 0 if it does not.
func (p *process) numberOfFlags() uint64 {
	for _, f := range p.Followed() {
		if f.Config.Name == flags.Name {
			return f.Number
		}
	}
	return 0
}

// toldTo returns a copy of the flags with content n, for whoever asked with a number.
func toldTo(number uint64, n int) reloader.Copy {
	c := copyOfFlags(n)
	c.Answers = number
	return c
}

// TestFollowerBeginsWithWhatItsOwnerSaysNow: a copy that was told to those who followed the config before tells nothing of what it is now.
func TestFollowerBeginsWithWhatItsOwnerSaysNow(t *testing.T) {
	amongClusters(t, func(t *testing.T, w *world, _ *copies) {
		w.give("app", "1")
		p := w.start()
		w.deploy("web", followsFlags, "app")
		w.pass(quiet)
		earlier := p.numberOfFlags()
		p.Receive(toldTo(earlier, 1))
		w.pass(quiet)
		w.wantProblem(t, "")
		w.must(w.delete(alice, web))
		w.pass(quiet)
		p.Followed() // nobody follows it, and its owner tells of it no more

		w.deploy("web", followsFlags, "app")
		w.pass(quiet)
		number := p.numberOfFlags()
		if number == 0 || number == earlier {
			t.Fatalf("it asks with the number %d, and asked with %d before", number, earlier)
		}
		p.Receive(toldTo(earlier, 1)) // the hub has it still
		w.pass(quiet)
		w.wantProblem(t, "nothing has come from cluster c1")
		p.Receive(toldTo(number, 5))
		w.pass(quiet)
		w.wantProblem(t, "")
		w.rolled(web, 0)
		p.Receive(toldTo(number, 6))
		w.rolls(1)
	})
}

// TestFollowerThatStartsAnewTakesWhatTheHubHas: it knows what its workloads were brought to, and so whether a copy is news, although their owner
// is away.
func TestFollowerThatStartsAnewTakesWhatTheHubHas(t *testing.T) {
	amongClusters(t, func(t *testing.T, w *world, _ *copies) {
		w.give("app", "1")
		w.deploy("web", followsFlags, "app")
		p := w.start()
		number := p.numberOfFlags()
		p.Receive(toldTo(number, 1))
		w.pass(quiet)
		w.stop()
		w.pass(quiet)
		p = w.start()
		if again := p.numberOfFlags(); again == number {
			t.Fatalf("another process asks with the same number %d", again)
		}
		p.Receive(toldTo(number, 2))
		w.rolls(1)
		w.wantProblem(t, "")
	})
}
