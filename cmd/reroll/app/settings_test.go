package app

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/reroll-dev/reroll/dispatcher/turn"
	"github.com/spf13/pflag"
)

func roleNamed(t testing.TB, name string) role {
	t.Helper()
	for _, r := range roles {
		if r.name == name {
			return r
		}
	}
	t.Fatalf("no role %s", name)
	return role{}
}

// settingsOf returns what a role makes of a command line, in the environment of the test.
func settingsOf(t *testing.T, name string, args ...string) (Settings, error) {
	t.Helper()
	r := roleNamed(t, name)
	s, f := &Settings{}, pflag.NewFlagSet(name, pflag.ContinueOnError)
	s.bind(f, r)
	if err := f.Parse(args); err != nil {
		return *s, err
	}
	err := s.complete(f, r)
	return *s, err
}

// configFile writes a configuration file and returns the flag that names it.
func configFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "reroll.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return "--config=" + path
}

func TestFlagWinsOverEnvironmentOverFile(t *testing.T) {
	const file = "log-level: warn\n"
	for name, tc := range map[string]struct {
		env  string
		args []string
		want string
	}{
		"nothing is said":        {want: "info"},
		"file":                   {args: []string{configFile(t, file)}, want: "warn"},
		"environment":            {env: "error", want: "error"},
		"environment over file":  {env: "error", args: []string{configFile(t, file)}, want: "error"},
		"flag over environment":  {env: "error", args: []string{"--log-level=debug"}, want: "debug"},
		"flag over file":         {args: []string{configFile(t, file), "--log-level=debug"}, want: "debug"},
		"flag over both":         {env: "error", args: []string{"--log-level=debug", configFile(t, file)}, want: "debug"},
		"flag at its default":    {env: "error", args: []string{"--log-level=info", configFile(t, file)}, want: "info"},
		"environment at default": {env: "info", args: []string{configFile(t, file)}, want: "info"},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.env != "" {
				t.Setenv("REROLL_LOG_LEVEL", tc.env)
			}
			s, err := settingsOf(t, "serve", tc.args...)
			if err != nil {
				t.Fatal(err)
			}
			if s.LogLevel != tc.want {
				t.Errorf("level %q, want %q", s.LogLevel, tc.want)
			}
		})
	}
}

func TestEnvironmentNamesTheFile(t *testing.T) {
	flag := configFile(t, "log-format: json\n")
	t.Setenv("REROLL_CONFIG", strings.TrimPrefix(flag, "--config="))
	s, err := settingsOf(t, "serve")
	if err != nil || s.LogFormat != "json" {
		t.Errorf("format %q, error %v", s.LogFormat, err)
	}
}

// TestHelpIsNoSetting shows that a variable which happens to be called so does nothing.
func TestHelpIsNoSetting(t *testing.T) {
	t.Setenv("REROLL_HELP", "see the manual")
	cmd := Command("v1")
	cmd.SetArgs([]string{"api"})
	if err := cmd.ExecuteContext(t.Context()); err == nil || strings.Contains(err.Error(), "HELP") || !strings.Contains(err.Error(), "--nats-url is required") {
		t.Errorf("error %v", err)
	}
}

// TestHelpOfWatch: whoever leaves out a kind is told that it is not watched either, and needs no permission.
func TestHelpOfWatch(t *testing.T) {
	for _, name := range []string{"serve", "dispatch"} {
		cmd, _, err := Command("v1").Find([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		if usage := cmd.Flags().Lookup("source").Usage; !strings.Contains(usage, "leaves out the kind that --resources-to-ignore names") {
			t.Errorf("%s: %s", name, usage)
		}
	}
}

// TestMaxWait says what becomes of a maximum wait, of which not all lengths go with a window.
func TestMaxWait(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want time.Duration
	}{
		"nothing is said":         {want: 10 * time.Second},
		"a window below":          {args: []string{"--coalesce-window=2s"}, want: 10 * time.Second},
		"only a window, above":    {args: []string{"--coalesce-window=1m"}, want: time.Minute},
		"as long as the window":   {args: []string{"--coalesce-window=3s", "--coalesce-max-wait=3s"}, want: 3 * time.Second},
		"nothing at all":          {args: []string{"--coalesce-window=0", "--coalesce-max-wait=0"}, want: 0},
		"the default, as a chart": {args: []string{"--coalesce-window=1m", "--coalesce-max-wait=10s"}, want: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			if s, err := settingsOf(t, "serve", tc.args...); err != nil || s.CoalesceMaxWait != tc.want {
				t.Errorf("%s, error %v, want %s", s.CoalesceMaxWait, err, tc.want)
			}
		})
	}
}

// TestFileOfEveryType shows that each type of setting can be written in a file as one would.
func TestFileOfEveryType(t *testing.T) {
	got, err := settingsOf(t, "dispatch", configFile(t, `
# comments are fine
cluster-name: "12"
nats-url: nats://nats:4222
dry-run: true
kube-qps: 0.5
kube-burst: 2000000
coalesce-window: 250ms
coalesce-max-wait: 2m
namespaces: [shop, "12"]
namespaces-to-ignore: ""
reload-on-create: "true"
`))
	if err != nil {
		t.Fatal(err)
	}
	want := Settings{
		ClusterName: "12", NATSURL: "nats://nats:4222", DryRun: true, SweepInterval: 10 * time.Minute, Source: sourceAuto, IngestTLSLifetime: ingestLifetime, CanaryInterval: time.Minute, Brakes: turn.Limits{FlapLimit: 60}, Rollouts: Rollouts{RolloutDeadline: 10 * time.Minute}, KubeQPS: 0.5, KubeBurst: 2_000_000,
		CoalesceWindow: 250 * time.Millisecond, CoalesceMaxWait: 2 * time.Minute, ReloadStrategy: "env-vars", ToolMarks: true, Dialects: dialectNames(),
		Admission: Admission{CertificateLifetime: 90 * 24 * time.Hour}, MetricsAddress: ":9090", LogFormat: "text", LogLevel: "info", Config: got.Config, Stakater: got.Stakater,
	}
	want.Namespaces, want.NamespacesToIgnore, want.ReloadOnCreate = []string{"shop", "12"}, nil, true
	if diff := cmp.Diff(want, got, sameSelector); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
}

func TestFileIsRefused(t *testing.T) {
	for name, tc := range map[string]struct{ content, want string }{
		"a key that no role has":     {"colour: blue\n", `"colour" is not a setting of this role`},
		"a misspelt key":             {"dry-rum: true\n", `"dry-rum" is not a setting of this role; did you mean "dry-run"?`},
		"a key of another role":      {"api-address: 127.0.0.1:1\n", `"api-address" is not a setting of this role`},
		"the file itself":            {"config: other.yaml\n", `"config" is not a setting`},
		"a key in camel case":        {"logLevel: debug\n", `"logLevel" is not a setting`},
		"a key twice":                {"log-level: debug\nlog-level: info\n", `"log-level" already set`},
		"a list":                     {"nats-url: [a, b]\n", "nats-url must be a single value"},
		"a map":                      {"nats-url: {a: b}\n", "nats-url must be a single value"},
		"nothing":                    {"nats-url:\n", "nats-url must be a single value"},
		"a map for a list":           {"namespaces: {a: b}\n", "namespaces must be a list or text"},
		"nothing for a list":         {"namespaces:\n", "namespaces must be a list or text"},
		"a number for a list":        {"namespaces: 12\n", "namespaces must be text: put it in quotes"},
		"a number in a list":         {"namespaces: [a, 12]\n", "namespaces must be a list of texts: put each in quotes"},
		"a list in a list":           {"namespaces: [a, [b]]\n", "namespaces must be a list of texts"},
		"a truth value for the word": {"reload-on-create: true\n", "reload-on-create must be text: put it in quotes"},
		"a word that YAML takes for a truth value": {"cluster-name: on\n", "cluster-name must be text: put it in quotes"},
		"a number for text":                        {"cluster-name: 0123\n", "cluster-name must be text: put it in quotes"},
		"a value of the wrong type":                {"kube-burst: many\n", "kube-burst"},
		"a fraction":                               {"kube-burst: 1.5\n", "kube-burst"},
		"a duration without unit":                  {"coalesce-window: 5\n", "coalesce-window"},
		"a value out of range":                     {"kube-qps: -1\n", "--kube-qps"},
		"a list at the top":                        {"- log-level: debug\n", "cannot unmarshal array"},
		"a second document":                        {"log-level: debug\n---\ndry-run: true\n", "more than one document"},
		"an empty first document":                  {"---\n---\ndry-run: true\n", "more than one document"},
		"text after the document":                  {"log-level: debug\n...\ndry-run: true\n", "more than one document"},
		"no YAML":                                  {"log-level: [\n", "yaml"},
		"more than there is space for":             {strings.Repeat("#", maxConfigFile+1), "larger than"},
	} {
		t.Run(name, func(t *testing.T) {
			flag := configFile(t, tc.content)
			_, err := settingsOf(t, "dispatch", flag, "--nats-url=nats://nats:4222", "--cluster-name=c")
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("error %v does not say %q", err, tc.want)
			}
			if path := strings.TrimPrefix(flag, "--config="); name != "a value out of range" && !strings.Contains(err.Error(), path) {
				t.Errorf("error does not name the file: %v", err)
			}
		})
	}
}

func TestFileIsAccepted(t *testing.T) {
	for name, content := range map[string]string{
		"nothing":             "",
		"comments":            "# nothing\n",
		"a marker":            "# first\n---\nlog-level: info\n",
		"an end":              "log-level: info\n...\n# last\n",
		"lines of Windows":    "---\r\nlog-level: info\r\n...\r\n",
		"as much as there is": strings.Repeat("#", maxConfigFile),
		"dashes in a text":    "data-dir: \"a\n  ---\n  b\"\n",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := settingsOf(t, "serve", configFile(t, content)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestSettingsAreRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		role string
		env  map[string]string
		args []string
		want string
	}{
		"a flag of another role":        {role: "api", args: []string{"--dry-run"}, want: "unknown flag: --dry-run"},
		"no cluster":                    {role: "dispatch", args: []string{"--nats-url=nats://nats"}, want: "--cluster-name is required"},
		"no cluster in serve":           {role: "serve", args: []string{"--cluster-name="}, want: "--cluster-name is required"},
		"a cluster that is no label":    {role: "serve", args: []string{"--cluster-name=A.B"}, want: "--cluster-name"},
		"no NATS for dispatch":          {role: "dispatch", args: []string{"--cluster-name=c"}, want: "--nats-url is required for dispatch"},
		"no NATS for ingest":            {role: "ingest", want: "--nats-url is required for ingest"},
		"no NATS for api":               {role: "api", want: "--nats-url is required for api"},
		"a login for no NATS":           {role: "serve", args: []string{"--nats-creds=c"}, want: "--nats-url is empty"},
		"a login for no hub":            {role: "serve", args: []string{"--hub-creds=c"}, want: "--hub-url is empty"},
		"two logins for the hub":        {role: "serve", args: []string{"--hub-url=nats://h", "--hub-creds=c", "--hub-user=n", "--hub-password-file=p"}, want: "only one of"},
		"a size that is none":           {role: "serve", args: []string{"--nats-store-size=much"}, want: "--nats-store-size"},
		"a negative size":               {role: "serve", args: []string{"--nats-store-size=-1Gi"}, want: "--nats-store-size"},
		"a strategy that is not there":  {role: "serve", args: []string{"--reload-strategy=magic"}, want: "env-vars or annotations"},
		"a tool that is not known":      {role: "serve", args: []string{"--dialects=stakater,keel"}, want: `--dialects: "keel" is not one of reroll, stakater`},
		"no tool at all":                {role: "serve", args: []string{"--dialects="}, want: "--dialects"},
		"a negative window":             {role: "serve", args: []string{"--coalesce-window=-1s"}, want: "negative"},
		"a negative wait":               {role: "serve", args: []string{"--coalesce-max-wait=-1s"}, want: "negative"},
		"a wait below the window":       {role: "serve", args: []string{"--coalesce-window=2s", "--coalesce-max-wait=1s"}, want: "--coalesce-max-wait (1s) is shorter than --coalesce-window (2s)"},
		"no wait but a window":          {role: "serve", args: []string{"--coalesce-max-wait=0"}, want: "--coalesce-max-wait (0s) is shorter than --coalesce-window (1s)"},
		"a window that is none":         {role: "serve", args: []string{"--maintenance-windows=0 22 * * * 6h; tonight"}, want: "--maintenance-windows"},
		"a negative rate":               {role: "serve", args: []string{"--reloads-per-minute=-1"}, want: "must not be negative"},
		"a sweep without end":           {role: "serve", args: []string{"--sweep-interval=1ms"}, want: "--sweep-interval: 1ms is neither 0 nor at least 1s"},
		"canaries without end":          {role: "serve", args: []string{"--canary-interval=1ms"}, want: "--canary-interval: 1ms is neither 0 nor at least 1s"},
		"a deadline of before":          {role: "serve", args: []string{"--rollout-deadline=-1s"}, want: "--rollout-deadline: -1s is negative"},
		"canaries of before":            {role: "dispatch", args: []string{"--nats-url=n", "--cluster-name=c", "--canary-interval=-1s"}, want: "--canary-interval"},
		"a source that is not there":    {role: "serve", args: []string{"--source=sweep"}, want: `--source: "sweep" is not auto, audit or watch`},
		"a port without its source":     {role: "serve", args: []string{"--source=watch", "--ingest-address=:1"}, want: "--source=watch takes no audit events"},
		"nothing to listen to":          {role: "serve", args: []string{"--source=audit", "--ingest-address="}, want: "--ingest-address is empty"},
		"a certificate of no time":      {role: "serve", args: []string{"--ingest-tls-lifetime=1s"}, want: "--ingest-tls-lifetime: 1s is less than 10s"},
		"a dry run without one":         {role: "serve", args: []string{"--source=audit", "--dry-run"}, want: "a dry run makes no certificate"},
		"nothing to take in":            {role: "ingest", args: []string{"--nats-url=n", "--ingest-address="}, want: "--ingest-address is empty"},
		"no requests":                   {role: "serve", args: []string{"--kube-qps=0"}, want: "--kube-qps"},
		"requests that are no number":   {role: "serve", args: []string{"--kube-qps=NaN"}, want: "--kube-qps"},
		"requests without end":          {role: "serve", args: []string{"--kube-qps=Inf"}, want: "--kube-qps"},
		"nowhere to store":              {role: "serve", args: []string{"--data-dir="}, want: "--data-dir is empty"},
		"no burst":                      {role: "serve", args: []string{"--kube-burst=0"}, want: "--kube-burst"},
		"a format that is not there":    {role: "api", args: []string{"--nats-url=n", "--log-format=xml"}, want: "--log-format"},
		"a level that is not there":     {role: "api", args: []string{"--nats-url=n", "--log-level=loud"}, want: "--log-level"},
		"an environment of wrong type":  {role: "serve", env: map[string]string{"REROLL_KUBE_QPS": "many"}, want: "REROLL_KUBE_QPS"},
		"an empty truth value":          {role: "serve", env: map[string]string{"REROLL_DRY_RUN": ""}, want: "REROLL_DRY_RUN"},
		"several faults in environment": {role: "serve", env: map[string]string{"REROLL_KUBE_QPS": "x", "REROLL_KUBE_BURST": "y"}, want: "REROLL_KUBE_BURST"},
		"a file that is not there":      {role: "serve", args: []string{"--config=nowhere.yaml"}, want: "nowhere.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			for key, value := range tc.env {
				t.Setenv(key, value)
			}
			if _, err := settingsOf(t, tc.role, tc.args...); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v does not say %q", err, tc.want)
			}
		})
	}
}

// TestFlagsOfEachRole says which role has which flags: a role must not offer what it does not use.
func TestFlagsOfEachRole(t *testing.T) {
	common := []string{
		"redact-actors", "config", "log-format", "log-level", "metrics-address", "nats-creds", "nats-inbox-prefix", "nats-password-file",
		"nats-replicas", "nats-tls-ca", "nats-tls-cert", "nats-tls-key", "nats-url", "nats-user",
	}
	ingest := []string{
		"ingest-address", "ingest-insecure-http", "ingest-tls-cert", "ingest-tls-client-ca", "ingest-tls-key", "ingest-token-file",
	}
	answer := []string{
		"api-address", "api-hosts", "api-insecure-http", "api-tls-cert", "api-tls-key", "auth", "auth-audiences", "auth-client-ca", "auth-request-header-allowed-names",
		"auth-request-header-client-ca", "kubeconfig", "context",
	}
	dispatch := []string{
		"cluster-name", "coalesce-max-wait", "coalesce-window", "context", "dialects", "dry-run", "flap-limit", "maintenance-windows", "max-concurrent-rollouts", "min-reload-interval", "namespace-max-concurrent-rollouts", "namespace-reloads-per-minute", "reloads-per-minute",
		"canary-interval", "source", "ingest-service", "ingest-tls-hosts", "ingest-tls-lifetime", "sweep-interval", "kube-burst", "kube-qps",
		"kubeconfig", "namespace", "reload-strategy", "tool-marks", "halt-on-failed-rollouts", "rollout-deadline",
		"admission-certificate-lifetime", "admission-configuration", "admission-hosts",
		"hub-creds", "hub-inbox-prefix", "hub-password-file", "hub-tls-ca", "hub-tls-cert", "hub-tls-key", "hub-url", "hub-user",
	}
	dispatch = append(dispatch, stakaterOnly()...)
	admission := []string{
		"admission-address", "admission-tls-cert", "admission-tls-client-ca", "admission-tls-key",
	}
	admissionAlone := []string{
		"config", "log-format", "log-level", "metrics-address", "context", "dialects", "dry-run", "kube-burst", "kube-qps", "kubeconfig", "namespace",
		"reload-strategy", "tool-marks",
	}
	want := map[string][]string{
		"serve":    slices.Concat([]string{"data-dir", "data-ephemeral", "nats-store-size"}, common, ingest, dispatch, answer, admission),
		"ingest":   append(ingest, common...),
		"dispatch": append(dispatch, common...),
		"api":      slices.Concat(answer, common),

		"admission": slices.Concat(admission, admissionAlone, stakaterMarks()),
	}
	for _, r := range roles {
		got := map[string]bool{}
		flagsOf(r).VisitAll(func(f *pflag.Flag) { got[f.Name] = true })
		wanted := map[string]bool{}
		for _, name := range want[r.name] {
			wanted[name] = true
		}
		if diff := cmp.Diff(wanted, got); diff != "" {
			t.Errorf("flags of %s (-want +got):\n%s", r.name, diff)
		}
	}
}

func flagsOf(r role) *pflag.FlagSet {
	f := pflag.NewFlagSet(r.name, pflag.ContinueOnError)
	new(Settings).bind(f, r)
	return f
}
