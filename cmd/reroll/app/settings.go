package app

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/reroll-dev/reroll/cmd/reroll/cli"
	"github.com/reroll-dev/reroll/dispatcher/turn"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/reloader/dialect"
)

// Settings are what flags, environment and configuration file say, in this order of strength.
type Settings struct {
	Config string

	ClusterName   string
	DataDir       string
	DataEphemeral bool
	NATSURL       string
	NATS          NATS
	Hub           Hub

	Kubeconfig, Context, Namespace string
	KubeQPS                        float32
	KubeBurst                      int
	CoalesceWindow                 time.Duration
	CoalesceMaxWait                time.Duration
	ReloadStrategy                 string
	// ToolMarks has the marks of other tools written for workloads with their annotations.
	ToolMarks bool
	// Dialects are the names of the tools whose annotations are read.
	Dialects      []string
	DryRun        bool
	SweepInterval time.Duration
	// Source is what reports changes: one of sourceAuto, sourceAudit and sourceWatch.
	Source         string
	CanaryInterval time.Duration
	Brakes         turn.Limits
	Rollouts
	Stakater
	Admission Admission

	IngestAddress      string
	IngestTLSCert      string
	IngestTLSKey       string
	IngestTLSClientCA  string
	IngestTokenFile    string
	IngestInsecureHTTP bool
	// IngestService is the Service for which Reroll makes the certificate of ingest; IngestTLSHosts are names besides its own.
	IngestService     string
	IngestTLSHosts    []string
	IngestTLSLifetime time.Duration

	APIAddress     string
	Auth           Auth
	MetricsAddress string
	LogFormat      string
	LogLevel       string

	// Warnings are what complete found to be without effect: one line each, for the log.
	Warnings []string
}

// bind declares the flags that a role has.
func (s *Settings) bind(f *pflag.FlagSet, r role) {
	f.StringVar(&s.Config, "config", "", "YAML file with the names of these flags as keys; flags and environment win")
	if !r.admitOnly() {
		f.StringVar(&s.NATSURL, "nats-url", "", "addresses of an external NATS, separated by commas"+r.orEmbedded())
		s.NATS.bind(f, r)
		f.BoolVar(&s.Auth.RedactActors, "redact-actors", false, "keep the names and addresses of users out of all that is stored from now on; they are personal data")
	}
	f.StringVar(&s.MetricsAddress, "metrics-address", ":9090", "address for /metrics, /livez, /readyz and /live")
	f.StringVar(&s.LogFormat, "log-format", "text", "format of the log: text, which is also meant by an empty value, or json")
	f.StringVar(&s.LogLevel, "log-level", "info", "least severe level that is logged: debug, info, warn or error; trace is taken for debug, fatal and panic for error")
	if r.embeds {
		f.StringVar(&s.DataDir, "data-dir", "reroll-data", "directory of the embedded NATS")
		f.BoolVar(&s.DataEphemeral, "data-ephemeral", false, "the directory goes with the pod: reroll status and the dashboard say what is lost then")
	}
	if r.dispatch || r.answer || r.admit {
		f.StringVar(&s.Kubeconfig, "kubeconfig", "", "kubeconfig file; without it that of KUBECONFIG, the cluster that it runs in, or ~/.kube/config")
		f.StringVar(&s.Context, "context", "", "context of the kubeconfig")
	}
	if r.dispatch || r.admit {
		s.bindMarks(f)
	}
	if r.dispatch {
		s.bindDispatch(f, r)
	}
	s.Admission.bind(f, r)
	if r.ingest {
		s.bindIngest(f)
	}
	if r.answer {
		f.StringVar(&s.APIAddress, "api-address", "127.0.0.1:8080", "address of the REST API")
		s.Auth.bind(f)
	}
}

// defaultMaxWait is the default of --coalesce-max-wait.
const defaultMaxWait = 10 * time.Second

func (s *Settings) bindDispatch(f *pflag.FlagSet, r role) {
	f.StringVar(&s.ClusterName, "cluster-name", r.clusterName, "name of the cluster, a DNS label")
	f.DurationVar(&s.CoalesceWindow, "coalesce-window", time.Second, "how long a workload must see no further change before it rolls; 0 is at once")
	f.DurationVar(&s.CoalesceMaxWait, "coalesce-max-wait", defaultMaxWait, "how long a workload waits at most for a quiet window; at its default, at least as long as the window")
	f.DurationVar(&s.SweepInterval, "sweep-interval", 10*time.Minute, "how often every config is looked at although nobody told of a change, six times as long where metadata may not be listed; 0 is at the start only")
	f.IntVar(&s.Brakes.PerMinute, "reloads-per-minute", 0, "how many workloads roll in a minute at most, a tenth of them at once; 0 is any number")
	f.IntVar(&s.Brakes.NamespacePerMinute, "namespace-reloads-per-minute", 0, "the same for each namespace")
	f.IntVar(&s.Brakes.Concurrent, "max-concurrent-rollouts", 0, "how many workloads may be rolling out at a time; 0 is any number")
	f.IntVar(&s.Brakes.NamespaceConcurrent, "namespace-max-concurrent-rollouts", 0, "the same for each namespace")
	f.DurationVar(&s.Brakes.MinInterval, "min-reload-interval", 0, "shortest time between two rolls of one workload")
	f.IntVar(&s.Brakes.FlapLimit, "flap-limit", 60, "rolls of one workload in about twelve hours, beyond which the pause after each doubles, from a minute up to an hour; 0 is any number")
	f.String(maintenanceWindowsFlag, "", `when workloads roll: five fields of cron and a length, such as "CRON_TZ=Europe/Berlin 0 22 * * 1-5 6h", several of them separated by semicolons; always if empty`)
	s.bindSource(f, r)
	s.Rollouts.bind(f)
	s.bindCanary(f)
	s.Hub.bind(f)
	s.bindStakater(f)
}

func (s *Settings) bindIngest(f *pflag.FlagSet) {
	f.StringVar(&s.IngestAddress, "ingest-address", ":9443", "address for audit events, POST /v1/audit/{cluster}, and for shipped audit logs, POST /v1/shipped/{cluster}; with another source, such as a watch (--source), it may be empty")
	f.StringVar(&s.IngestTLSCert, "ingest-tls-cert", "", "file of the server certificate, which reroll ingest waits for; if empty, reroll serve makes and renews one")
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

// complete fills in what the command line left open from the environment and the configuration file, and checks everything that
// can be checked without reaching out.
func (s *Settings) complete(f *pflag.FlagSet, r role) error {
	if err := fromEnvironment(f); err != nil {
		return err
	}
	if err := fromFile(f, s.Config); err != nil {
		return err
	}
	return cli.Usage(s.check(f, r))
}

// check refuses values that are invalid, and fills in what follows from others.
func (s *Settings) check(f *pflag.FlagSet, r role) error {
	if r.dispatch {
		if err := errors.Join(s.checkDispatch(), s.checkCanary(), s.Hub.check(), s.completeBrakes(f), s.Rollouts.check(), s.completeStakater(f, r)); err != nil {
			return err
		}
	}
	if r.dispatch || r.admit {
		if err := s.checkAdmission(f, r); err != nil {
			return err
		}
	}
	if r.answer {
		if err := s.Auth.check(s.APIAddress); err != nil {
			return err
		}
		if warning := s.Auth.warning(s.APIAddress); warning != "" {
			s.Warnings = append(s.Warnings, warning)
		}
	}
	if r.ingest && !r.dispatch && s.IngestAddress == "" {
		return errors.New("--ingest-address is empty: nothing would be taken in; give an address")
	}
	if r.dispatch {
		if err := s.completeSource(f, r); err != nil {
			return err
		}
	}
	if s.NATSURL == "" && !r.embeds && !r.admitOnly() {
		return fmt.Errorf("--nats-url is required for %s: the roles meet at an external NATS", r.name)
	}
	if s.NATSURL == "" && r.embeds && s.DataDir == "" {
		return errors.New("--data-dir is empty: the embedded NATS keeps its files there")
	}
	if err := s.NATS.check(s.NATSURL); err != nil {
		return err
	}
	if !slices.Contains([]string{"", "text", "json"}, s.LogFormat) {
		return fmt.Errorf("--log-format: %q is not text or json", s.LogFormat)
	}
	if _, err := logLevel(s.LogLevel); err != nil {
		return fmt.Errorf("--log-level: %q is not debug, info, warn or error", s.LogLevel)
	}
	return nil
}

const dialectsFlag = "dialects"

// dialectNames are the names of all dialects.
func dialectNames() []string { return dialect.All(dialect.StakaterOptions{}).Names() }

const maintenanceWindowsFlag = "maintenance-windows"

// completeBrakes reads the flags that need more than reading, and checks all.
func (s *Settings) completeBrakes(f *pflag.FlagSet) error {
	b := s.Brakes
	if min(b.PerMinute, b.NamespacePerMinute, b.Concurrent, b.NamespaceConcurrent, b.FlapLimit, int(b.MinInterval)) < 0 {
		return errors.New("--reloads-per-minute, --max-concurrent-rollouts, their namespace- forms, --flap-limit and --min-reload-interval must not be negative")
	}
	texts, err := f.GetString(maintenanceWindowsFlag)
	if err != nil || texts == "" {
		return err
	}
	if s.Brakes.Windows, err = control.ParseWindows(texts); err != nil {
		return fmt.Errorf("--%s: %w", maintenanceWindowsFlag, err)
	}
	return nil
}

// minSweepInterval keeps a sweep from being the main load of an API server.
const minSweepInterval = time.Second

func (s *Settings) checkDispatch() error {
	if s.ClusterName == "" {
		return errors.New("--cluster-name is required: it must be the name under which the cluster's audit events come in")
	}
	if err := reloader.ValidateCluster(s.ClusterName); err != nil {
		return fmt.Errorf("--cluster-name: %w", err)
	}
	if err := s.checkMarks(); err != nil {
		return err
	}
	if s.SweepInterval < 0 || s.SweepInterval > 0 && s.SweepInterval < minSweepInterval {
		return fmt.Errorf("--sweep-interval: %s is neither 0 nor at least %s", s.SweepInterval, minSweepInterval)
	}
	if s.CoalesceWindow < 0 || s.CoalesceMaxWait < 0 {
		return errors.New("--coalesce-window and --coalesce-max-wait must not be negative")
	}
	if s.CoalesceMaxWait < s.CoalesceWindow {
		if s.CoalesceMaxWait != defaultMaxWait {
			return fmt.Errorf("--coalesce-max-wait (%s) is shorter than --coalesce-window (%s)", s.CoalesceMaxWait, s.CoalesceWindow)
		}
		s.CoalesceMaxWait = s.CoalesceWindow
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
		if !ok || flag.Changed || flag.Name == "help" {
			return
		}
		if err := f.Set(flag.Name, value); err != nil {
			errs = append(errs, fmt.Errorf("environment %s: %w", environmentName(flag.Name), err))
		}
	})
	return errors.Join(errs...)
}
