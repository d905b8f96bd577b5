package distribution

import (
	"bytes"
	"embed"
	"fmt"
	"strconv"
	"strings"
	"text/template"
)

//go:embed settings/*.tmpl
var settingsFiles embed.FS

// settings are the templates, by name of the distribution and ".tmpl".
var settings = template.Must(template.New("").Funcs(template.FuncMap{
	"indent": indent,
	"quote":  strconv.Quote,
}).ParseFS(settingsFiles, "settings/*.tmpl"))

// content is what the templates are filled with.
type content struct {
	Distribution
	Policy, Kubeconfig string
}

// WriteSettings returns the piece of the distribution's own configuration that gives its API server the files, or has audit events come
// another way if it takes none. The contents of the two files are used where the configuration holds them; kubeconfig is needed if
// d.Inline.
func (d Distribution) WriteSettings(policy, kubeconfig string) ([]byte, error) {
	if d.Inline && kubeconfig == "" {
		return nil, fmt.Errorf("the settings of %s hold the kubeconfig itself: give the file that reroll audit kubeconfig --for %s prints", d.Title, d.Name)
	}
	var b bytes.Buffer
	if err := settings.ExecuteTemplate(&b, d.Name+".tmpl", content{d, policy, kubeconfig}); err != nil {
		return nil, fmt.Errorf("settings of %s: %w", d.Title, err)
	}
	return b.Bytes(), nil
}

// indent moves the lines of a text to the right, for a YAML block.
func indent(spaces int, text string) string {
	margin := strings.Repeat(" ", spaces)
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, line := range lines {
		if line = strings.TrimRight(line, "\r"); line != "" {
			line = margin + line
		}
		lines[i] = line
	}
	return strings.Join(lines, "\n")
}
