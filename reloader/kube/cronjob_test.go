package kube

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/reloader/mark"
)

func TestJobOf(t *testing.T) {
	job, err := jobOf(object(t, "cronjob.yaml"), mark.Roll{
		Name: "abcdefgh23456723", Annotations: map[string]any{"reroll.dev/applied": "of this", "gone": nil},
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(object(t, "job-of-cronjob.yaml").Object, job.Object); diff != "" {
		t.Errorf("as kubectl makes it, with the annotations of the roll (-want +got):\n%s", diff)
	}
}
