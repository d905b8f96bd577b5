package tests

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestShippingFiltersKeepWhatCounts: a documented filter that leaves out a resource would make its changes wait for the sweep.
func TestShippingFiltersKeepWhatCounts(t *testing.T) {
	page, err := os.ReadFile("../docs/audit-events.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, resource := range []string{"configmaps", "secrets", "secretproviderclasspodstatuses"} {
		if want := `$.objectRef.resource = "` + resource + `"`; !strings.Contains(string(page), want) {
			t.Errorf("the subscription filter does not keep %s", want)
		}
	}
	for field, test := range map[string]struct{ kept, dropped []string }{
		"protoPayload.resourceName": {
			kept: []string{
				"core/v1/namespaces/shop/configmaps/settings", "core/v1/namespaces/shop/secrets",
				"secrets-store.csi.x-k8s.io/v1/namespaces/shop/secretproviderclasspodstatuses/web-0",
			},
			dropped: []string{"core/v1/namespaces/shop/pods/web", "apps/v1/namespaces/shop/deployments/web", "core/v1/namespaces/secrets"},
		},
		"protoPayload.methodName": {
			kept: []string{
				"io.k8s.core.v1.configmaps.update", "io.k8s.core.v1.secrets.deletecollection",
				"io.x-k8s.csi.secrets-store.v1.secretproviderclasspodstatuses.patch",
			},
			dropped: []string{"io.k8s.core.v1.secrets.list", "io.k8s.core.v1.secrets.get"},
		},
	} {
		found := regexp.MustCompile(regexp.QuoteMeta(field) + `=~"([^"]+)"`).FindSubmatch(page)
		if found == nil {
			t.Errorf("the page has no filter of %s", field)
			continue
		}
		filter, err := regexp.Compile(string(found[1]))
		if err != nil {
			t.Errorf("%s: %v", field, err)
			continue
		}
		for _, text := range test.kept {
			if !filter.MatchString(text) {
				t.Errorf("%s: the filter drops %s", field, text)
			}
		}
		for _, text := range test.dropped {
			if filter.MatchString(text) {
				t.Errorf("%s: the filter keeps %s", field, text)
			}
		}
	}
}
