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

// TestPromisesNameTheirTests: the last column of each row of threats, and of what a tenant cannot do, names tests that are there.
func TestPromisesNameTheirTests(t *testing.T) {
	texts := documents(t)
	for document, header := range map[string]string{
		"docs/security.md": "| threat | what is done | shown by |\n|---|---|---|\n",
		"docs/tenancy.md":  "| an admin cannot | tried by |\n|---|---|\n",
	} {
		rows := rowsUnder(texts[document], header)
		for _, row := range rows {
			for _, complaint := range judgeNamed(row, func(name, dir string) bool {
				grep := exec.CommandContext(t.Context(), "git", "grep", "-q", "--untracked", "-E", "^func "+name+`\(`, "--", dir+"/*_test.go")
				grep.Dir = ".."
				return grep.Run() == nil
			}) {
				t.Errorf("%s: %s", document, complaint)
			}
		}
		if len(rows) < 10 {
			t.Errorf("%s has only %d rows", document, len(rows))
		}
	}
}

// rowsUnder returns the rows of all tables that begin with a header.
func rowsUnder(text, header string) (rows []string) {
	for _, table := range strings.Split(text, "\n"+header)[1:] {
		for line := range strings.Lines(table) {
			if !strings.HasPrefix(line, "|") {
				break
			}
			rows = append(rows, strings.TrimSpace(line))
		}
	}
	return rows
}

// judgeNamed returns a complaint if the last cell of a row names no test, and one for each test there that a package does not have.
func judgeNamed(row string, there func(name, dir string) bool) (complaints []string) {
	cells := strings.Split(strings.TrimSuffix(row, "|"), "|")
	named := namedTests.FindAllStringSubmatch(cells[len(cells)-1], -1)
	if named == nil {
		return []string{"no test shows " + row}
	}
	for _, n := range named {
		for _, name := range testName.FindAllString(n[2], -1) {
			if !there(name, n[1]) {
				complaints = append(complaints, n[1]+" has no "+name)
			}
		}
	}
	return complaints
}

func TestNamedRulesCatch(t *testing.T) {
	const header = "| cannot | tried by |\n|---|---|\n"
	rows := rowsUnder("text\n"+header+"| a | `x` `TestA`, `TestB`; `y/z` `TestC` |\n| b `x` `TestA` | none |\n\n| other |\n"+header+"| c | `x` `TestA` |\n", header)
	var got []string
	for _, row := range rows {
		got = append(got, judgeNamed(row, func(name, dir string) bool { return name == "TestA" && dir == "x" || name == "TestC" })...)
	}
	if want := []string{"x has no TestB", "no test shows | b `x` `TestA` | none |"}; len(rows) != 3 || !slices.Equal(got, want) {
		t.Errorf("%d rows, complaints %q, want %q", len(rows), got, want)
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
