package tests

import (
	"encoding/json"
	"go/constant"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/tests/tools"
)

// limits are the numbers of docs/limits.md in the page's order: a package, then expressions of its constants.
const limits = `reloader/dialect: maxListBytes maxItems MaxConfigs maxLiterals maxItemLength maxSelectorBytes maxSelectorRequirements MaxConfigs
dispatcher: maxNamespaceEdges reloader/dialect: maxFollowed reloader: MaxWanted reloader/dialect: maxWindow maxPausePeriod maxPausePeriod
reloader/control: maxWindows maxWindowText maxLength reloader: MaxWireBytes reloader/queue: historyPerSubject historyPerSubject dispatcher:
maxAttempts workers/2 workers maxAsking dispatcher/hot: perNode perNamespace inAll
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

// TestComposeFile reads docker-compose.yaml by Compose's own loader, which refuses unknown keys and references to what is not there. The images
// have exact versions, and no port is open to other machines: the API has no authentication. cmd/reroll/app looks up the flags.
func TestComposeFile(t *testing.T) {
	loader, err := tools.Path(t.Context(), "compose")
	must(t, err)
	cmd := exec.CommandContext(t.Context(), loader, "../docker-compose.yaml")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	must(t, err)
	var project struct {
		Services map[string]struct {
			Image string
			Ports []struct {
				HostIP string `json:"host_ip"`
			}
		}
	}
	must(t, json.Unmarshal(out, &project))
	exact := regexp.MustCompile(`:v?[0-9]+\.[0-9]+\.[0-9]+(-k3s[0-9]+)?$`)
	for name, service := range project.Services {
		if !exact.MatchString(service.Image) {
			t.Errorf("service %s: image %q has no exact version", name, service.Image)
		}
		for _, port := range service.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("service %s publishes a port on %q", name, port.HostIP)
			}
		}
	}
	if len(project.Services) != 5 {
		t.Errorf("%d services", len(project.Services))
	}
}
