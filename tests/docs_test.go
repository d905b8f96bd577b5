package tests

import (
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

var (
	// mdLink is a link to a file or a place in one, in a document: its text may hold anything but brackets.
	mdLink = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	// mdHeading is a heading, which links can name.
	mdHeading = regexp.MustCompile(`(?m)^#{1,6} +(.+?)\s*$`)
	mdFence   = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	mdCode    = regexp.MustCompile("`[^`\n]*`")
)

// documents returns the text of each document, by its path.
func documents(t *testing.T) map[string]string {
	t.Helper()
	list := exec.CommandContext(t.Context(), "git", "ls-files", "-co", "--exclude-standard", "*.md")
	list.Dir = ".."
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, name := range strings.Fields(string(out)) {
		if strings.Contains(name, "/testdata/") {
			continue
		}
		content, err := os.ReadFile("../" + name)
		if os.IsNotExist(err) {
			continue // it was deleted, and that is not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(content)
	}
	return texts
}

// TestLinksLead follows each link of each document that stays in the repository, to the file and to the heading in it.
func TestLinksLead(t *testing.T) {
	texts := documents(t)
	for _, complaint := range judgeLinks(texts, func(name string) bool {
		_, err := os.Stat("../" + name)
		return err == nil
	}) {
		t.Error(complaint)
	}
	if len(texts) < 40 {
		t.Errorf("only %d documents were read", len(texts))
	}
}

// judgeLinks returns a complaint for each link that leads nowhere. there tells whether the repository has a file or folder.
func judgeLinks(texts map[string]string, there func(string) bool) (complaints []string) {
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
			if !there(file) {
				complaints = append(complaints, name+": "+link[1]+" is not there")
			} else if anchor != "" && !slices.Contains(anchors(texts[file]), anchor) {
				complaints = append(complaints, name+": "+link[1]+" names no heading")
			}
		}
	}
	slices.Sort(complaints)
	return complaints
}

// anchors returns the names by which links know the headings of a document.
func anchors(text string) (names []string) {
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

func TestLinkRulesCatch(t *testing.T) {
	texts := map[string]string{
		"README.md": "[a](docs/a.md) [b](docs/b.md#some-heading-twice) [c](docs/c.md) [d](#here) [e](https://example.com/x) [f](docs/b.md#other)\n# Here\n`[g](g.md)`\n```\n[h](h.md)\n```\n",
		"docs/a.md": "[up](../README.md#here) [down](../../x.md)",
		"docs/b.md": "## Some heading: twice\n```\n# other\n```\n",
	}
	got := judgeLinks(texts, func(name string) bool { return texts[name] != "" })
	want := []string{"README.md: docs/b.md#other names no heading", "README.md: docs/c.md is not there", "docs/a.md: ../../x.md is not there"}
	if !slices.Equal(got, want) {
		t.Errorf("complaints %q, want %q", got, want)
	}
}

// namedTests are a package and tests of it, as a document names them: `tests/e2e` `TestLifetime`, `TestCrashes`.
var (
	namedTests = regexp.MustCompile("`([a-z][a-z0-9/]*)`((?:,? `(?:Test|Fuzz)[A-Za-z0-9]+`)+)")
	testName   = regexp.MustCompile("(?:Test|Fuzz)[A-Za-z0-9]+")
)

// TestThreatsNameTheirTests: the last column of each row of threats names tests that are there.
func TestThreatsNameTheirTests(t *testing.T) {
	const document = "docs/security.md"
	_, text, found := strings.Cut(documents(t)[document], "\n| threat | what is done | shown by |\n|---|---|---|\n")
	if !found {
		t.Fatalf("%s has no table of threats", document)
	}
	rows := 0
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		rows++
		named := namedTests.FindAllStringSubmatch(line, -1)
		if named == nil {
			t.Errorf("no test shows %s", line)
		}
		for _, n := range named {
			for _, name := range testName.FindAllString(n[2], -1) {
				grep := exec.CommandContext(t.Context(), "git", "grep", "-q", "--untracked", "-E", "^func "+name+`\(`, "--", n[1]+"/*_test.go")
				grep.Dir = ".."
				if err := grep.Run(); err != nil {
					t.Errorf("%s has no %s", n[1], name)
				}
			}
		}
	}
	if rows < 10 {
		t.Errorf("only %d threats", rows)
	}
}

// shortName is a test that a document names; with an ellipsis, all whose names begin so.
var shortName = regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z0-9]+)(…?)`")

// TestNamedTestsAreThere: a promise, a figure or a fault that names the test behind it, in any document, names one that is there.
func TestNamedTestsAreThere(t *testing.T) {
	grep := exec.CommandContext(t.Context(), "git", "grep", "-hoE", "--untracked", `^func (Test|Fuzz)[A-Za-z0-9]+`, "--", "*_test.go")
	grep.Dir = ".."
	out, err := grep.Output()
	if err != nil {
		t.Fatal(err)
	}
	tests := strings.Fields(string(out))
	texts, named := documents(t), 0
	for name, text := range texts {
		for _, n := range shortName.FindAllStringSubmatch(text, -1) {
			named++
			if !slices.ContainsFunc(tests, func(test string) bool { return test == n[1] || n[2] != "" && strings.HasPrefix(test, n[1]) }) {
				t.Errorf("%s names %s, which there is not", name, n[0])
			}
		}
	}
	if named < 100 {
		t.Errorf("only %d names were found in %d documents", named, len(texts))
	}
}
