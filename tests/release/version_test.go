package release_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func text(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(root + "/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// TestOneVersion: the chart, the image that it and the Compose file name and the newest entry of CHANGELOG.md are of one version. For a release (RELEASE_TAG) that is
// the tag's, and the entry has a day. A candidate, v1.2.3-rc.1, needs no day.
func TestOneVersion(t *testing.T) {
	var chart struct{ Version, AppVersion string }
	if err := yaml.Unmarshal([]byte(text(t, "helm/reroll/Chart.yaml")), &chart); err != nil {
		t.Fatal(err)
	}
	entry := regexp.MustCompile(`(?m)^## ([0-9]+\.[0-9]+\.[0-9]+), (.+)$`).FindStringSubmatch(text(t, "CHANGELOG.md"))
	if entry == nil {
		t.Fatal("CHANGELOG.md has no entry of a version")
	}
	image := regexp.MustCompile(`(?m)^ARG .*\bVERSION=(\S+)$`).FindStringSubmatch(text(t, "Dockerfile"))
	if image == nil {
		t.Fatal("the Dockerfile has no version")
	}
	compose := regexp.MustCompile(`(?m)^ +image: ghcr\.io/reroll-dev/reroll:(\S+)$`).FindStringSubmatch(text(t, "docker-compose.yaml"))
	if compose == nil {
		t.Fatal("the Compose file has no version")
	}
	for what, version := range map[string]string{
		"the chart's appVersion": chart.AppVersion, "CHANGELOG.md": entry[1], "the Dockerfile": image[1], "the Compose file": compose[1],
	} {
		if version != chart.Version {
			t.Errorf("%s has %s, and the chart is %s", what, version, chart.Version)
		}
	}
	tag := os.Getenv("RELEASE_TAG")
	if tag == "" {
		return
	}
	version, candidate, _ := strings.Cut(strings.TrimPrefix(tag, "v"), "-")
	if version != chart.Version {
		t.Errorf("the tag is %s, and the chart is %s", tag, chart.Version)
	}
	if candidate != "" {
		return
	}
	if !regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`).MatchString(entry[2]) {
		t.Errorf("the entry of %s says %q, and not the day of its release", entry[1], entry[2])
	}
}
