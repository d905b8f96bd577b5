package kube

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

func TestMetaOfTellsWhoIsUnselected(t *testing.T) {
	cases := map[string]struct {
		reason, selector string
		labels           map[string]string
		want             bool
	}{
		"no selector":  {"without a selector all are chosen", "", nil, false},
		"match":        {"the label is there", "reload=yes", map[string]string{"reload": "yes", "team": "a"}, false},
		"other value":  {"another value is no match", "reload=yes", map[string]string{"reload": "no"}, true},
		"no labels":    {"who has no labels lacks this one", "reload", nil, true},
		"two, one met": {"all parts must match", "reload,team=a", map[string]string{"reload": "", "team": "b"}, true},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			c := &Cluster{options: Options{KeepAnnotation: func(string) bool { return false }}}
			if test.selector != "" {
				selector, err := labels.Parse(test.selector)
				if err != nil {
					t.Fatal(err)
				}
				c.options.ResourceSelector = selector
			}
			if got := c.metaOf(&metav1.ObjectMeta{Labels: test.labels}).Unselected; got != test.want {
				t.Errorf("unselected: %t, want %t: %s", got, test.want, test.reason)
			}
		})
	}
}
