package cli

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

//go:generate go test . -run ^(TestMigrateValuesIsGolden|TestMigrateValuesDocument)$ -update

var update = flag.Bool("update", false, "write golden files and documents instead of comparing with them")

// migrations are how the command is called for each file of testdata.
var migrations = map[string]migrateValues{
	"everything":       {natsURL: "nats://nats:4222"},
	"single-namespace": {namespace: "reloader"},
	"odd":              {},
}

func TestMigrateValuesIsGolden(t *testing.T) {
	for name, m := range migrations {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join("testdata", "migrate-values", name)
			in, err := os.Open(file + ".yaml")
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close() //nolint:errcheck // it was only read
			var out, complaints bytes.Buffer
			if err := m.run(in, &out, &complaints); err != nil {
				t.Fatal(err)
			}
			compareFile(t, file+".golden", out.String())
			if got, want := strings.Count(complaints.String(), "\n"), strings.Count(out.String(), "\n# - "); got != want {
				t.Errorf("%d complaints on standard error, and %d in the output", got, want)
			}
		})
	}
}

// compareFile compares a file with what it should hold, or makes it so.
func compareFile(t *testing.T, file, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s is out of date; go generate ./cmd/reroll/cli (-now +file):\n%s", file, diff)
	}
}

func TestMigrateValuesRefuses(t *testing.T) {
	for name, tc := range map[string]struct{ text, says string }{
		"a list":          {"[1, 2]", "no YAML mapping"},
		"broken YAML":     {"reloader: {", "no YAML mapping"},
		"a key twice":     {"image: {}\nimage: {}", "already set"},
		"namespaces":      {"reloader: {namespaces: [Shop]}", "list of names"},
		"selector":        {"reloader: {namespaceSelector: [1]}", "no label selector"},
		"one of which":    {"reloader: {watchGlobally: false}", "--namespace"},
		"ignored":         {"reloader: {ignoreJobs: never}", "neither true nor false"},
		"all configs":     {"reloader: {ignoreSecrets: true, ignoreConfigMaps: true}", "nothing would be left to react to"},
		"too much of all": {"a: " + strings.Repeat("x", maxValues), "longer than 1024 KiB"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			err := migrateValues{}.run(strings.NewReader(tc.text), &out, &out)
			if err == nil || !strings.Contains(err.Error(), tc.says) || out.Len() > 0 {
				t.Errorf("%v, want %q, and nothing written: %q", err, tc.says, out.String())
			}
		})
	}
}

// TestMigrateValuesKnowsAddresses: our chart takes no other ones, and credentials in one would stand in the arguments of pods.
func TestMigrateValuesKnowsAddresses(t *testing.T) {
	for url, says := range map[string]string{
		"nats://a:4222,nats://b:4222": "", "foo:4222": `"foo:4222" is no address`, "http://foo:4222": "is no address", "nats://u:secret@n:4222": "nats.existingSecret",
	} {
		var out bytes.Buffer
		err := migrateValues{natsURL: url}.run(strings.NewReader("reloader: {enableHA: true}"), &out, &out)
		if (err == nil) != (says == "") || err != nil && (!strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "secret@") || out.Len() > 0) {
			t.Errorf("%s: %v, want %q, and nothing written: %q", url, err, says, out.String())
		}
	}
}

// TestMigrateValuesSpread: constraints that our chart would refuse are named, and none is taken over.
func TestMigrateValuesSpread(t *testing.T) {
	const good = "{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}"
	for name, tc := range map[string]struct{ constraints, says string }{
		"good":                 {"[" + good + "]", ""},
		"no list":              {good, "is no list of constraints"},
		"no constraint":        {"[zone]", "is no constraint"},
		"a field of ours":      {"[" + good + ", {maxSkew: 0, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]", `cannot have "maxSkew" "0"`},
		"a field of nobody":    {"[{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, matchLabelKeys: [a]}]", `cannot have "matchLabelKeys"`},
		"what must be is not":  {"[{maxSkew: 1, topologyKey: zone}]", "has no whenUnsatisfiable"},
		"half a replica apart": {"[{maxSkew: 1.5, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]", `cannot have "maxSkew"`},
	} {
		t.Run(name, func(t *testing.T) {
			values, notes, err := migrateValues{}.convert([]byte("reloader: {deployment: {topologySpreadConstraints: " + tc.constraints + "}}"))
			if err != nil {
				t.Fatal(err)
			}
			if (values["topologySpreadConstraints"] != nil) != (tc.says == "") || !strings.Contains(strings.Join(notes, " "), tc.says) {
				t.Errorf("values %v, notes %q", values, notes)
			}
		})
	}
}

func TestMigrateValuesStrictly(t *testing.T) {
	for text, want := range map[string]error{"reloader: {autoReloadAll: true}": nil, "reloader: {deployment: {replicas: 1}}": nil, "replicas: 2": errLeftOver} {
		var out bytes.Buffer
		if err := (migrateValues{strict: true}).run(strings.NewReader(text), &out, &out); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", text, err, want)
		}
	}
}

// TestMigrateValuesKeepsCredentialsToItself: the URL of a chat or webhook is a credential, and what was wrong with it goes to a log.
func TestMigrateValuesKeepsCredentialsToItself(t *testing.T) {
	const text = "reloader: {webhookUrl: 'ftp://secret', deployment: {env: {secret: {ALERT_WEBHOOK_URL: 'secret', ALERT_WEBHOOK_PROXY: 'secret'}}}}"
	var out, complaints bytes.Buffer
	if err := (migrateValues{}).run(strings.NewReader(text), &out, &complaints); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(complaints.String(), "secret:") || strings.Contains(complaints.String(), "//secret") || strings.Count(complaints.String(), "\n") != 3 {
		t.Errorf("complaints: %s", complaints.String())
	}
}

const stakaterDocument = "../../../docs/migrate-from-stakater.md"

// TestMigrateValuesDocument compares the document's table with the mappings.
func TestMigrateValuesDocument(t *testing.T) {
	const begin, end = "<!-- The table is generated: go generate ./cmd/reroll/cli -->\n", "<!-- End of the table. -->\n"
	content, err := os.ReadFile(stakaterDocument)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(content), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s lacks the lines between which it is generated", stakaterDocument)
	}
	table := "| Stakater's chart | this chart | |\n|---|---|---|\n"
	for _, m := range mappings {
		to := "–"
		if m.to != "" {
			to = "`" + m.to + "`"
		}
		table += fmt.Sprintf("| `%s` | %s | %s |\n", m.from, to, m.means)
	}
	compareFile(t, stakaterDocument, before+begin+table+end+after)
}

// FuzzMigrateValues: whatever is given, the output is YAML that says the same as the values, and every line of a note is a comment.
func FuzzMigrateValues(f *testing.F) {
	files, err := filepath.Glob("testdata/migrate-values/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte("reloader: {deployment: {env: {open: {ALERT_ON_RELOAD: 'true', ALERT_ADDITIONAL_INFO: \"a\\nb\"}}}}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		values, notes, err := migrateValues{}.convert(text)
		if err != nil {
			return
		}
		var back map[string]any
		if err := yaml.UnmarshalStrict(renderValues(values, notes), &back); err != nil {
			t.Fatalf("%v in\n%s", err, renderValues(values, notes))
		}
		want, err := yaml.Marshal(values)
		if err != nil {
			t.Fatal(err)
		}
		got, err := yaml.Marshal(back)
		if err != nil {
			t.Fatal(err)
		}
		if len(values) > 0 && !bytes.Equal(want, got) {
			t.Errorf("written %s\nread %s", want, got)
		}
	})
}

// theirValues are all values of Stakater's chart 2.2.16, as its values.yaml has them, by the value that they are in.
var theirValues = map[string]string{
	"":       "global.imageRegistry global.imagePullSecrets kubernetes.host nameOverride fullnameOverride namespace",
	"image.": "name repository tag digest pullPolicy",
	"reloader.": "autoReloadAll isArgoRollouts isOpenshift ignoreSecrets ignoreConfigMaps ignoreJobs ignoreCronJobs reloadOnCreate reloadOnDelete syncAfterRestart " +
		"reloadStrategy ignoreNamespaces namespaceSelector resourceLabelSelector logFormat logLevel watchGlobally namespaces enableHA enablePProf " +
		"enableCSIIntegration pprofAddr readOnlyRootFileSystem legacy.rbac matchLabels enableMetricsByNamespace service rbac.enabled rbac.labels " +
		"serviceAccount.create serviceAccount.labels serviceAccount.annotations serviceAccount.name serviceMonitor.enabled podMonitor.enabled " +
		"podDisruptionBudget netpol verticalPodAutoscaler webhookUrl",
	"reloader.deployment.": "dnsConfig replicas revisionHistoryLimit hostUsers nodeSelector affinity volumeMounts volumes securityContext containerSecurityContext " +
		"tolerations topologySpreadConstraints annotations labels env.open env.secret env.field env.existing livenessProbe readinessProbe resources " +
		"pod.annotations priorityClassName runtimeClassName schedulerName automountServiceAccountToken gomaxprocsOverride gomemlimitOverride",
	"reloader.custom_annotations.": "configmap secret auto secret_auto configmap_auto search match ignore pausePeriod pauseTime",
}

// TestEveryValueOfTheirsIsJudged: none of them is called unknown, and none below the Deployment is put off with a reason that is about others.
func TestEveryValueOfTheirsIsJudged(t *testing.T) {
	for in, values := range theirValues {
		for value := range strings.FieldsSeq(values) {
			m, found := mappingOf(in + value)
			if !found || m.from == "reloader.deployment" {
				t.Errorf("%s is not in the table of docs/migrate-from-stakater.md", in+value)
			}
		}
	}
}
