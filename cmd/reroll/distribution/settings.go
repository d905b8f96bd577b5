package distribution

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed settings/*.tmpl steps/*.tmpl
var templates embed.FS

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

// WriteSettings returns the piece of the distribution's own configuration that gives its API server the files, or has audit events come
// another way if it takes none. The contents of the two files are used where the configuration holds them.
func (d Distribution) WriteSettings(c Content) ([]byte, error) { return d.fill("settings", c) }

// WriteSteps returns what people do with the files, in numbered steps with the commands of a shell in their folder.
func (d Distribution) WriteSteps(c Content) ([]byte, error) { return d.fill("steps", c) }

// fill puts c and d into the template of d in a folder. A line that names a flag is there once for each of them, or for each but the policy's;
// a line that is a file becomes the file, moved as far to the right. text/template would do it, but it calls methods by name: a linker that
// cannot know which keeps all methods of all types, a quarter of the binary.
func (d Distribution) fill(folder string, c Content) ([]byte, error) {
	text, err := templates.ReadFile(folder + "/" + d.Name + ".tmpl")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.Title, err)
	}
	values := strings.NewReplacer("{{ .Dir }}", d.Dir, "{{ .Guide }}", d.Guide(), "{{ .Shipped }}", c.Shipped(),
		"{{ .Cluster }}", c.Cluster, "{{ .Release }}", c.Release, "{{ .Namespace }}", c.Namespace)
	files := map[string]string{"{{ .Policy }}": c.Policy, "{{ .Kubeconfig }}": c.Kubeconfig}
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		name := strings.TrimSpace(line)
		switch file, isFile := files[name]; {
		case isFile:
			b.WriteString(indent(strings.Index(line, name), file) + "\n")
		case strings.Contains(line, "{{ .Value }}"):
			for _, f := range d.Flags() {
				if f.Name != "audit-policy-file" || !strings.Contains(line, "{{ .OtherFlag }}") {
					b.WriteString(strings.NewReplacer("{{ .Flag }}", f.Name, "{{ .OtherFlag }}", f.Name, "{{ .Value }}", f.Value).Replace(line))
				}
			}
		default:
			b.WriteString(values.Replace(line))
		}
	}
	out := b.String()
	if command, continues := strings.CutSuffix(out, " \\\n"); continues {
		out = command + "\n" // the last flag of a shell's command
	}
	return []byte(out), nil
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
