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
	// mdAnchor is a place that links can name as well, such as a row of a table.
	mdAnchor = regexp.MustCompile(`<a id="([^"]+)"></a>`)
	mdFence  = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	mdCode   = regexp.MustCompile("`[^`\n]*`")
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
	if len(texts) < 25 {
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

func TestLinkRulesCatch(t *testing.T) {
	texts := map[string]string{
		"README.md": "[a](docs/a.md) [b](docs/b.md#some-heading-twice) [c](docs/c.md) [d](#here) [r](docs/b.md#row) [e](https://example.com/x) [f](docs/b.md#other)\n# Here\n`[g](g.md)`\n```\n[h](h.md)\n```\n",
		"docs/a.md": "[up](../README.md#here) [down](../../x.md)",
		"docs/b.md": "## Some heading: twice\n```\n# other\n```\n| <a id=\"row\"></a>Row |\n",
	}
	got := judgeLinks(texts, func(name string) bool { return texts[name] != "" })
	want := []string{"README.md: docs/b.md#other names no heading", "README.md: docs/c.md is not there", "docs/a.md: ../../x.md is not there"}
	if !slices.Equal(got, want) {
		t.Errorf("complaints %q, want %q", got, want)
	}
}
