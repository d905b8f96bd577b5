package app

import (
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/reloader/near"
)

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
			return fmt.Errorf("%s: %q is not a setting of this role%s", path, name, like(f, name))
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

// like says which setting may be meant by a name that is none.
func like(f *pflag.FlagSet, name string) string {
	var names []string
	f.VisitAll(func(flag *pflag.Flag) {
		if flag.Name != "config" && flag.Name != "help" {
			names = append(names, flag.Name)
		}
	})
	if word, ok := near.Word(name, names); ok {
		return fmt.Sprintf("; did you mean %q?", word)
	}
	return ""
}

// settingText returns a value of the file as it would stand on the command line. YAML takes words like on and numbers with a zero in
// front for something else than they look like, so text has to be text.
func settingText(flag *pflag.Flag, value any) (string, error) {
	isList := flag.Value.Type() == "stringSlice"
	switch v := value.(type) {
	case string:
		return v, nil
	case bool, float64:
		if isList || flag.Value.Type() == "string" {
			return "", fmt.Errorf("%s must be text: put it in quotes", flag.Name)
		}
		if number, ok := v.(float64); ok {
			return strconv.FormatFloat(number, 'f', -1, 64), nil
		}
		return fmt.Sprint(v), nil
	case []any:
		if isList {
			return listText(flag, v)
		}
	}
	if isList {
		return "", fmt.Errorf("%s must be a list or text", flag.Name)
	}
	return "", fmt.Errorf("%s must be a single value", flag.Name)
}

// listText returns a list of the file as it would stand on the command line: between commas, in quotes where it must be.
func listText(flag *pflag.Flag, values []any) (string, error) {
	items := make([]string, len(values))
	for i, v := range values {
		item, ok := v.(string)
		if !ok {
			return "", fmt.Errorf("%s must be a list of texts: put each in quotes", flag.Name)
		}
		items[i] = item
	}
	var line strings.Builder
	w := csv.NewWriter(&line)
	if err := w.Write(items); err != nil {
		return "", fmt.Errorf("%s: %w", flag.Name, err)
	}
	w.Flush()
	return strings.TrimSuffix(line.String(), "\n"), nil
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
