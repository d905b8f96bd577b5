package tests

import (
	"go/constant"
	"go/token"
	"go/types"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// limits are the numbers of docs/limits.md in the page's order: a package, then expressions of its constants.
const limits = `reloader/dialect: maxListBytes maxItems MaxConfigs maxLiterals maxItemLength maxSelectorBytes maxSelectorRequirements MaxConfigs
dispatcher: maxNamespaceEdges reloader/dialect: maxFollowed reloader: MaxWanted reloader/dialect: maxWindow maxPausePeriod maxPausePeriod
reloader/control: maxWindows maxWindowText maxLength reloader: MaxWireBytes 8<<10 reloader/queue: historyPerSubject dispatcher:
maxAttempts defaultWorkers/2 defaultWorkers maxAsking dispatcher/hot: perNode perNamespace inAll
callTime maxAnswerBytes reloader/kube: execTime execBytes maxEvents reloader/control: maxPauses maxWindows
reloader/kube: maxPages maxPage ingest/webhook: maxTokens maxTokenLength admission: maxBodyBytes maxConfigs
api: DefaultRequestRate DefaultRequestRate*rateBurstSeconds maxStreams maxStreamsOfClient
api/projection: DefaultChanges DefaultReloads api: maxImpactConfigs maxImpactBody`

var (
	limitNumber   = regexp.MustCompile(`(\d+(?:,\d{3})*)(?: (KiB|MiB|h|days)\b)?`)
	limitConstant = regexp.MustCompile(`(?m)^\s*(?:const )?(\w+(?:, \w+)*)\s+= ([^/\n]+?)\s*(?://.*)?$`)
	limitName     = regexp.MustCompile(`[A-Za-z]\w+`)
	limitTimes    = strings.NewReplacer("time.Hour", "3600", "time.Second", "1")
	limitUnits    = map[string]int64{"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "h": 3600, "days": 24 * 3600}
)

// TestLimitsAreDocumented: the tables of docs/limits.md have the numbers of the program.
func TestLimitsAreDocumented(t *testing.T) {
	var says, means []int64
	for line := range strings.Lines(read(t, "../docs/limits.md")) {
		if cells := strings.Split(line, " | "); len(cells) == 3 {
			for _, found := range limitNumber.FindAllStringSubmatch(cells[1], -1) {
				n, _ := strconv.ParseInt(strings.ReplaceAll(found[1], ",", ""), 10, 64)
				says = append(says, n*limitUnits[found[2]])
			}
		}
	}
	var source strings.Builder
	for _, word := range strings.Fields(limits) {
		if dir, is := strings.CutSuffix(word, ":"); is {
			source.Reset()
			files, _ := filepath.Glob("../" + dir + "/*.go")
			for _, file := range files {
				source.WriteString(read(t, file))
			}
			continue
		}
		expression := limitName.ReplaceAllStringFunc(word, func(name string) string {
			for _, d := range limitConstant.FindAllStringSubmatch(source.String(), -1) {
				if i := slices.Index(strings.Split(d[1], ", "), name); i >= 0 {
					return "(" + limitTimes.Replace(strings.Split(d[2], ", ")[i]) + ")"
				}
			}
			return name
		})
		value, err := types.Eval(token.NewFileSet(), nil, token.NoPos, expression)
		if err != nil {
			t.Fatalf("%s: %v", word, err)
		}
		n, _ := constant.Int64Val(value.Value)
		if means = append(means, n); len(means) > len(says) || says[len(means)-1] != n {
			t.Fatalf("%s is %d; the page has %d", word, n, says[min(len(means)-1, len(says)):])
		}
	}
	if len(says) > len(means) {
		t.Errorf("nothing is behind %d", says[len(means):])
	}
}
