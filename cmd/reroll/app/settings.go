package app

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/strategy"
)

// Settings are what flags, environment and configuration file say, in this order of strength.
type Settings struct {
	Config string

	ClusterName string
	DataDir     string
	NATSURL     string

	Kubeconfig, Context, Namespace string
	KubeQPS                        float32
	KubeBurst                      int
	CoalesceWindow                 time.Duration
	CoalesceMaxWait                time.Duration
	ReloadStrategy                 string
	AutoReloadAll                  bool
	DryRun                         bool

	IngestAddress      string
	IngestTLSCert      string
	IngestTLSKey       string
	IngestTLSClientCA  string
	IngestTokenFile    string
	IngestInsecureHTTP bool

	APIAddress     string
	MetricsAddress string
	LogFormat      string
	LogLevel       string
}

// bind declares the flags that a role has.
func (s *Settings) bind(f *pflag.FlagSet, r role) {
	f.StringVar(&s.Config, "config", "", "YAML file with the names of these flags as keys; flags and environment win")
	f.StringVar(&s.NATSURL, "nats-url", "", "addresses of an external NATS, separated by commas"+r.orEmbedded())
	f.StringVar(&s.MetricsAddress, "metrics-address", ":9090", "address for /metrics, /livez, /readyz and /live")
	f.StringVar(&s.LogFormat, "log-format", "text", "format of the log: text or json")
	f.StringVar(&s.LogLevel, "log-level", "info", "least severe level that is logged: debug, info, warn or error")
	if r.embeds {
		f.StringVar(&s.DataDir, "data-dir", "reroll-data", "directory of the embedded NATS")
	}
	if r.dispatch {
		s.bindDispatch(f, r)
	}
	if r.ingest {
		s.bindIngest(f)
	}
	if r.answer {
		f.StringVar(&s.APIAddress, "api-address", "127.0.0.1:8080", "address of the REST API")
	}
}

func (s *Settings) bindDispatch(f *pflag.FlagSet, r role) {
	f.StringVar(&s.ClusterName, "cluster-name", r.clusterName, "name of the cluster, a DNS label")
	f.StringVar(&s.Kubeconfig, "kubeconfig", "", "kubeconfig file; in a cluster, that cluster is the default")
	f.StringVar(&s.Context, "context", "", "context of the kubeconfig")
	f.StringVar(&s.Namespace, "namespace", "", "Reroll's own namespace, which holds the Secret reroll-digest-key; default: that of the pod or context")
	f.Float32Var(&s.KubeQPS, "kube-qps", 500, "requests per second to the API server")
	f.IntVar(&s.KubeBurst, "kube-burst", 1000, "requests to the API server in one burst")
	f.DurationVar(&s.CoalesceWindow, "coalesce-window", time.Second, "how long a workload must see no further change before it rolls; 0 is at once")
	f.DurationVar(&s.CoalesceMaxWait, "coalesce-max-wait", 10*time.Second, "how long a workload waits at most for a quiet window")
	f.StringVar(&s.ReloadStrategy, "reload-strategy", strategy.EnvVars.Name, "how workloads are marked: "+strategyNames())
	f.BoolVar(&s.AutoReloadAll, "auto-reload-all", false, "treat every workload that does not say otherwise as if it had opted in to all its references")
	f.BoolVar(&s.DryRun, "dry-run", false, "decide and record, but write nothing to the cluster")
}

func (s *Settings) bindIngest(f *pflag.FlagSet) {
	f.StringVar(&s.IngestAddress, "ingest-address", ":9443", "address for audit events, POST /v1/audit/{cluster}")
	f.StringVar(&s.IngestTLSCert, "ingest-tls-cert", "", "file of the server certificate")
	f.StringVar(&s.IngestTLSKey, "ingest-tls-key", "", "file of the server certificate's key")
	f.StringVar(&s.IngestTLSClientCA, "ingest-tls-client-ca", "", "file of the CA of client certificates, whose name is the cluster's")
	f.StringVar(&s.IngestTokenFile, "ingest-token-file", "", "file of bearer tokens, a line cluster:token for each")
	f.BoolVar(&s.IngestInsecureHTTP, "ingest-insecure-http", false, "plain HTTP without authentication, on a loopback address only")
}

func (r role) orEmbedded() string {
	if r.embeds {
		return "; an embedded one if empty"
	}
	return ""
}

func strategyNames() string {
	names := make([]string, len(strategy.All))
	for i, s := range strategy.All {
		names[i] = s.Name
	}
	return strings.Join(names, " or ")
}

// complete fills in what the command line left open from the environment and the configuration file, and checks everything that
// can be checked without reaching out.
func (s *Settings) complete(f *pflag.FlagSet, r role) error {
	if err := fromEnvironment(f); err != nil {
		return err
	}
	if err := fromFile(f, s.Config); err != nil {
		return err
	}
	if r.dispatch {
		if err := s.checkDispatch(); err != nil {
			return err
		}
	}
	if s.NATSURL == "" && !r.embeds {
		return fmt.Errorf("--nats-url is required for %s: the roles meet at an external NATS", r.name)
	}
	if !slices.Contains([]string{"text", "json"}, s.LogFormat) {
		return fmt.Errorf("--log-format: %q is not text or json", s.LogFormat)
	}
	if err := new(slog.LevelVar).UnmarshalText([]byte(s.LogLevel)); err != nil {
		return fmt.Errorf("--log-level: %q is not debug, info, warn or error", s.LogLevel)
	}
	return nil
}

func (s *Settings) checkDispatch() error {
	if s.ClusterName == "" {
		return errors.New("--cluster-name is required: it must be the name under which the cluster's audit events come in")
	}
	if err := reloader.ValidateCluster(s.ClusterName); err != nil {
		return fmt.Errorf("--cluster-name: %w", err)
	}
	if _, ok := strategy.Named(s.ReloadStrategy); !ok {
		return fmt.Errorf("--reload-strategy: %q is not %s", s.ReloadStrategy, strategyNames())
	}
	if s.CoalesceWindow < 0 || s.CoalesceMaxWait < 0 {
		return errors.New("--coalesce-window and --coalesce-max-wait must not be negative")
	}
	if s.KubeQPS <= 0 || s.KubeBurst <= 0 {
		return errors.New("--kube-qps and --kube-burst must be positive")
	}
	return nil
}

// environmentName returns the variable that stands for a flag.
func environmentName(flag string) string {
	return "REROLL_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

func fromEnvironment(f *pflag.FlagSet) error {
	var errs []error
	f.VisitAll(func(flag *pflag.Flag) {
		value, ok := os.LookupEnv(environmentName(flag.Name))
		if !ok || flag.Changed {
			return
		}
		if err := f.Set(flag.Name, value); err != nil {
			errs = append(errs, fmt.Errorf("environment %s: %w", environmentName(flag.Name), err))
		}
	})
	return errors.Join(errs...)
}

// maxConfigFile bounds the configuration file, in bytes.
const maxConfigFile = 1 << 20

// fromFile sets the flags that neither the command line nor the environment set. A key that is no flag of the role is an error.
func fromFile(f *pflag.FlagSet, path string) error {
	if path == "" {
		return nil
	}
	values, err := readConfig(path)
	if err == nil {
		err = apply(f, values, path)
	}
	if err != nil {
		return fmt.Errorf("--config: %w", err)
	}
	return nil
}

// apply sets the flags that values name and nobody has set yet.
func apply(f *pflag.FlagSet, values map[string]any, path string) error {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		flag := f.Lookup(name)
		if flag == nil || name == "config" || name == "help" {
			return fmt.Errorf("%s: %q is not a setting of this role", path, name)
		}
		value, err := settingText(flag, values[name])
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if flag.Changed {
			continue
		}
		if err := f.Set(name, value); err != nil {
			return fmt.Errorf("%s: %s: %w", path, name, err)
		}
	}
	return nil
}

// settingText returns a value of the file as it would stand on the command line. YAML takes words like on and numbers with a zero in
// front for something else than they look like, so text has to be text.
func settingText(flag *pflag.Flag, value any) (string, error) {
	switch v := value.(type) {
	case string:
		return v, nil
	case bool, float64:
		if flag.Value.Type() == "string" {
			return "", fmt.Errorf("%s must be text: put it in quotes", flag.Name)
		}
		if number, ok := v.(float64); ok {
			return strconv.FormatFloat(number, 'f', -1, 64), nil
		}
		return fmt.Sprint(v), nil
	}
	return "", fmt.Errorf("%s must be a single value", flag.Name)
}

func readConfig(path string) (map[string]any, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	data, err := io.ReadAll(io.LimitReader(file, maxConfigFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxConfigFile {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, maxConfigFile)
	}
	return parseConfig(data, path)
}

// parseConfig decodes a configuration file; duplicate keys are errors, and so is a second document, which would be ignored.
func parseConfig(data []byte, path string) (map[string]any, error) {
	if !oneDocument(string(data)) {
		return nil, fmt.Errorf("%s has more than one document", path)
	}
	values := map[string]any{}
	if err := yaml.UnmarshalStrict(data, &values); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return values, nil
}

// oneDocument tells whether text has at most one YAML document. Its markers stand at the beginning of a line, where no text can
// have the like.
func oneDocument(text string) bool {
	begun, ended := false, false
	for line := range strings.Lines(text) {
		word, _, _ := strings.Cut(strings.TrimRight(line, "\r\n\t ")+" ", " ")
		switch {
		case strings.TrimSpace(line) == "" || strings.HasPrefix(strings.TrimSpace(line), "#"):
		case ended || word == "---" && begun:
			return false
		case word == "...":
			ended = true
		default:
			begun = true
		}
	}
	return true
}
