package reloader_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/reloader"
)

// rolledOut is a rollout with every field set.
var rolledOut = &reloader.Rollout{
	Result: reloader.ReasonWaitingForOperator, Message: "it is paused: spec.paused", StartedAt: at.Add(time.Second), EndedAt: at.Add(3 * time.Second),
}

func followedReload() reloader.Reload {
	r := wholeReload
	r.Rollout = rolledOut
	return r
}

func followedWorkload() reloader.WorkloadRecord {
	r := wholeWorkload
	r.Rollout = rolledOut
	r.Hold = &reloader.Hold{Reason: reloader.ReasonFailing, Message: "timeout", Since: at, Attempts: 12}
	return r
}

// TestGoldenRollout: what followed rollouts add to records. Those of before are read as ever: see TestGolden.
func TestGoldenRollout(t *testing.T) {
	t.Run("reload", func(t *testing.T) { golden(t, "reload-rollout", followedReload()) })
	t.Run("workload", func(t *testing.T) { golden(t, "workload-rollout", followedWorkload()) })
}

// TestRolloutIsAnAddition: the golden files of before and after differ in what was added alone, so that either program reads both.
func TestRolloutIsAnAddition(t *testing.T) {
	file := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join("testdata", "wire", fmt.Sprintf("%s.v%d.json", name, reloader.WireVersion)))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	r, err := reloader.Decode[reloader.Reload](file("reload-rollout"))
	r.Rollout = nil
	if diff := cmp.Diff(wholeReload, r); err != nil || diff != "" {
		t.Errorf("reload: %v %s", err, diff)
	}
	w, err := reloader.Decode[reloader.WorkloadRecord](file("workload-rollout"))
	w.Rollout, w.Hold = nil, wholeWorkload.Hold
	if diff := cmp.Diff(wholeWorkload, w); err != nil || diff != "" {
		t.Errorf("workload: %v %s", err, diff)
	}
}
