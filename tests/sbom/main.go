// Command sbom lists what a reroll binary is made of, as a CycloneDX document: the Go modules that the binary itself names, and the packages
// of the dashboard that are built into it. The same binary and lock file make the same document.
package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// dashboardLock says what the dashboard is built from.
const dashboardLock = "api/ui/package-lock.json"

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: sbom BINARY, from the root of the repository")
		os.Exit(2)
	}
	if err := run(os.Args[1], dashboardLock, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// document is what is used of CycloneDX 1.6.
type document struct {
	Format      string      `json:"bomFormat"`
	SpecVersion string      `json:"specVersion"`
	Version     int         `json:"version"`
	Metadata    metadata    `json:"metadata"`
	Components  []component `json:"components"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type    string `json:"type"`
	Ref     string `json:"bom-ref"`
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	PURL    string `json:"purl"`
}

// run writes the document about a binary.
func run(binary, lock string, w io.Writer) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return fmt.Errorf("read what %s is made of: %w", binary, err)
	}
	modules := []component{part("library", "golang", "std", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		modules = append(modules, part("library", "golang", m.Path, m.Version))
	}
	packages, err := dashboard(lock)
	if err != nil {
		return err
	}
	d := document{
		Format: "CycloneDX", SpecVersion: "1.6", Version: 1,
		Metadata:   metadata{part("application", "golang", info.Main.Path, setting(info, "main.version"))},
		Components: append(modules, packages...),
	}
	slices.SortFunc(d.Components, func(a, b component) int { return strings.Compare(a.Ref, b.Ref) })
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(d)
}

// part is a component of a kind of packages.
func part(kind, ecosystem, name, version string) component {
	url := "pkg:" + ecosystem + "/" + strings.ReplaceAll(name, "@", "%40")
	if version != "" {
		url += "@" + version
	}
	return component{Type: kind, Ref: url, Name: name, Version: version, PURL: url}
}

// setting returns what the linker was told to set a variable to; empty if that is not on record, as with -trimpath.
func setting(info *buildinfo.BuildInfo, variable string) string {
	for _, s := range info.Settings {
		if s.Key != "-ldflags" {
			continue
		}
		for word := range strings.FieldsSeq(s.Value) {
			if version, ok := strings.CutPrefix(word, variable+"="); ok {
				return strings.Trim(version, `"'`)
			}
		}
	}
	return ""
}

// dashboard returns the packages that are in the dashboard as it is served: those of the lock file that are not for its making alone.
func dashboard(lock string) ([]component, error) {
	content, err := os.ReadFile(lock)
	if err != nil {
		return nil, err
	}
	var file struct {
		Packages map[string]struct {
			Version string
			Dev     bool
		}
	}
	if err := json.NewDecoder(bytes.NewReader(content)).Decode(&file); err != nil {
		return nil, fmt.Errorf("read %s: %w", lock, err)
	}
	var packages []component
	for path, p := range file.Packages {
		_, name, found := strings.Cut(path, "node_modules/")
		if found && !p.Dev {
			packages = append(packages, part("library", "npm", name, p.Version))
		}
	}
	return packages, nil
}
