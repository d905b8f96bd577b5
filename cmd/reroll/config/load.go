package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/reroll-dev/reroll/reloader/control"
)

// environment are the settings that may hold credentials, which a file in a ConfigMap must not.
var environment = []struct{ name, key string }{
	{"REROLL_NATS_URL", "nats.url"},
	{"REROLL_WEBHOOK_URL", "reload.webhookURL"},
	{"REROLL_NOTIFICATIONS_URL", "notifications.url"},
	{"REROLL_NOTIFICATIONS_PROXY", "notifications.proxy"},
}

// Flags are those of reroll serve. Each stands for a key of the file, and wins over it; of two, the last wins.
type Flags struct {
	path string
	// Check is whether to validate the settings and exit.
	Check     bool
	overrides []*override
}

// override is a setting of the command line, or of the environment.
type override struct{ origin, key, value string }

func (f *Flags) set(origin, key, value string) *override {
	o := &override{origin, key, value}
	f.overrides = append(f.overrides, o)
	return o
}

// own are the flags that --help lists, with the keys that they stand for.
var own = []alias{
	{flag: "cluster-name", key: "clusterName", usage: "name of the cluster, a DNS label"},
	{flag: "components", key: "components", usage: "parts to run: ingest, dispatch, api, admission"},
	{flag: "source", key: "source", usage: "source of changes: auto, audit or watch"},
	{flag: "dry-run", key: "dryRun", usage: "decide and record, but write nothing to the cluster"},
	{flag: "data-dir", key: "dataDir", usage: "directory of the embedded NATS"},
	{flag: "kubeconfig", key: "kubernetes.kubeconfig", usage: "kubeconfig file (default: KUBECONFIG, the cluster of the pod, or ~/.kube/config)"},
	{flag: "context", key: "kubernetes.context", usage: "context of the kubeconfig"},
	{flag: "log-level", key: "log.level", usage: "lowest level to log: debug, info, warn or error", convert: level},
	{flag: "log-format", key: "log.format", usage: "format of the log: text or json", convert: func(text string) string { return cmp.Or(text, "text") }},
	{flag: "metrics-address", key: "metrics.address", usage: "address for /metrics, /livez and /readyz"},
	{flag: "ingest-address", key: "ingest.address", usage: "address for audit events"},
	{flag: "api-address", key: "api.address", usage: "address of the REST API and the dashboard"},
}

// BindFile declares --config and --set alone.
func (f *Flags) BindFile(flags *pflag.FlagSet) {
	flags.StringVar(&f.path, "config", "", "YAML file with settings; see docs/configuration.md")
	flags.Func("set", "a setting of the file as `KEY=VALUE`, such as debounce.window=100ms; can be repeated, and wins over the file", func(text string) error {
		key, value, ok := strings.Cut(text, "=")
		if !ok || key == "" {
			return errors.New("it must be KEY=VALUE")
		}
		f.set("--set", key, value)
		return nil
	})
}

// Bind declares the flags, and the hidden ones of Stakater Reloader.
func (f *Flags) Bind(flags *pflag.FlagSet) {
	f.BindFile(flags)
	flags.BoolVar(&f.Check, "check", false, "validate the settings and exit")
	for _, a := range own {
		f.bind(flags, a)
	}
	f.bindStakater(flags)
}

// bind declares a flag that stands for a key. Its value is checked when all settings are read.
func (f *Flags) bind(flags *pflag.FlagSet, a alias) *pflag.Flag {
	field := lookup(a.key)
	var last *override
	set := func(value string) error {
		if a.convert != nil {
			value = a.convert(value)
		}
		if a.adds && last != nil {
			last.value += "," + value
		} else {
			last = f.set("--"+a.flag, a.key, value)
		}
		return nil
	}
	declare := flags.Func
	if field.value.Kind() == reflect.Bool && a.convert == nil {
		declare = flags.BoolFunc
	}
	declare(a.flag, a.usage, set)
	flag := flags.Lookup(a.flag)
	if a.usage != "" {
		flag.DefValue = field.text()
	}
	return flag
}

// lookup returns the field of a key in the default settings, or that of the map which has the key.
func lookup(path string) (found field) {
	c := Default()
	found.value = reflect.ValueOf(&c).Elem()
	for key := range strings.SplitSeq(path, ".") {
		f, known := fieldNamed(found.value, key)
		if !known {
			break
		}
		if found = f; !f.isSection() {
			break
		}
	}
	return found
}

func (f field) text() string {
	switch v := f.value.Interface().(type) {
	case []string:
		return strings.Join(v, ",")
	case Selector, control.Windows, AnnotationKeys:
		return ""
	default:
		return fmt.Sprint(v)
	}
}

// Load reads all settings, and checks whether they fit together.
func (f *Flags) Load() (Config, error) {
	c, err := f.Read()
	if err != nil {
		return Config{}, err
	}
	return c, c.complete()
}

// Read reads the variables of Stakater Reloader, the file, the environment and the flags, in this order of strength.
func (f *Flags) Read() (Config, error) {
	c := Default()
	c.Pod = Pod{Name: os.Getenv("POD_NAME"), Namespace: os.Getenv("POD_NAMESPACE")}
	c.takeEnvironment()
	errs := []error{c.readFile(f.path)}
	for _, e := range environment {
		if value := strings.TrimSpace(os.Getenv(e.name)); value != "" {
			errs = append(errs, c.override(override{e.name, e.key, value}))
		}
	}
	for _, o := range f.overrides {
		if o.key == "" {
			c.warn("%s has no effect", o.origin)
			continue
		}
		errs = append(errs, c.override(*o))
	}
	if _, err := c.AllDialects().Choose(c.Reload.Dialects); err != nil {
		errs = append(errs, fmt.Errorf("reload.dialects: %w", err))
	}
	return c, errors.Join(errs...)
}

func (c *Config) readFile(path string) error {
	if path == "" {
		return nil
	}
	content, err := os.ReadFile(path)
	if err == nil {
		err = c.Parse(content)
	}
	if err != nil {
		return fmt.Errorf("--config: %s: %w", path, err)
	}
	return nil
}

// Parse decodes the content of a file.
func (c *Config) Parse(content []byte) error {
	var document, second yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	if err := decoder.Decode(&document); err != nil {
		if errors.Is(err, io.EOF) {
			return nil
		}
		return err
	}
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		return errors.New("it has more than one document")
	}
	return decode(document.Content[0], reflect.ValueOf(c).Elem(), "")
}

// override sets one key as a file would.
func (c *Config) override(o override) error {
	node := &yaml.Node{Kind: yaml.ScalarNode, Value: o.value}
	if strings.HasPrefix(o.value, "[") || strings.HasPrefix(o.value, "{") {
		var document yaml.Node
		if err := yaml.Unmarshal([]byte(o.value), &document); err != nil {
			return fmt.Errorf("%s: %s: %w", o.origin, o.key, err)
		}
		node = document.Content[0]
	}
	parts := strings.Split(o.key, ".")
	for _, part := range slices.Backward(parts) {
		node = &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{{Kind: yaml.ScalarNode, Tag: "!!str", Value: part}, node}}
	}
	if err := decode(node, reflect.ValueOf(c).Elem(), ""); err != nil {
		return fmt.Errorf("%s: %w", o.origin, err)
	}
	return nil
}
