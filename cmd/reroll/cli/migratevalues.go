package cli

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// maxValues bounds a file of values, in bytes.
const maxValues = 1 << 20

// migrateValues is what nobody can read from a file of values.
type migrateValues struct {
	namespace, natsURL string
	strict             bool
}

// MigrateValues returns the command that turns the values of Stakater's chart into those of ours.
func MigrateValues() *cobra.Command {
	var m migrateValues
	cmd := &cobra.Command{
		Use:   "migrate-values [FILE]",
		Short: "Turn the values of Stakater Reloader's Helm chart into those of ours",
		Long: "Turn the values of Stakater Reloader's Helm chart, a file or standard input, into those of ours, on standard output. What has no counterpart,\n" +
			"and what is unknown, is named with the reason on standard error and at the end of the output; values that say nothing are left out. What limits\n" +
			"which workloads and configs count, and cannot be understood, is an error.\n" +
			"  helm get values reloader --namespace reloader --output yaml | reroll migrate-values > values.yaml",
		Example: "  reroll migrate-values stakater-values.yaml > values.yaml\n  reroll migrate-values --strict --namespace reloader stakater-values.yaml",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			in := cmd.InOrStdin()
			if len(args) == 1 && args[0] != "-" {
				file, err := os.Open(args[0])
				if err != nil {
					return err
				}
				defer file.Close() //nolint:errcheck // it was only read
				in = file
			}
			return m.run(in, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.StringVar(&m.namespace, "namespace", "", "namespace of the release of Stakater Reloader, for one that watches only that (watchGlobally: false)")
	f.StringVar(&m.natsURL, "nats-url", "", "address of an external NATS, for several replicas (enableHA)")
	f.BoolVar(&m.strict, "strict", false, "end with code 1 if something could not be taken over")
	return cmd
}

var errLeftOver = errors.New("some values could not be taken over")

func (m migrateValues) run(in io.Reader, out, complaints io.Writer) error {
	text, err := io.ReadAll(io.LimitReader(in, maxValues+1))
	if err != nil {
		return fmt.Errorf("read the values: %w", err)
	}
	if err := m.checkNATS(); err != nil {
		return err
	}
	values, notes, err := m.convert(text)
	if err != nil {
		return err
	}
	if _, err := out.Write(renderValues(values, notes)); err != nil {
		return err
	}
	for _, note := range notes {
		if _, err := fmt.Fprintln(complaints, "not taken over:", note); err != nil {
			return err
		}
	}
	if m.strict && len(notes) > 0 {
		return errLeftOver
	}
	return nil
}

var natsURL = regexp.MustCompile(`^((nats|tls|ws|wss)://\S+)?$`)

// checkNATS refuses an address that our chart does. It is not repeated if there may be a password in it.
func (m migrateValues) checkNATS() error {
	switch {
	case strings.Contains(m.natsURL, "@"):
		return Usage(errors.New("--nats-url has credentials: leave it without them, and put the address with them into a Secret, and set nats.existingSecret and nats.keys.url"))
	case !natsURL.MatchString(m.natsURL):
		return Usage(fmt.Errorf("--nats-url: %q is no address such as nats://nats:4222", m.natsURL))
	}
	return nil
}

// convert returns our values for Stakater's, and a line for each of these that is not among them.
func (m migrateValues) convert(text []byte) (values map[string]any, notes []string, err error) {
	if len(text) > maxValues {
		return nil, nil, fmt.Errorf("the values are longer than %d KiB", maxValues>>10)
	}
	var theirs map[string]any
	if err := yaml.UnmarshalStrict(text, &theirs); err != nil {
		return nil, nil, fmt.Errorf("the values are no YAML mapping: %w", err)
	}
	c := &conversion{migrateValues: m, theirs: theirs, ours: map[string]any{}}
	c.walk("", theirs)
	c.finish()
	if c.err != nil {
		return nil, nil, c.err
	}
	return c.ours, c.notes, nil
}

// renderValues writes the values, and the notes as comments below them.
func renderValues(values map[string]any, notes []string) []byte {
	body, err := yaml.Marshal(values)
	if err != nil || len(values) == 0 { // maps of what was YAML before can be written
		body = []byte("{}\n")
	}
	if len(notes) > 0 {
		body = append(body, "\n# Not taken over:\n"...)
		for _, note := range notes {
			body = append(body, "# - "+note+"\n"...)
		}
	}
	return body
}

// conversion is one run over a file.
type conversion struct {
	migrateValues
	theirs, ours map[string]any
	notes        []string
	// ha and replicas are theirs: whether several may run, and how many.
	ha       bool
	replicas int
	// err is why nothing at all can be taken over.
	err error
}

// walk takes over what is below path.
func (c *conversion) walk(path string, values map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		at, value := join(path, key), values[key]
		below, isMap := value.(map[string]any)
		deeper := slices.ContainsFunc(mappings, func(m mapping) bool { return strings.HasPrefix(m.from, at+".") })
		m, found := mappingOf(at)
		switch {
		case strings.Contains(key, "."):
			c.note(at, "unknown: no value of that chart has a dot in its name")
		case deeper && (isMap || value == nil):
			c.walk(at, below)
		case deeper:
			c.note(at, "it should be a mapping")
		case found:
			c.apply(m, at, value)
		default:
			c.note(at, "unknown: neither chart is known to have it")
		}
	}
}

// mappingOf returns what becomes of a value: its own mapping, or that of what it is in if that is not taken over.
func mappingOf(path string) (mapping, bool) {
	for at := path; at != ""; {
		i := slices.IndexFunc(mappings, func(m mapping) bool { return m.from == at })
		if i >= 0 && (at == path || mappings[i].take == nil) {
			return mappings[i], true
		}
		at = at[:max(0, strings.LastIndexByte(at, '.'))]
	}
	return mapping{}, false
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// apply takes over the value at a path, unless it says nothing.
func (c *conversion) apply(m mapping, at string, value any) {
	if isNothing(value) {
		return
	}
	if m.take == nil {
		if value != false {
			c.note(at, m.means)
		}
		return
	}
	switch err := m.take(c, value); {
	case err == nil:
	case slices.Contains(limiting, m.to):
		c.err = errors.Join(c.err, fmt.Errorf("%s: %w", at, err))
	default:
		c.note(at, err.Error())
	}
}

// limiting are the values without which more would be rolled than before: what is wrong with them ends the command.
var limiting = []string{
	"scope.namespaces", "scope.namespacesToIgnore", "scope.namespaceSelector", "scope.resourceLabelSelector", "scope.resourcesToIgnore", "scope.ignoredWorkloadTypes",
}

// isNothing reports whether a value is as good as none.
func isNothing(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// note adds a line about a value of theirs. Its name is anybody's text.
func (c *conversion) note(path, why string) {
	c.notes = append(c.notes, printable(path+": "+why))
}

// set sets one of our values, by its path.
func (c *conversion) set(path string, value any) {
	at := c.ours
	keys := strings.Split(path, ".")
	for _, key := range keys[:len(keys)-1] {
		below, ok := at[key].(map[string]any)
		if !ok {
			below = map[string]any{}
			at[key] = below
		}
		at = below
	}
	at[keys[len(keys)-1]] = value
}

// lookup returns a value of a tree by its path; nil if there is none.
func lookup(values map[string]any, path string) any {
	var at any = values
	for key := range strings.SplitSeq(path, ".") {
		below, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = below[key]
	}
	return at
}

// unset removes one of our values, and what it was in if nothing else is there.
func (c *conversion) unset(path string) {
	above, key := "", path
	if i := strings.LastIndexByte(path, '.'); i >= 0 {
		above, key = path[:i], path[i+1:]
	}
	at := c.ours
	if above != "" {
		at, _ = lookup(c.ours, above).(map[string]any)
	}
	delete(at, key)
	if above != "" && len(at) == 0 {
		c.unset(above)
	}
}

// finish fixes what fits the types of our chart and not its checks.
func (c *conversion) finish() {
	c.finishReplicas()
	c.dropIf(c.get("reload.syncAfterRestart") == true && c.get("reload.onCreate") != true, "reload.syncAfterRestart", "reloader.syncAfterRestart",
		"it has no effect without reloadOnCreate there, and without reload.onCreate here")
	ignored, _ := c.get("scope.resourcesToIgnore").([]any)
	if len(ignored) > 1 {
		c.err = errors.Join(c.err, errors.New("reloader.ignoreSecrets: with ignoreConfigMaps nothing would be left to react to; Stakater Reloader does not start with both"))
	}
	named := c.get("scope.namespaces") != nil
	const noEffect = "it has no effect with reloader.namespaces, here as there"
	c.dropIf(named && c.get("scope.namespacesToIgnore") != nil, "scope.namespacesToIgnore", "reloader.ignoreNamespaces", noEffect)
	c.dropIf(named && c.get("scope.namespaceSelector") != nil, "scope.namespaceSelector", "reloader.namespaceSelector", noEffect)
	c.dropIf(c.get("metrics.serviceMonitor.enabled") == true && c.get("metrics.podMonitor.enabled") == true, "metrics.serviceMonitor",
		"reloader.serviceMonitor", "podMonitor scrapes the same pods")
	c.dropIf(c.get("serviceAccount.create") == false && c.get("serviceAccount.name") == nil, "serviceAccount",
		"reloader.serviceAccount.create", "without one of its own, the name of another is needed")
	if c.get("notifications.enabled") == true && c.get("notifications.url") == nil {
		c.set("notifications.enabled", false)
		c.note("reloader.deployment.env",
			"notifications need a URL: put it into a Secret under the key alert-webhook-url, name that in notifications.existingSecret, and set notifications.enabled")
	}
}

// get returns one of our values, nil if it is not set.
func (c *conversion) get(path string) any { return lookup(c.ours, path) }

// finishReplicas allows several only where they share a NATS.
func (c *conversion) finishReplicas() {
	switch {
	case c.ha && c.natsURL != "":
		c.set("nats.url", c.natsURL)
		if c.replicas > 1 {
			c.set("replicaCount", c.replicas)
		}
	case c.ha:
		c.note("reloader.enableHA", "several replicas need an external NATS: give --nats-url, or leave it at one, whose work waits while it restarts")
	case c.replicas > 1:
		c.note("reloader.deployment.replicas", "more than one runs only with enableHA there")
	}
}

// dropIf takes one of our values back, and says why theirs is not taken over.
func (c *conversion) dropIf(wrong bool, path, from, why string) {
	if wrong {
		c.unset(path)
		c.note(from, why)
	}
}
