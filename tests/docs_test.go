package tests

import (
	"flag"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/reroll-dev/reroll/dispatcher/plan"
)

//go:generate go test . -run RulesAreInArchitecture -update

var update = flag.Bool("update", false, "write the tables of ARCHITECTURE.md")

var (
	// mdLink is a link to a file or a place in one, in a document: its text may hold anything but brackets.
	mdLink = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	// mdHeading is a heading, which links can name.
	mdHeading = regexp.MustCompile(`(?m)^#{1,6} +(.+?)\s*$`)
	// mdAnchor is a place that links can name as well, such as a row of a table.
	mdAnchor = regexp.MustCompile(`<a id="([^"]+)"></a>`)
	mdFence  = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	mdCode   = regexp.MustCompile("`[^`\n]*`")
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// read returns the text of a file.
func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	return string(text)
}

// documents returns the text of each document, by its path.
func documents(t *testing.T) map[string]string {
	t.Helper()
	list := exec.CommandContext(t.Context(), "git", "ls-files", "-co", "--exclude-standard", "*.md")
	list.Dir = ".."
	out, err := list.Output()
	must(t, err)
	texts := map[string]string{}
	for _, name := range strings.Fields(string(out)) {
		if strings.Contains(name, "/testdata/") {
			continue
		}
		if _, err := os.Stat("../" + name); os.IsNotExist(err) {
			continue // it was deleted, and that is not committed yet
		}
		texts[name] = read(t, "../"+name)
	}
	return texts
}

// TestLinksLead follows each link of each document that stays in the repository, to the file and to the heading in it.
func TestLinksLead(t *testing.T) {
	texts := documents(t)
	for name, text := range texts {
		for _, link := range mdLink.FindAllStringSubmatch(mdCode.ReplaceAllString(mdFence.ReplaceAllString(text, ""), "x"), -1) {
			target, anchor, _ := strings.Cut(link[1], "#")
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			file := name
			if target != "" {
				file = path.Join(path.Dir(name), target)
			}
			if _, err := os.Stat("../" + file); err != nil {
				t.Errorf("%s: %s is not there", name, link[1])
			} else if anchor != "" && !slices.Contains(anchors(texts[file]), anchor) {
				t.Errorf("%s: %s names no heading", name, link[1])
			}
		}
	}
}

// anchors returns the names by which links know the places in a document.
func anchors(text string) (names []string) {
	for _, anchor := range mdAnchor.FindAllStringSubmatch(text, -1) {
		names = append(names, anchor[1])
	}
	for _, heading := range mdHeading.FindAllStringSubmatch(mdFence.ReplaceAllString(text, ""), -1) {
		name := strings.Map(func(r rune) rune {
			switch {
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			case r == ' ':
				return '-'
			}
			return -1
		}, heading[1])
		names = append(names, name)
	}
	return names
}

// TestRulesAreInArchitecture: the tables of ARCHITECTURE.md are the rules of decision, in the order in which they are asked. With -update it writes them.
func TestRulesAreInArchitecture(t *testing.T) {
	var rules, sight strings.Builder
	for _, r := range plan.Rules {
		rules.WriteString("| `" + r.Name + "` | " + r.Says + " |\n")
	}
	for _, r := range plan.SightRules {
		sight.WriteString("| `" + r.Name + "` | " + r.Says + " |\n")
	}
	const name, head = "../ARCHITECTURE.md", "| rule | says |\n|---|---|\n"
	page := read(t, name)
	parts := strings.Split(page, head)
	if len(parts) != 3 {
		t.Fatalf("ARCHITECTURE.md has %d tables of rules", len(parts)-1)
	}
	for i, table := range []string{rules.String(), sight.String()} {
		_, rest, _ := strings.Cut(parts[i+1], "\n\n")
		parts[i+1] = table + "\n" + rest
	}
	switch now := strings.Join(parts, head); {
	case now == page:
	case !*update:
		t.Error("the rules of ARCHITECTURE.md are not those of the code; run go generate ./tests")
	default:
		must(t, os.WriteFile(name, []byte(now), 0o644))
	}
}

// TestShippingFiltersKeepWhatCounts: a documented filter that leaves out a resource would make its changes wait for the sweep.
func TestShippingFiltersKeepWhatCounts(t *testing.T) {
	page := read(t, "../docs/audit-events.md")
	for _, resource := range []string{"configmaps", "secrets", "secretproviderclasspodstatuses"} {
		if want := `$.objectRef.resource = "` + resource + `"`; !strings.Contains(page, want) {
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
		found := regexp.MustCompile(regexp.QuoteMeta(field) + `=~"([^"]+)"`).FindStringSubmatch(page)
		if found == nil {
			t.Errorf("the page has no filter of %s", field)
			continue
		}
		filter, err := regexp.Compile(found[1])
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
