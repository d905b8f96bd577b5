package providerclass

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var auto = annotations{"reloader.stakater.com/auto": "true"}

// Marks of the class vault, as Stakater Reloader makes them: SHA-1 of "SecretProviderClassName=vault;db=v2" and of its like.
const (
	markV2 = "4eef9e88acd4dd16902b700f2d24f9692658b0a6"
	markV3 = "61da618f38deaa90278c031310960dac7d1dfbd3"
)

func TestRotationRollsOnce(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.class("vault", nil)
	r.class("other", nil)
	r.mount("web-0", "vault", "v1")
	r.mount("else-0", "other", "v1")
	r.deploy("web", "vault", auto)
	r.deploy("else", "other", auto)
	r.quiesce()

	r.rotate("web-0", "vault", "v2")
	r.expect(map[string]int64{"web": 1, "else": 0})
	if got := r.mark("web"); got != markV2 {
		t.Errorf("mark %q, want %q", got, markV2)
	}

	// The new pod mounts what is there, and the old one goes.
	r.mount("web-1", "vault", "v2")
	r.unmount("web-0", "vault")
	r.expect(map[string]int64{"web": 1, "else": 0})

	r.rotate("web-1", "vault", "v3")
	r.expect(map[string]int64{"web": 2, "else": 0})
	if got := r.mark("web"); got != markV3 {
		t.Errorf("mark %q, want %q", got, markV3)
	}
}

func TestMountsRollNothing(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.class("vault", nil)
	r.class("poke", nil)
	r.mount("poke-0", "poke", "1")
	r.deploy("web", "vault", auto)
	// poke has Reroll look at every class of the namespace.
	poke := func(version string) {
		t.Helper()
		r.rotate("poke-0", "poke", version)
		r.expect(map[string]int64{"web": 0})
	}
	poke("2")
	r.mount("web-0", "vault", "v1")
	poke("3")
	r.mount("web-1", "vault", "v2") // the store has gone on, and web-0 has not
	poke("4")
	r.unmount("web-0", "vault")
	poke("5")
	r.rotate("web-1", "vault", "v2") // an update that changes nothing
	poke("6")
	label := []byte(`{"metadata":{"labels":{"a":"b"}}}`)
	_, err := r.dynamic.Resource(podStatuses).Namespace(r.ns).Patch(r.ctx, r.podStatus("web-1", "vault"), types.MergePatchType, label, metav1.PatchOptions{})
	r.must(err)
	poke("7")
	r.unmount("web-1", "vault")
	poke("8")
}

// TestRotationWhileDown is not parallel: it stops the process of all.
func TestRotationWhileDown(t *testing.T) {
	r := newRoom(t)
	r.class("vault", nil)
	r.mount("web-0", "vault", "v1")
	r.mount("web-1", "vault", "v1")
	r.deploy("web", "vault", auto)
	r.deploy("late", "vault", auto)
	r.quiesce()
	r.must(shared.Reroll.Terminate(r.ctx))
	r.rotate("web-0", "vault", "v2")
	r.must(shared.Reroll.Start())
	r.must(shared.Reroll.WaitReady(r.ctx))
	r.expect(map[string]int64{"web": 1, "late": 1})

	// All that was ever updated goes while nobody looks: what is known stays.
	r.must(shared.Reroll.Terminate(r.ctx))
	r.unmount("web-0", "vault")
	r.must(shared.Reroll.Start())
	r.must(shared.Reroll.WaitReady(r.ctx))
	r.expect(map[string]int64{"web": 1, "late": 1})
	r.rotate("web-1", "vault", "v2") // the last that had not caught up
	r.expect(map[string]int64{"web": 1, "late": 1})
}
