package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/spf13/pflag"

	"github.com/reroll-dev/reroll/dispatcher/turn"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/mark"
)

// loaded returns the settings of a file and a command line.
func loaded(t *testing.T, file string, args ...string) (Config, error) {
	t.Helper()
	if file != "" {
		path := filepath.Join(t.TempDir(), "reroll.yaml")
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append([]string{"--config", path}, args...)
	}
	var f Flags
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	f.Bind(flags)
	if err := flags.Parse(args); err != nil {
		return Config{}, err
	}
	return f.Load()
}

// same compares settings.
func same(want, got Config) string {
	return cmp.Diff(want, got, cmpopts.EquateEmpty(), cmp.Comparer(func(a, b control.Window) bool { return a.String() == b.String() }),
		cmp.Comparer(func(a, b Selector) bool { return a.Labels().String() == b.Labels().String() }))
}

func selected(t *testing.T, text string) (s Selector) {
	t.Helper()
	if err := s.Parse([]string{text}); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSettings: what a file, the environment and a command line set, and which of them wins.
func TestSettings(t *testing.T) {
	for name, tc := range map[string]struct {
		file string
		args []string
		env  map[string]string
		want func(c *Config)
	}{
		"nothing": {want: func(*Config) {}},
		"a file of every type": {
			file: "clusterName: \"12\"\ndryRun: true\nsource: watch\nkubernetes: {qps: 1e2}\nscope:\n  namespaces: [a, b]\n  resourceLabelSelector: [x=y, \"z in (a,b)\"]\n" +
				"reload: {annotationKeys: {auto: example.com/auto}, dialects: stakater}\ndebounce: {window: 0, maxWait: 1m}\n" +
				"rolloutLimits: {reloadsPerMinute: 60, maintenanceWindows: [\"0 22 * * 1,2 6h\", \"0 3 * * * 1h\"]}\nnats: {storeSize: 4Gi}\nlog:\n",
			want: func(c *Config) {
				c.ClusterName, c.DryRun, c.Source, c.Kubernetes.QPS = "12", true, SourceWatch, 100
				c.Scope = Scope{Namespaces: []string{"a", "b"}, ResourceLabelSelector: selected(t, "x=y,z in (a,b)")}
				c.Reload.AnnotationKeys, c.Reload.Dialects = AnnotationKeys{"auto": "example.com/auto"}, []string{"stakater"}
				c.Debounce = turn.Debounce{MaxWait: time.Minute}
				c.RolloutLimits.PerMinute = 60
				c.RolloutLimits.Windows, _ = control.ParseWindows("0 22 * * 1,2 6h;0 3 * * * 1h")
				c.NATS.StoreSize = 4 << 30
			},
		},
		"a comment alone": {file: "# none\n", want: func(*Config) {}},
		"the command line wins over the environment over the file": {
			file: "debounce: {window: 2s}\nlog: {level: debug}\nnats: {url: \"nats://file\"}\n", env: map[string]string{"REROLL_NATS_URL": " nats://environment "},
			args: []string{"--set", "debounce.window=100ms", "--log-level=error", "--set=log.level=warn"},
			want: func(c *Config) {
				c.Debounce.Window, c.Log.Level, c.NATS.URL = 100*time.Millisecond, "warn", "nats://environment"
			},
		},
		"lists and keys with --set": {
			args: []string{"--set=scope.namespaces=[a, b]", "--set=scope.namespacesToIgnore=", "--set=reload.annotationKeys.secretAuto=x/y", "--components", "dispatch, api"},
			want: func(c *Config) {
				c.Scope.Namespaces, c.Reload.AnnotationKeys, c.Components = []string{"a", "b"}, AnnotationKeys{"secretAuto": "x/y"}, []string{Dispatches, Answers}
			},
		},
		"variables of Stakater Reloader": {
			file: "scope: {namespaces: [of-the-file]}\n",
			env: map[string]string{
				"KUBERNETES_NAMESPACE": "shop", "METRICS_COUNT_BY_NAMESPACE": "enabled", "ALERT_ON_RELOAD": "true", "ALERT_SINK": "webhook",
				"ALERT_WEBHOOK_URL": "https://chat.example/hook", "ALERT_WEBHOOK_PROXY": "http://proxy:3128", "ALERT_ADDITIONAL_INFO": "[prod]",
			},
			want: func(c *Config) {
				c.Scope.Namespaces, c.Metrics.CountByNamespace = []string{"of-the-file"}, true
				c.Notifications = Notifications{Sink: "text", URL: "https://chat.example/hook", Proxy: "http://proxy:3128", AdditionalInfo: "[prod]"}
			},
		},
		"variables of Stakater Reloader that are off": {
			env:  map[string]string{"KUBERNETES_NAMESPACE": "shop", "METRICS_COUNT_BY_NAMESPACE": "true", "ALERT_ON_RELOAD": "yes", "ALERT_WEBHOOK_URL": "https://chat.example"},
			want: func(c *Config) { c.Scope.Namespaces = []string{"shop"} },
		},
		"the pod": {
			env:  map[string]string{"POD_NAME": "reroll-0", "POD_NAMESPACE": "reroll"},
			want: func(c *Config) { c.Namespace = "reroll" },
		},
		"a wait at its default grows with the window": {
			args: []string{"--set=debounce.window=1m"}, want: func(c *Config) { c.Debounce = turn.Debounce{Window: time.Minute, MaxWait: time.Minute} },
		},
		"no namespaces but these": {
			args: []string{"--set=scope.namespaces=a", "--set=scope.namespaceSelector=x=y"}, want: func(c *Config) { c.Scope.Namespaces = []string{"a"} },
		},
		"a dry run takes no events without a certificate": {args: []string{"--dry-run"}, want: func(c *Config) { c.DryRun = true }},
		"ingest alone": {
			args: []string{"--components=ingest", "--set=nats.url=nats://n"}, want: func(c *Config) { c.Components, c.NATS.URL = []string{Ingests}, "nats://n" },
		},
		"admission alone needs no NATS": {args: []string{"--components=admission"}, want: func(c *Config) { c.Components = []string{Admits} }},
	} {
		t.Run(name, func(t *testing.T) {
			for key, value := range tc.env {
				t.Setenv(key, value)
			}
			got, err := loaded(t, tc.file, tc.args...)
			if err != nil {
				t.Fatal(err)
			}
			want := Default()
			tc.want(&want)
			want.Pod = Pod{tc.env["POD_NAME"], tc.env["POD_NAMESPACE"]}
			want.Debounce.MaxWait = max(want.Debounce.MaxWait, want.Debounce.Window)
			if want.Source == SourceWatch || want.DryRun {
				want.Ingest.Address = ""
			}
			want.Warnings = got.Warnings
			if diff := same(want, got); diff != "" {
				t.Errorf("settings (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSettingsAreRefused: each fault is named by its key, and by its line if it is in a file.
func TestSettingsAreRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		file, args, want string
	}{
		"a misspelt key":               {file: "clusterName: a\nlog:\n  level: info\ndebunce: {window: 1s}\n", want: `unknown key "debunce" at line 4`},
		"a misspelt key of --set":      {args: "--set=debounce.windw=1s", want: `--set: unknown key "windw"`},
		"a misspelt annotation":        {args: "--set=reload.annotationKeys.autos=a/b", want: `reload.annotationKeys: unknown key "autos"`},
		"a key that no annotation has": {args: "--set=reload.annotationKeys.auto=a/b/c", want: "reload.annotationKeys: \"a/b/c\" cannot be"},
		"a key twice":                  {file: "source: auto\nsource: watch\n", want: `key "source" is there a second time at line 2`},
		"several faults, the second":   {file: "dryRun: 1\nsource: sweep\n", want: `source at line 2: "sweep" is not one of auto, audit, watch`},
		"two documents":                {file: "source: auto\n---\nsource: watch\n", want: "more than one document"},
		"no YAML":                      {file: "a: [\n", want: "yaml"},
		"a list for a section":         {file: "log: [a]\n", want: "log at line 1: it must have keys"},
		"a section for a value":        {file: "clusterName: {a: b}\n", want: "it must be a single value"},
		"no duration":                  {args: "--set=debounce.window=soon", want: `--set: debounce.window: "soon" is not a duration`},
		"a negative duration":          {args: "--set=debounce.maxWait=-1s", want: "-1s is negative"},
		"a resync without end":         {args: "--set=resyncInterval=1ms", want: "1ms is neither 0 nor at least 1s"},
		"no truth value":               {args: "--dry-run=maybe", want: `--dry-run: dryRun: "maybe" is not true or false`},
		"no number":                    {args: "--set=rolloutLimits.flapLimit=-1", want: "not a whole number"},
		"no rate":                      {args: "--set=kubernetes.qps=NaN", want: "not a number above 0"},
		"no size":                      {args: "--set=nats.storeSize=-1Gi", want: "number of bytes"},
		"no right":                     {args: "--set=api.rights=team", want: "--set: api.rights"},
		"no list":                      {file: "components: {a: b}\n", want: "components at line 1: it must be a list of texts"},
		"no dialect":                   {args: "--set=reload.dialects=keel", want: "reload.dialects: "},
		"no selector":                  {args: "--set=scope.namespaceSelector=a=b=c", want: "scope.namespaceSelector"},
		"no label":                     {args: "--cluster-name=A.B", want: `clusterName: "A.B" is not a DNS label`},
		"no cluster":                   {args: "--cluster-name=", want: "clusterName is empty"},
		"no key":                       {args: "--set=debounce.window", want: "KEY=VALUE"},
		"no file":                      {args: "--config=nowhere.yaml", want: "nowhere.yaml"},
		"a wait below the window":      {file: "debounce: {window: 2s, maxWait: 1s}\n", want: "debounce.maxWait (1s) is shorter than debounce.window (2s)"},
		"nothing to react to":          {args: "--set=scope.resourcesToIgnore=[configmaps, Secrets]", want: "nothing to react to"},
		"no component":                 {args: "--components=", want: "components"},
		"no NATS":                      {args: "--components=ingest,api", want: "nats.url is required for --components=ingest,api"},
		"two kinds of NATS":            {args: "--set=nats.url=nats://n --set=nats.config=f", want: "nats.config is for the embedded NATS"},
		"a login for no NATS":          {args: "--set=nats.credentials=c", want: "nats.url is empty"},
		"replicas of no NATS":          {args: "--set=nats.config=f --set=nats.replicas=3", want: "nats.url is empty"},
		"a login for no hub":           {args: "--set=hub.credentials=c", want: "hub.url is empty"},
		"nowhere to store":             {args: "--data-dir=", want: "dataDir is empty"},
		"nothing to listen to":         {file: "source: audit\ningest: {address: \"\"}\n", want: "ingest.address is empty"},
		"a dry run of the audit feed":  {args: "--source=audit --dry-run", want: "a dry run makes no certificate"},
		"replicas without a name":      {args: "--set=leaderElection=true --set=nats.url=nats://n", want: "POD_NAME"},
		"replicas with a memory each":  {args: "--set=leaderElection=true", want: "leaderElection needs nats.url"},
		"an open API":                  {args: "--api-address=:8080", want: "api.auth: token"},
		"tokens in clear":              {args: "--api-address=:8080 --set=api.auth=token", want: "api.insecureHTTP"},
		"audiences of no tokens":       {args: "--set=api.audiences=reroll", want: "api.audiences needs api.auth: token"},
		"a certificate without a key":  {args: "--set=api.tlsCert=c", want: "belong together"},
		"admission that nobody finds":  {args: "--components=ingest,dispatch,api,admission", want: "admission.configuration is empty"},
		"admission that marks nothing": {args: "--components=admission --set=reload.webhookURL=http://a", want: "reload.webhookURL"},
		"admission in a dry run":       {args: "--dry-run --set=admission.configuration=c", want: "dry run"},
		"commands without hot reload":  {args: "--set=hotReload.exec=true", want: "hotReload.exec has no effect without hotReload.enabled"},
		"a kubelet without delay":      {args: "--set=hotReload.settle=0s", want: "hotReload.settle is 0"},
		"a URL that is none":           {args: "--set=notifications.url=ftp://user:secret@host", want: "notifications.url: the value is not a URL"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := loaded(t, tc.file, strings.Fields(strings.ReplaceAll(tc.args, ", ", ","))...)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v does not say %q", err, tc.want)
			}
			if err != nil && strings.Contains(err.Error(), "secret@") {
				t.Errorf("%v repeats a password", err)
			}
		})
	}
}

// TestStakaterFlags: the flags of Stakater Reloader mean here what they mean there.
func TestStakaterFlags(t *testing.T) {
	c, err := loaded(t, "", "--auto-reload-all", "--reload-on-create=true", "--reload-on-delete", "TRUE", "--is-Argo-Rollouts=true", "--enable-csi-integration",
		"--reload-strategy=annotations", "--webhook-url=https://hook", "--namespaces-to-ignore=a,b", "--namespaces-to-ignore=c", "--namespace-selector=env:prod,team:*",
		"--resource-label-selector=x in (y)", "--resources-to-ignore=secrets", "--ignored-workload-types=jobs,cronjobs", "--log-format=", "--log-level=fatal",
		"--sync-after-restart", "--enable-pprof", "--pprof-addr=:6060", "--auto-annotation=example.com/auto", "--secretproviderclass-auto-annotation=example.com/class")
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Reload.AutoAll, want.Reload.OnCreate, want.Reload.ArgoRollouts, want.Reload.CSI = true, true, true, true
	want.Reload.Strategy, want.Reload.WebhookURL = "annotations", "https://hook"
	want.Reload.AnnotationKeys = AnnotationKeys{"auto": "example.com/auto", "secretproviderclassAuto": "example.com/class"}
	want.Scope = Scope{
		NamespacesToIgnore: []string{"a", "b", "c"}, NamespaceSelector: selected(t, "env=prod,team"), ResourceLabelSelector: selected(t, "x in (y)"),
		ResourcesToIgnore: []string{"secrets"}, IgnoredWorkloadTypes: []string{"jobs", "cronjobs"},
	}
	want.Log.Level = "error"
	want.Warnings = []string{"--sync-after-restart has no effect", "--enable-pprof has no effect", "--pprof-addr has no effect"}
	if diff := same(want, c); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	if ignored := c.Scope.IgnoredConfigs(); !cmp.Equal(ignored, []reloader.ConfigKind{reloader.Secret}) {
		t.Errorf("ignored: %v", ignored)
	}
}

// TestWordsAreThoseOfTheDomain: tags repeat what other packages know.
func TestWordsAreThoseOfTheDomain(t *testing.T) {
	if lookup("reload.strategy").Tag.Get("oneOf") != strings.Join(mark.General, ",") {
		t.Errorf("strategies are %v", mark.General)
	}
	plain := dialect.Stakater(dialect.StakaterOptions{})
	for name, own := range annotationNames {
		renamed := dialect.Stakater(dialect.StakaterOptions{Renamed: AnnotationKeys{name: "example.com/x"}.Renamed()})
		if plain.KeepsAnnotation(own) != renamed.KeepsAnnotation("example.com/x") || renamed.KeepsAnnotation(own) {
			t.Errorf("%s does not rename %s", name, own)
		}
	}
}

// FuzzParse: any file is refused or understood; what was understood is the same when it is read again.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "log: {level: debug}\n", "source: auto\nsource: watch\n", "{}", "[]", "null", "a: &x {b: *x}\n", "? {a: b}\n: c\n", "<<: {source: auto}\n",
		"\ufeffsource: auto\n", "scope: {namespaces: [a, \"\"]}\n", "debounce: {window: 0}\n", "nats: {storeSize: 4Gi}\n", "reload: {annotationKeys: {auto: a}}\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, again := Default(), Default()
		if c.Parse(data) != nil {
			return
		}
		if err := again.Parse(data); err != nil || same(c, again) != "" {
			t.Errorf("read again: %v", err)
		}
	})
}
