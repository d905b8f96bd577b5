package dispatcher_test

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	documentedRow   = regexp.MustCompile("(?m)^\\| `(reloader_\\w+)` \\| (\\w+) \\| (.*?) ?\\|")
	documentedLabel = regexp.MustCompile("`(\\w+)`")
)

// TestStakaterDocument: the document has a row for each metric, with its type and labels.
func TestStakaterDocument(t *testing.T) {
	content, err := os.ReadFile("../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	for _, row := range documentedRow.FindAllStringSubmatch(string(content), -1) {
		labels := []string{}
		for _, l := range documentedLabel.FindAllStringSubmatch(row[3], -1) {
			labels = append(labels, l[1])
		}
		documented[row[1]] = fmt.Sprint(row[2], labels)
	}
	want := map[string]string{byNamespaceName: "counter[namespace success]"}
	for name, f := range stakaterFamilies {
		want[name] = fmt.Sprint(strings.ToLower(f.kind.String()), slices.Sorted(maps.Keys(f.labels)))
	}
	if diff := cmp.Diff(want, documented); diff != "" {
		t.Errorf("metrics in docs/reference/metrics.md (-known +documented):\n%s", diff)
	}
}
