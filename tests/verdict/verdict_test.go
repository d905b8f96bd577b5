package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tested is a package with a test for each outcome.
const tested = `package some

import "testing"

func TestPasses(t *testing.T) { t.Log("said by what passes") }
func TestSkips(t *testing.T)  { t.Skip("nothing to do") }
func TestWithin(t *testing.T) {
	t.Run("skips", func(t *testing.T) { t.Skip("nothing to do here") })
	t.Run("passes", func(t *testing.T) { t.Log("said by what passes") })
}
`

// inModule runs the test in a module of its own with the package some.
func inModule(t *testing.T, source string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for file, text := range map[string]string{"go.mod": "module " + strings.TrimSuffix(module, "/") + "\n", "some/some_test.go": source} {
		write(t, file, text)
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func goTest(args ...string) []string { return append([]string{"go", "test", "-count=1"}, args...) }

// TestSkipIsAFailureUnlessListed: each skipped test is named with what it says, and a list with its reason makes it right.
func TestSkipIsAFailureUnlessListed(t *testing.T) {
	inModule(t, tested)
	const none, all = "none.yaml", "all.yaml"
	write(t, none, "skips: []")
	write(t, all, `skips:
- {test: some.TestSkips, reason: it is an example, without: environment REROLL_IS_NEVER_SET, runBy: nothing}
- {test: some.TestWithin/skips, reason: it is an example, without: program reroll-there-is-no-such-program, runBy: nothing}
`)
	err := judge(t.Context(), "", "", none, goTest("./..."))
	if err == nil || !strings.Contains(err.Error(), "some.TestSkips was skipped") || !strings.Contains(err.Error(), "nothing to do") || !strings.Contains(err.Error(), "some.TestWithin/skips was skipped") {
		t.Errorf("without a list: %v", err)
	}
	if err := judge(t.Context(), "records/a.json", "", all, goTest("./...")); err != nil {
		t.Errorf("with a list: %v", err)
	}
	t.Setenv("REROLL_IS_NEVER_SET", "1")
	if err := judge(t.Context(), "", "", all, goTest("./...")); err == nil || !strings.Contains(err.Error(), "some.TestSkips") {
		t.Errorf("a listed test was skipped although what it needs is there: %v", err)
	}
	for name, entry := range map[string]string{
		"no reason":    "{test: some.TestSkips, without: mounts, runBy: nothing}",
		"no condition": "{test: some.TestSkips, reason: it is an example, runBy: nothing}",
		"odd":          "{test: some.TestSkips, reason: it is an example, without: luck, runBy: nothing}",
	} {
		write(t, "wrong.yaml", "skips: ["+entry+"]")
		if _, err := readSkips("wrong.yaml"); err == nil {
			t.Errorf("%s: the list is accepted", name)
		}
	}
}

// TestSeedsMayBePassedOver: a fuzz target may pass over seeds that cannot come, but not over all.
func TestSeedsMayBePassedOver(t *testing.T) {
	const source = "package some\n\nimport \"testing\"\n\nfunc FuzzSome(f *testing.F) {\n\tf.Add(1)\n\tf.Add(2)\n" +
		"\tf.Fuzz(func(t *testing.T, n int) {\n\t\tif n < LIMIT {\n\t\t\tt.Skip(\"it cannot come\")\n\t\t}\n\t})\n}\n"
	for limit, right := range map[string]bool{"2": true, "3": false} {
		inModule(t, strings.ReplaceAll(source, "LIMIT", limit))
		write(t, "none.yaml", "skips: []")
		if err := judge(t.Context(), "", "", "none.yaml", goTest("./...")); (err == nil) != right {
			t.Errorf("with seeds below %s passed over: %v", limit, err)
		}
	}
}

// TestFailuresAreShown: what fails, or never ends, is printed with what it says; what passes is one line.
func TestFailuresAreShown(t *testing.T) {
	for name, c := range map[string]struct{ source, want string }{
		"fails":            {`func TestBad(t *testing.T) { t.Error("said by what fails") }`, "said by what fails"},
		"panics":           {`func TestBad(t *testing.T) { panic("said by what panics") }`, "said by what panics"},
		"ends the process": {`func TestBad(t *testing.T) { println("said by what exits"); os.Exit(3) }`, "said by what exits"},
		"does not compile": {`func TestBad(t *testing.T) { undefined() }`, "undefined: undefined"},
		"fails within":     {`func TestBad(t *testing.T) { t.Run("in", func(t *testing.T) { t.Error("said by what fails") }) }`, "said by what fails"},
	} {
		t.Run(name, func(t *testing.T) {
			inModule(t, strings.Replace(tested, `import "testing"`, "import (\n\"os\"\n\"testing\"\n)\n\nvar _ = os.Exit\n"+c.source, 1))
			var out bytes.Buffer
			found, err := run(t.Context(), goTest("./..."), &out)
			if err == nil || !strings.Contains(out.String(), c.want) || strings.Contains(out.String(), "said by what passes") {
				t.Errorf("%v: printed:\n%s", err, &out)
			}
			if got := found["some.TestBad"].Action; got != "fail" && name != "does not compile" {
				t.Errorf("it is on record as %q", got)
			}
		})
	}
	inModule(t, tested)
	var out bytes.Buffer
	if _, err := run(t.Context(), goTest("./..."), &out); err != nil || strings.Contains(out.String(), "said by") || !strings.HasPrefix(out.String(), "ok  \t") {
		t.Errorf("%v: printed:\n%s", err, &out)
	}
}

// TestProofsMustPass: a proof that failed, was skipped or did not run proves nothing, and neither does one of which a part did not pass.
func TestProofsMustPass(t *testing.T) {
	inModule(t, tested)
	write(t, "records/a.json", `{
"dispatcher.TestA": {"action": "pass"}, "dispatcher.TestA/in": {"action": "pass"},
"dispatcher.TestB": {"action": "pass"}, "dispatcher.TestB/in": {"action": "skip"},
"dispatcher.TestC": {"action": "fail"}, "dispatcher.TestD": {"action": "skip"},
"tests/e2e.TestScenarios/some_flags/all/auto": {"action": "pass"},
"tests/conformance/tools.TestScenarios/no_flags/together/sap-token": {"action": "pass"},
"tests/conformance/stakater.TestScenarios/no_flags/event": {"action": "skip"}}`)
	write(t, "records/b.json", `{"dispatcher.TestD": {"action": "pass"}}`)
	for proof, want := range map[string]bool{
		"dispatcher/a_test.go:TestA": true, "dispatcher/a_test.go:TestB": false, "dispatcher/a_test.go:TestC": false,
		"dispatcher/a_test.go:TestD": true, "dispatcher/a_test.go:TestE": false, "api/a_test.go:TestA": false,
		"tests/scenarios/auto.yaml": true, "tests/scenarios/au.yaml": false, "tests/conformance/sap/token.yaml": true,
		"tests/conformance/wave/token.yaml": false, "tests/conformance/stakater/scenarios/event.yaml": false,
	} {
		write(t, proofsFile, "rows: [{what: it, proof: \""+proof+"\"}]")
		if err := judge(t.Context(), "", "records", "", nil); (err == nil) != want {
			t.Errorf("%s: %v", proof, err)
		}
	}
	if err := judge(t.Context(), "", "no-records", "", nil); err == nil {
		t.Error("without records every proof passes")
	}
}

// TestListedTestsExist: each entry of the list names a test that is there, and a target that a workflow runs.
func TestListedTestsExist(t *testing.T) {
	list, err := readSkips("skips.yaml")
	if err != nil || len(list) == 0 {
		t.Fatalf("%d entries: %v", len(list), err)
	}
	workflows := allText(t, "../../.github/workflows/*.yaml")
	for _, s := range list {
		pkg, test, _ := strings.Cut(s.Test, ".")
		test, _, _ = strings.Cut(test, "/")
		if !strings.Contains(allText(t, "../../"+pkg+"/*_test.go"), "\nfunc "+test+"(t *testing.T)") {
			t.Errorf("there is no test %s", s.Test)
		}
		if !strings.Contains(workflows, "make "+s.RunBy) {
			t.Errorf("%s: no workflow runs make %s", s.Test, s.RunBy)
		}
	}
}

// allText returns the text of all files that match a pattern.
func allText(t *testing.T, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no files: %v", pattern, err)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}
