package kube

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation"

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

func TestJobName(t *testing.T) {
	const roll = "abcdefgh23456723"
	cases := map[string]struct{ reason, cronJob, want string }{
		"short":   {"the CronJob is still to be recognized", "report", "report-abcdefgh23456723"},
		"longest": {"the whole fits into a label", strings.Repeat("x", 52), strings.Repeat("x", 46) + "-abcdefgh23456723"},
		"dash":    {"the cut leaves no double dash", strings.Repeat("x", 44) + "-yyyyyyy", strings.Repeat("x", 44) + "-y-abcdefgh23456723"},
		"at dash": {"the cut leaves no double dash", strings.Repeat("x", 45) + "-yyyyyy", strings.Repeat("x", 45) + "-abcdefgh23456723"},
		"at dot":  {"a dash must not follow a dot", strings.Repeat("x", 45) + ".yyyyyy", strings.Repeat("x", 45) + "-abcdefgh23456723"},
		"dotted":  {"a CronJob's name may have dots", "a.b", "a.b-abcdefgh23456723"},
	}
	for name, test := range cases {
		got := jobName(test.cronJob, roll)
		if got != test.want || len(got) > validation.DNS1123LabelMaxLength || len(validation.IsDNS1123Subdomain(got)) > 0 {
			t.Errorf("%s: %q, want %q: %s", name, got, test.want, test.reason)
		}
	}
}
