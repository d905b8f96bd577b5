package tests

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// limitRow is a row of a table of limits: its cells, and the constants that it is about.
var limitRow = regexp.MustCompile("(?m)^\\|(.*)\\| *((?:`[a-z/]+\\.[A-Za-z]+`(?:, )?)+) *\\|$")

// limitFiles are the documents whose tables have every limit.
var limitFiles = []string{"../docs/reference/limits.md", "../docs/security.md"}

// noLimits are constants that are called like limits and bound nothing that a user, a tenant or a client has or sends, with the reason. A whole
// package is named by a dot behind it.
var noLimits = map[string]string{
	"cmd/reroll/cli.":                     "commands read files and answers that their own user names",
	"reloader/near.":                      "how alike two names are",
	"reloader/adoption.":                  "what doctor migrate prints",
	"reloader/config.":                    "limits of Kubernetes",
	"reloader.maxNamespaceLength":         "a limit of Kubernetes",
	"reloader.maxNameLength":              "a limit of Kubernetes",
	"reloader/strategy.maxAnnotationName": "a limit of Kubernetes",
	"reloader/kube.maxEventMessage":       "a limit of Kubernetes",
	"reloader/queue.maxBatch":             "a limit of NATS; a larger batch is sent as several",
	"reloader/queue.maxUnanswered":        "messages on their way; the next one waits",
	"reloader/queue.maxSilence":           "a time after which a server counts as away",
	"reloader/queue.maxOutrun":            "attempts, after which the work is tried again later",
	"reloader/queue.maxExtents":           "what one header holds; more headers follow",
	"dispatcher.maxRereads":               "attempts, after which the work is tried again later",
	"reloader/kube.maxRedeletes":          "attempts, after which the work is tried again later",
	"cmd/reroll/certificate.maxConflicts": "attempts, after which the work is tried again later",
	"ingest/watch.maxBatch":               "hints stored at once; more follow",
}

// TestLimitsAreDocumented: every constant of the product that is called max… has a row in a table of limits, with its value, or is no limit.
func TestLimitsAreDocumented(t *testing.T) {
	documented := documentedLimits(t)
	values := limits(t)
	if len(values) < 90 {
		t.Fatalf("only %d limits were found in the sources", len(values))
	}
	for name, value := range values {
		row, ok := documented[name]
		delete(documented, name)
		_, exempt := noLimits[name]
		_, exemptPackage := noLimits[name[:strings.LastIndexByte(name, '.')+1]]
		base := name[strings.LastIndexByte(name, '.')+1:]
		switch {
		case !ok && !strings.HasPrefix(base, "max") && !strings.HasPrefix(base, "Max"):
		case exempt || exemptPackage:
			if ok {
				t.Errorf("%s is documented as a limit, and noLimits says that it is none", name)
			}
		case !ok:
			t.Errorf("%s = %s has no row in the tables of limits of docs/reference/limits.md and docs/security.md: say what is limited, the number, what happens beyond it, how it is seen, how it is raised", name, value)
		case !slices.ContainsFunc(strings.Split(value, " or "), func(v string) bool { return strings.Contains(row, v) }):
			t.Errorf("%s is %s, and its row does not say so: %s", name, value, row)
		}
	}
	for name := range documented {
		t.Errorf("%s is documented as a limit, and the sources have no such constant", name)
	}
	for name := range noLimits {
		if _, ok := values[name]; !ok && !strings.HasSuffix(name, ".") {
			t.Errorf("noLimits names %s, which the sources do not have", name)
		}
	}
}

// documentedLimits returns the row of each constant.
func documentedLimits(t *testing.T) map[string]string {
	t.Helper()
	rows := map[string]string{}
	for _, file := range limitFiles {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range limitRow.FindAllStringSubmatch(string(text), -1) {
			for _, name := range strings.Split(row[2], ", ") {
				rows[strings.Trim(name, "` ")] = row[1]
			}
		}
	}
	return rows
}

// limits returns the values of the constants of the product that are whole numbers or times, as documents have them, by package and name.
func limits(t *testing.T) map[string]string {
	t.Helper()
	list := exec.CommandContext(t.Context(), "git", "ls-files", "-co", "--exclude-standard", "*.go")
	list.Dir = ".."
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	constants := map[string]ast.Expr{}
	for _, file := range strings.Fields(string(out)) {
		if strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "tests/") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), "../"+file, nil, parser.SkipObjectResolution)
		if os.IsNotExist(err) {
			continue // it was deleted, and that is not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range parsed.Decls {
			collect(constants, path.Dir(file), decl)
		}
	}
	values := map[string]string{}
	for name, e := range constants {
		if v, isTime := evaluate(constants, path.Dir(name)+"/"+path.Base(name), e); v.Kind() == constant.Int {
			values[name] = spell(v, isTime)
		}
	}
	return values
}

// collect adds the constants of a declaration.
func collect(constants map[string]ast.Expr, dir string, decl ast.Decl) {
	group, ok := decl.(*ast.GenDecl)
	if !ok || group.Tok != token.CONST {
		return
	}
	for _, spec := range group.Specs {
		v := spec.(*ast.ValueSpec)
		for i, name := range v.Names {
			if i < len(v.Values) {
				constants[dir+"."+name.Name] = v.Values[i]
			}
		}
	}
}

// durations are the constants of the package time.
var durations = map[string]time.Duration{
	"Millisecond": time.Millisecond, "Second": time.Second, "Minute": time.Minute, "Hour": time.Hour,
}

// evaluate returns the value of an expression of whole numbers, constants of the same package and times, and whether it is a time.
func evaluate(constants map[string]ast.Expr, name string, e ast.Expr) (v constant.Value, isTime bool) {
	dir := name[:strings.LastIndexByte(name, '.')]
	switch e := e.(type) {
	case *ast.BasicLit:
		return constant.MakeFromLiteral(e.Value, e.Kind, 0), false
	case *ast.ParenExpr:
		return evaluate(constants, name, e.X)
	case *ast.SelectorExpr:
		if d, ok := durations[e.Sel.Name]; ok {
			return constant.MakeInt64(int64(d)), true
		}
	case *ast.Ident:
		if other, ok := constants[dir+"."+e.Name]; ok {
			return evaluate(constants, name, other)
		}
	case *ast.BinaryExpr:
		x, xTime := evaluate(constants, name, e.X)
		y, yTime := evaluate(constants, name, e.Y)
		if x.Kind() != constant.Int || y.Kind() != constant.Int {
			break
		}
		if e.Op == token.SHL {
			bits, _ := constant.Uint64Val(y)
			return constant.Shift(x, e.Op, uint(bits)), false
		}
		return constant.BinaryOp(x, e.Op, y), xTime || yTime
	}
	return constant.MakeUnknown(), false
}

// spell returns a number as documents have it: 24 h, 512 KiB or 524,288, 10,000.
func spell(v constant.Value, isTime bool) string {
	n, _ := constant.Int64Val(v)
	if isTime {
		switch d := time.Duration(n); {
		case d%(24*time.Hour) == 0 && d > 24*time.Hour:
			return fmt.Sprintf("%d days", d/(24*time.Hour))
		case d%time.Hour == 0:
			return fmt.Sprintf("%d h", d/time.Hour)
		case d%time.Minute == 0:
			return fmt.Sprintf("%d min", d/time.Minute)
		default:
			return fmt.Sprintf("%d s", d/time.Second)
		}
	}
	for _, unit := range []struct {
		size int64
		name string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n >= 2*unit.size && n%unit.size == 0 || n == unit.size && unit.size > 1<<10 {
			return fmt.Sprintf("%d %s or %s", n/unit.size, unit.name, separated(n))
		}
	}
	return separated(n)
}

// separated returns a number with commas between thousands.
func separated(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
