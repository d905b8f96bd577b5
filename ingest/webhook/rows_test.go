package webhook

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"os"
	"strconv"
	"strings"
	"testing"
)

// rows are what a receiver of audit events has to expect, each with what it does and the tests that show it: a test of this package, or a
// case of one, behind a slash.
var rows = []struct {
	input, does string
	shownBy     []string
}{
	{"wrong method", "405, never a redirect", []string{"TestRefusals/GET", "TestRefusals/PUT", "TestRefusals/OPTIONS"}},
	{"wrong path", "404, never a redirect", []string{"TestRefusals/root", "TestRefusals/trailing slash", "TestRefusals/doubled slash", "TestRefusals/path to be cleaned"}},
	{"no or invalid credentials", "401 or 403 before the body is read", []string{
		"TestRefusals/no credentials", "TestRefusals/wrong token", "TestRefusals/empty token", "TestRefusals/other scheme",
		"TestOnlyCertificates", "TestOnlyTokens", "TestBodyIsNotReadBeforeItsSenderIsKnown/unknown", "TestRefusedBodyIsNotDrained",
	}},
	{"old TLS, foreign certificate", "the handshake fails", []string{"TestOldTLSIsRefused", "TestClientCertificateIsBoundToItsCluster"}},
	{"other Content-Type", "415; parameters are no other type", []string{
		"TestRefusals/no content type", "TestRefusals/other content type", "TestRefusals/content type by prefix", "TestRefusals/content type broken",
		"TestShippedBodyIsStored/with a character set", "TestBodyIsNotReadBeforeItsSenderIsKnown/wrong type",
	}},
	{"Content-Encoding", "415 from API servers, unpacked from shippers", []string{
		"TestRefusals/compressed", "TestShippedBodyIsStored/gzip", "TestShippedBodyIsStored/deflate", "TestShippedRefusals/other encoding",
		"TestShippedRefusals/several encodings", "TestShippedRefusals/not compressed", "TestShippedRefusals/compressed, cut",
	}},
	{"bomb", "413 at the limit of what is unpacked", []string{"TestShippedRefusals/bomb", "TestBombIsCutOff"}},
	{"Content-Length beyond the limit", "413 at once, the connection closed, and the log says what to mend", []string{
		"TestBodyIsNotReadBeforeItsSenderIsKnown/too long", "TestRefusals/too long", "TestRealSenderIsToldWhatToMend",
	}},
	{"chunks of unknown length", "taken up to the limit", []string{"TestChunkedBodyIsTakenUpToTheLimit"}},
	{"slow head, slow body", "cut off, 408", []string{
		"TestSlowHeaderIsCutOff", "TestSlowBodyIsCutOff", "TestBodyThatStopsArriving/deadline", "TestBodyThatStopsArriving/connection", "TestLongHeaderIsRefused",
	}},
	{"too many at a time", "503 with Retry-After of 2 to 4", []string{"TestConcurrencyIsBounded", "TestBytesAtOnceAreBounded", "TestInflatedBytesCount", "TestShippersKeepNoAPIServerWaiting"}},
	{"no EventList", "400", []string{
		"TestRefusals/empty", "TestRefusals/null", "TestRefusals/cut", "TestHostileInput/an array", "TestHostileInput/no JSON", "TestHostileInput/byte order mark",
	}},
	{"something behind it", "400, and nothing is stored", []string{
		"TestRefusals/second document", "TestHostileInput/garbage behind", "TestHostileInput/stray bracket behind",
	}},
	{"too deep", "400; an event may be of any depth, since a user can make it so", []string{"TestHostileInput/head that is too deep", "TestHostileInput/event that is deep"}},
	{"another kind or version", "400 that names the flag", []string{
		"TestHostileInput/another kind", "TestHostileInput/no kind", "TestHostileInput/no version", "TestHostileInput/v1alpha1", "TestRefusals/other version",
	}},
	{"no items, items null", "accepted", []string{"TestHostileInput/no items", "TestHostileInput/null items"}},
	{"unknown fields", "passed over", []string{"TestHostileInput/unknown fields"}},
	{"repeated and odd keys", "keys have a case, the last value counts", []string{"TestHostileInput/repeated and odd keys"}},
	{"too many events, too many configs", "413", []string{"TestRefusals/too many events", "TestRefusals/too many configs", "TestMemoryIsBounded/empty events"}},
	{"bad item", "skipped and counted, the others stored", []string{
		"TestHostileInput/no objects", "TestHostileInput/null beside a good one", "TestHostileInput/text as a reference", "TestHostileInput/no reference",
		"TestHostileInput/bad time", "TestHostileInput/huge code",
	}},
	{"events that cannot matter", "skipped and counted", []string{
		"TestHostileInput/other resource", "TestHostileInput/read", "TestHostileInput/other stage", "TestHostileInput/dry run", "TestHostileInput/conflict",
		"TestAcceptedBodyIsStored", "TestIrrelevantBodyNeedsNoSink",
	}},
	{"name with dots", "valid", []string{"TestHostileInput/name with dots"}},
	{"names that Kubernetes does not allow", "skipped and counted, never part of a subject, label, line or file name", []string{
		"TestHostileInput/wildcards for a name", "TestHostileInput/spaces in name", "TestHostileInput/control characters in name",
		"TestHostileInput/other letters in name", "TestHostileInput/name of 254 characters", "TestHostileInput/name of 1 MB", "TestHostileInput/namespace with a path",
	}},
	{"odd audit ID", "accepted", []string{"TestHostileInput/no audit ID", "TestHostileInput/audit ID of 1 MB", "TestHostileInput/control in the audit ID"}},
	{"audit ID of another event", "both are stored", []string{"TestHostileInput/audit ID of another"}},
	{"exact replay", "once is enough, and twice does no harm", []string{"TestHostileInput/replay"}},
	{"forged event", "only from who may send for the cluster, and it is no more than a hint", []string{"TestRefusals/other cluster", "TestHostileInput/replay"}},
	{"time of the future or past", "accepted, orders nothing", []string{"TestHostileInput/time of the future", "TestHostileInput/time of the past"}},
	{"huge agent, groups, annotations, addresses", "cut or passed over", []string{
		"TestHostileInput/huge agent", "TestHostileInput/huge groups", "TestHostileInput/huge annotations", "TestHostileInput/many addresses",
	}},
	{"body that takes too long", "not stored: the sender has gone", []string{
		"TestBodyThatComesTooLateIsNotStored", "TestLateBodyGetsWhatIsLeftOfTheTime", "TestSenderThatHasGoneEndsTheStoring", "TestSinkThatHangs",
	}},
	{"cluster that is unknown, or not the sender's", "403", []string{
		"TestClientCertificateIsBoundToItsCluster", "TestClustersThatAreNotServed", "TestRefusals/bad cluster", "TestRefusals/slash in the cluster", "TestRefusals/no cluster",
	}},
	{"bodies that would be many times as large in memory", "memory is bounded; tests/hostile measures the whole process", []string{
		"TestMemoryIsBounded/48 MB", "TestMemoryIsBounded/48 MB, lines", "TestMemoryIsBounded/empty events, lines", "TestMemoryIsBounded/empty events, nested",
	}},
}

// TestEveryRowIsShown finds each test that rows name in the source of this package.
func TestEveryRowIsShown(t *testing.T) {
	there := tests(t)
	for _, row := range rows {
		if len(row.shownBy) == 0 {
			t.Errorf("nothing shows what becomes of: %s", row.input)
		}
		for _, name := range row.shownBy {
			if !there[name] {
				t.Errorf("%s: there is no test %q", row.input, name)
			}
		}
	}
	if there["TestHostileInput/no such case"] {
		t.Error("everything is taken for a case")
	}
}

// tests returns the tests of this package, and with each the keys of the tables in it.
func tests(t *testing.T) map[string]bool {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(gotoken.NewFileSet(), entry.Name(), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range file.Decls {
			if f, ok := declaration.(*ast.FuncDecl); ok && strings.HasPrefix(f.Name.Name, "Test") {
				addCases(found, f)
			}
		}
	}
	return found
}

func addCases(found map[string]bool, f *ast.FuncDecl) {
	found[f.Name.Name] = true
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if pair, ok := n.(*ast.KeyValueExpr); ok {
			if key, ok := pair.Key.(*ast.BasicLit); ok && key.Kind == gotoken.STRING {
				if name, err := strconv.Unquote(key.Value); err == nil {
					found[f.Name.Name+"/"+name] = true
				}
			}
		}
		return true
	})
}
