package admission

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/digest"
	"github.com/reroll-dev/reroll/reloader/strategy"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// TestMarkThatCoversLess: a template that changes is brought to all that its pods read, also if the mark is made of less, or has no place.
func TestMarkThatCoversLess(t *testing.T) {
	long := reloader.Config{Kind: reloader.ConfigMap, Namespace: namespace, Name: "a-name-that-is-too-long-for-the-key-of-an-annotation"}
	for name, tc := range map[string]struct {
		config reloader.Config
		opted  map[string]string
	}{
		"binary data":           {config, map[string]string{"configmap.fabric8.io/update-on-change": config.Name}},
		"no place for the mark": {long, map[string]string{"trigger.k8s.io/triggering-configMaps": long.Name}},
	} {
		t.Run(name, func(t *testing.T) {
			before := deployment{opted: tc.opted, image: "1"}
			made, _, _ := patched(t, rules, nil, before.raw(t), map[reloader.Config]Seen{tc.config: binary(tc.config, "one")})
			image := made.DeepCopy()
			image.Spec.Template.Spec.Containers[0].Image = "example.com/web:2"
			after, brought, _ := patched(t, rules, rawOf(t, made), rawOf(t, image), map[reloader.Config]Seen{tc.config: binary(tc.config, "two")})
			w, err := workload.Deployment.Strip(rawOf(t, after), rules.Dialects.KeepsAnnotation)
			if err != nil {
				t.Fatal(err)
			}
			if !strategy.BroughtTo(w, tc.config, "sum of two") || brought != 1 {
				t.Errorf("%d were brought, and it says %q", brought, w.Annotations[strategy.BroughtKey])
			}
			label := after.DeepCopy()
			label.Labels = map[string]string{"team": "web"}
			if _, brought, ops := patched(t, rules, rawOf(t, after), rawOf(t, label), map[reloader.Config]Seen{tc.config: binary(tc.config, "three")}); len(ops) > 0 || brought > 0 {
				t.Errorf("a label brings it to %d configs: %v", brought, ops)
			}
		})
	}
}

// binary returns what a config says whose binary data alone changes.
func binary(c reloader.Config, value string) Seen {
	s := seenOf(c, value)
	s.Content = digest.OfConfigMap(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Name}, Data: map[string]string{"key": "same"}, BinaryData: map[string][]byte{"key.bin": []byte(value)},
	})
	s.Marks = rules.Dialects.Values(s.Content)
	return s
}
