package distribution

import (
	"bytes"
	"embed"
	"fmt"
	"strconv"
	"strings"
	"text/template"
)

//go:embed settings/*.tmpl steps/*.tmpl
var templates embed.FS

// settings and steps are the templates, by name of the distribution and ".tmpl".
var (
	settings = parse("settings/*.tmpl")
	steps    = parse("steps/*.tmpl")
)

func parse(pattern string) *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{"indent": indent, "quote": strconv.Quote}).ParseFS(templates, pattern))
}

// Content is what settings and steps are made with.
type Content struct {
	// Policy and Kubeconfig are the two files.
	Policy, Kubeconfig string
	// Ingest is HOST:PORT of the ingest's Service, and Cluster the name of the cluster.
	Ingest, Cluster string
	// Release and Namespace are those of Reroll.
	Release, Namespace string
}

// Standard returns what the chart makes of a release called reroll, in a namespace of that name.
func Standard() Content {
	return Content{Ingest: "reroll-ingest.reroll.svc:9443", Cluster: "local", Release: "reroll", Namespace: "reroll"}
}

// Shipped is where shipped audit logs are posted from inside the cluster.
func (c Content) Shipped() string { return "https://" + c.Ingest + "/v1/shipped/" + c.Cluster }

// filled is what a template is given.
type filled struct {
	Distribution
	Content
}

// WriteSettings returns the piece of the distribution's own configuration that gives its API server the files, or has audit events come
// another way if it takes none. The contents of the two files are used where the configuration holds them; the kubeconfig is needed if
// d.Inline.
func (d Distribution) WriteSettings(c Content) ([]byte, error) {
	if d.Inline && c.Kubeconfig == "" {
		return nil, fmt.Errorf("the settings of %s hold the kubeconfig itself: give the file that reroll audit kubeconfig --for %s prints", d.Title, d.Name)
	}
	return d.fill(settings, c)
}

// WriteSteps returns what people do with the files, in numbered steps with the commands of a shell in their folder.
func (d Distribution) WriteSteps(c Content) ([]byte, error) { return d.fill(steps, c) }

func (d Distribution) fill(all *template.Template, c Content) ([]byte, error) {
	var b bytes.Buffer
	if err := all.ExecuteTemplate(&b, d.Name+".tmpl", filled{d, c}); err != nil {
		return nil, fmt.Errorf("%s: %w", d.Title, err)
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
