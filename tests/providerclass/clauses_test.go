package providerclass

import (
	"fmt"
	"testing"
)

// TestWhoReloads: which annotations of a workload and of a class make a rotation roll.
func TestWhoReloads(t *testing.T) {
	t.Parallel()
	const of = "secretproviderclass.reloader.stakater.com/"
	cases := []struct {
		reason   string
		class    annotations
		workload annotations
		rolls    int64
	}{
		{"asks for all that it uses", nil, auto, 1},
		{"asks for classes", nil, annotations{of + "auto": "true"}, 1},
		{"asks for all, whatever is said of classes", nil, annotations{"reloader.stakater.com/auto": "true", of + "auto": "false"}, 1},
		{"asks for Secrets alone", nil, annotations{"secret.reloader.stakater.com/auto": "true"}, 0},
		{"names it", nil, annotations{of + "reload": "else, class-%d"}, 1},
		{"names it by an expression", nil, annotations{of + "reload": "[c]lass-%d"}, 1},
		{"names a Secret of that name", nil, annotations{"secret.reloader.stakater.com/reload": "class-%d"}, 0},
		{"excludes it", nil, annotations{"reloader.stakater.com/auto": "true", "secretproviderclasses.exclude.reloader.stakater.com/reload": "class-%d"}, 0},
		{"the class is to be ignored", annotations{"reloader.stakater.com/ignore": "true"}, auto, 0},
		{"searches, and the class matches", annotations{"reloader.stakater.com/match": "true"}, annotations{"reloader.stakater.com/search": "true"}, 1},
		{"searches, and the class does not match", nil, annotations{"reloader.stakater.com/search": "true"}, 0},
		{"asks for nothing", nil, nil, 0},
	}
	r := newRoom(t)
	named := func(text annotations, i int) annotations {
		done := annotations{}
		for key, value := range text {
			if value != "true" && value != "false" {
				value = fmt.Sprintf(value, i)
			}
			done[key] = value
		}
		return done
	}
	want := map[string]int64{}
	for i, c := range cases {
		class, workload := fmt.Sprint("class-", i), fmt.Sprint("workload-", i)
		r.class(class, c.class)
		r.mount("pod", class, "v1")
		r.deploy(workload, class, named(c.workload, i))
		want[workload] = c.rolls
	}
	r.quiesce()
	for i := range cases {
		r.rotate("pod", fmt.Sprint("class-", i), "v2")
	}
	for i, c := range cases {
		t.Logf("workload-%d %s", i, c.reason)
	}
	r.expect(want)
}
