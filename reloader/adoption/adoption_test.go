package adoption

import (
	"crypto/sha1"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/digest"
	"github.com/reroll-dev/reroll/reloader/live"
	"github.com/reroll-dev/reroll/reloader/mark"
	"github.com/reroll-dev/reroll/reloader/near"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// view is an installation that reads everything.
func view() View {
	all := dialect.All(dialect.StakaterOptions{})
	return View{All: all, Dialects: all, Strategy: mark.EnvVars.Name, Now: noon.Add(time.Hour)}
}

// looks is how a workload looks: its annotations, those of its pod template, its labels and variables. It takes its environment from the
// ConfigMap app.
type looks struct {
	annotations, template, labels map[string]string
	env                           []corev1.EnvVar
	scheduler                     string
}

func (l looks) workload(t *testing.T) *workload.Workload {
	t.Helper()
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cart", Annotations: l.annotations, Labels: l.labels}}
	d.Spec.Template = corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Annotations: l.template},
		Spec: corev1.PodSpec{SchedulerName: l.scheduler, Containers: []corev1.Container{{Name: "main", Env: l.env, EnvFrom: []corev1.EnvFromSource{
			{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "app"}}},
		}}}},
	}
	w, err := workload.Deployment.Strip(d, Keeps(view().All))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// read returns what is read where there are the ConfigMaps app and other, and kept in the namespace theirs, each with the data {a: "1", b: "2"},
// and nothing else.
func read(configs []reloader.Config) map[reloader.Config]Known {
	found := map[reloader.Config]Known{}
	for _, c := range configs {
		if !slices.Contains([]string{"ConfigMap/shop/app", "ConfigMap/shop/other", "ConfigMap/theirs/kept"}, c.String()) {
			found[c] = Known{Absent: true}
			continue
		}
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Name}, Data: map[string]string{"a": "1", "b": "2"}}
		found[c] = Known{Meta: live.Meta{UID: "u-" + c.Name, ResourceVersion: "42", Created: noon, DataWritten: noon}, Content: digest.OfConfigMap(cm)}
	}
	return found
}

var names = Names{reloader.ConfigMap: {"app", "other"}, reloader.Secret: {}}

func report(t *testing.T, w *workload.Workload, pods workload.Pods) Report {
	t.Helper()
	configs, _ := view().Wants(w, names)
	r, err := view().Report(Input{Workload: w, Configs: read(configs), Names: names, Pods: func() (workload.Pods, error) { return pods, nil }})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func sha(text string) string { return fmt.Sprintf("%x", sha1.Sum([]byte(text))) }

func sha256Hex(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

func TestState(t *testing.T) {
	variable := func(name, value string) []corev1.EnvVar { return []corev1.EnvVar{{Name: name, Value: value}} }
	stakater := map[string]string{"reloader.stakater.com/auto": "true"}
	collaborne := map[string]string{"reloader.k8s.collaborne.com/configmap": "app"}
	waveKept := map[string]string{"wave.pusher.com/update-on-config-change": "true", "wave.pusher.com/extra-configmaps": "theirs/kept"}
	cases := map[string]struct {
		reason string
		looks  looks
		want   State
		by     string
	}{
		"no mark":         {"what is there is where it begins", looks{annotations: stakater}, State(reloader.ReasonBaseline), "stakater"},
		"stakater's mark": {"it proves that nothing was missed", looks{annotations: stakater, env: variable("STAKATER_APP_CONFIGMAP", sha("a=1;b=2"))}, State(reloader.ReasonAlreadyCurrent), "stakater"},
		"an old mark":     {"it proves that something was", looks{annotations: stakater, env: variable("STAKATER_APP_CONFIGMAP", sha("a=0;b=2"))}, Missed, "stakater"},
		"a deletion's":    {"what was deleted has only been made again", looks{annotations: stakater, env: variable("STAKATER_APP_CONFIGMAP", mark.DeletedValue)}, State(reloader.ReasonBaseline), "stakater"},
		"no hash":         {"somebody's own variable is no mark", looks{annotations: stakater, env: variable("STAKATER_APP_CONFIGMAP", "mine")}, State(reloader.ReasonBaseline), "stakater"},
		"collaborne's":    {"each tool has its own hash", looks{annotations: collaborne, env: variable("_RELOADER_CONFIGMAP_APP", sha("a=1b=2"))}, State(reloader.ReasonAlreadyCurrent), "collaborne"},
		"of another tool": {"a mark of a tool that does not ask says nothing", looks{annotations: collaborne, env: variable("STAKATER_APP_CONFIGMAP", sha("a=0"))}, State(reloader.ReasonBaseline), "collaborne"},
		"who has marked": {
			"the first that asks and has marked is believed",
			looks{annotations: map[string]string{"reloader.stakater.com/auto": "true", "reloader.k8s.collaborne.com/configmap": "app"}, env: variable("_RELOADER_CONFIGMAP_APP", sha("a=1b=2"))},
			State(reloader.ReasonAlreadyCurrent), "collaborne",
		},
		"sap's of versions": {
			"the tool's own form is understood", looks{
				annotations: map[string]string{"pod-reloader.cs.sap.com/configmaps": "app"},
				template:    map[string]string{dialect.SAPHashKey: sapVersion},
			}, State(reloader.ReasonAlreadyCurrent), "sap",
		},
		"sap's that is old": {
			"another version is another mark", looks{
				annotations: map[string]string{"pod-reloader.cs.sap.com/configmaps": "app"}, template: map[string]string{dialect.SAPHashKey: strings.Repeat("0", 64)},
			}, Missed, "sap",
		},
		"sap's written by Reroll": {
			"nobody can check it without Reroll's key", looks{
				annotations: map[string]string{"pod-reloader.cs.sap.com/configmaps": "app", "reroll.dev/applied": "u 1"},
				template:    map[string]string{dialect.SAPHashKey: strings.Repeat("0", 64)},
			}, Recorded, "sap",
		},
		"wave's of all": {
			"the tool tells of what is not shared as well, and that proves nothing", looks{
				annotations: waveKept, template: map[string]string{"wave.pusher.com/config-hash": sha256Hex(`{"configMaps":{"app":{"a":"MQ==","b":"Mg=="},"kept":{"a":"MQ==","b":"Mg=="}},"secrets":{}}`)},
			}, Missed, "wave",
		},
		"wave's written by Reroll": {
			"Reroll does not tell of what is not shared", looks{
				annotations: waveKept, template: map[string]string{"wave.pusher.com/config-hash": sha256Hex(`{"configMaps":{"app":{"a":"MQ==","b":"Mg=="}},"secrets":{}}`)},
			}, State(reloader.ReasonAlreadyCurrent), "wave",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := report(t, tc.looks.workload(t), workload.Pods{Known: true, Of: []workload.Pod{{Current: true, Containers: []workload.Start{{Name: "main", At: noon}}}}})
			i := slices.IndexFunc(r.Configs, func(f Forecast) bool { return f.Config.Name == "app" })
			if i < 0 {
				t.Fatalf("nothing is said of app: %+v", r)
			}
			if f := r.Configs[i]; f.State != tc.want || f.Dialect != tc.by || r.Rolls != (tc.want == Missed) {
				t.Errorf("%s by %s, rolls: %t; want %s by %s: %s", f.State, f.Dialect, r.Rolls, tc.want, tc.by, tc.reason)
			}
		})
	}
}

// sapVersion is SHA-256 of configmap/shop/app/u-app.42 and a line feed.
const sapVersion = "75e38de757ebfed39ad7b6f1489c81854f539a0992ef43cff604e67b920c4903"

func TestFindings(t *testing.T) {
	at := func(pairs ...string) map[string]string {
		found := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			found[pairs[i]] = pairs[i+1]
		}
		return found
	}
	const auto, list = "reloader.stakater.com/auto", "configmap.reloader.stakater.com/reload"
	cases := map[string]struct {
		reason string
		looks  looks
		// want are the kinds and parts of the messages or of how to fix them, in any order; nothing else may be found.
		want []string
	}{
		"one tool":              {"that is as it should be", looks{annotations: at(auto, "true")}, nil},
		"two tools":             {"both would roll it", looks{annotations: at(auto, "true", "wave.pusher.com/update-on-config-change", "true")}, []string{"Conflict stakater and wave ask for rolls"}},
		"ours and another":      {"Reroll is no other tool", looks{annotations: at(auto, "true", "reroll.dev/auto", "true")}, nil},
		"name of nothing":       {"it was meant for another", looks{annotations: at(list, "othr")}, []string{"Typo did you mean other?"}},
		"a name that cannot be": {"it is left out", looks{annotations: at("pod-reloader.cs.sap.com/configmaps", "App_Config")}, []string{"Typo is left out"}},
		"a key misspelt":        {"nobody reads it", looks{annotations: at("reloader.stakater.com/atuo", "true")}, []string{"Typo did you mean reloader.stakater.com/auto?"}},
		"a key of nobody":       {"the domain is the tool's", looks{annotations: at("wave.pusher.com/sidecar", "true")}, []string{"Typo wave.pusher.com/sidecar is not an annotation of any tool"}},
		"our key misspelt":      {"it is told once", looks{annotations: at(auto, "true", "reroll.dev/windw", "5s")}, []string{"Typo there is no such annotation of workloads"}},
		"on the pod template":   {"the tool reads the workload alone", looks{template: at("wave.pusher.com/update-on-config-change", "true")}, []string{"Typo means nothing on a pod template"}},
		"a config's key":        {"match is for configs", looks{annotations: at("reloader.stakater.com/match", "true")}, []string{"Typo means nothing on a workload"}},
		"as a label":            {"annotations are read", looks{labels: at(auto, "true")}, []string{"Typo means nothing as a label"}},
		"a label as annotation": {"SAP reads the label", looks{annotations: at("pod-reloader.cs.sap.com/ignored", "true")}, []string{"Typo make it a label"}},
		"held by Wave":          {"nobody would let it go", looks{annotations: at("wave.pusher.com/update-on-config-change", "true", dialect.SchedulingKey, "default-scheduler")}, []string{`Leftover schedulerName of the pod template back to "default-scheduler"`}},
		"held and forgotten":    {"Reroll lets it go all the same", looks{annotations: at("wave.pusher.com/update-on-config-change", "true"), scheduler: "wave.pusher.com/invalid"}, []string{`Leftover schedulerName of the pod template back to "default-scheduler"`}},
		"a token of SAP":        {"its webhook refuses all else", looks{annotations: at("pod-reloader.cs.sap.com/configmaps", "app", dialect.SAPHashKey, "0")}, []string{"Leftover the hash that it expects"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := tc.looks.workload(t)
			found := report(t, w, workload.Pods{}).Findings
			if len(found) != len(tc.want) {
				t.Errorf("there are %d findings, want %d: %s", len(found), len(tc.want), tc.reason)
			}
			for _, want := range tc.want {
				kind, part, _ := strings.Cut(want, " ")
				if !slices.ContainsFunc(found, func(f Finding) bool {
					return string(f.Kind) == kind && strings.Contains(f.Message+"\n"+f.Fix, part) && f.Fix != ""
				}) {
					t.Errorf("%q is not found: %s", want, tc.reason)
				}
			}
			if !view().Touched(w) {
				t.Error("it is not looked at")
			}
			if t.Failed() {
				t.Logf("%+v", found)
			}
		})
	}
}

// TestEveryAnnotationIsKnown: the check for misspelt keys knows every annotation that the dialects read.
func TestEveryAnnotationIsKnown(t *testing.T) {
	keys := keysOf(view().All)
	for _, name := range []string{"keys", "maintenance-window", "min-interval", "window", "strategy", "auto"} {
		key := dialect.OwnPrefix + name
		if !slices.Contains(keys, key) {
			t.Errorf("%s is not known", key)
		}
		if like, ok := near.Word(key+"s", keys); !ok || like != key {
			t.Errorf("%ss is taken for %q, want %s", key, like, key)
		}
	}
}

// FuzzReport gives workloads annotations of every key with any value: a report has an end, and whatever it says of what to fix, it says how.
func FuzzReport(f *testing.F) {
	f.Add(uint8(0), "true", "app, other")
	f.Add(uint8(9), "a.*|b,(", "x/y")
	keys := keysOf(view().All)
	f.Fuzz(func(t *testing.T, which uint8, value, other string) {
		annotations := map[string]string{keys[int(which)%len(keys)]: value, keys[int(which+1)%len(keys)]: other, value: other}
		w := looks{annotations: annotations, template: map[string]string{other: value}}.workload(t)
		if !view().Touched(w) {
			return
		}
		for _, found := range report(t, w, workload.Pods{}).Findings {
			if found.Fix == "" {
				t.Errorf("there is no fix for %+v", found)
			}
		}
	})
}
