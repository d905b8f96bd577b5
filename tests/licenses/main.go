// Command licenses prints the licence texts of everything that reroll binaries contain: the Go modules that the binaries name, Go itself, and
// the dashboard. The same binaries print the same text.
package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// dashboardNotice has the licence texts of the dashboard's packages; the build of the dashboard writes it.
const dashboardNotice = "api/ui/dist/NOTICE.txt"

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: licenses BINARY..., from the root of the repository")
		os.Exit(2)
	}
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(binaries []string, w io.Writer) error {
	folders, err := folders(binaries)
	if err != nil {
		return err
	}
	// Many modules have the same text, byte by byte: it is printed once.
	owners := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(folders)) {
		found, err := texts(folders[name])
		if err != nil {
			return fmt.Errorf("licence of %s: %w", name, err)
		}
		for _, file := range slices.Sorted(maps.Keys(found)) {
			text := found[file]
			owners[text] = append(owners[text], name+", "+file)
		}
	}
	notice, err := os.ReadFile(dashboardNotice)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	out.WriteString("The reroll binaries contain parts of the following works.\n")
	for _, text := range slices.SortedFunc(maps.Keys(owners), func(a, b string) int { return strings.Compare(owners[a][0], owners[b][0]) }) {
		fmt.Fprintf(&out, "\n%s\n%s\n\n%s\n", strings.Repeat("-", 80), strings.Join(owners[text], "\n"), text)
	}
	fmt.Fprintf(&out, "\n%s\n%s\n", strings.Repeat("-", 80), strings.TrimSpace(string(notice)))
	_, err = w.Write(out.Bytes())
	return err
}

// folders returns where the sources of each part of the binaries are, by its name and version.
func folders(binaries []string) (map[string]string, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("find the sources of Go: %w", err)
	}
	found, modules := map[string]string{}, map[string]bool{}
	for _, binary := range binaries {
		info, err := buildinfo.ReadFile(binary)
		if err != nil {
			return nil, fmt.Errorf("read what %s is made of: %w", binary, err)
		}
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			modules[m.Path+"@"+m.Version] = true
		}
		found[info.GoVersion] = strings.TrimSpace(string(root))
	}
	if len(modules) == 0 {
		return nil, errors.New("the binaries name no modules")
	}
	cmd := exec.Command("go", append([]string{"mod", "download", "-json"}, slices.Sorted(maps.Keys(modules))...)...)
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("find the sources of the modules: %w: %s", err, out)
	}
	for list := json.NewDecoder(bytes.NewReader(out)); list.More(); {
		var m struct{ Path, Version, Dir string }
		if err := list.Decode(&m); err != nil {
			return nil, fmt.Errorf("find the sources of the modules: %w", err)
		}
		found[m.Path+" "+m.Version] = m.Dir
	}
	return found, nil
}

var (
	licence = regexp.MustCompile(`(?i)^(un)?licen[cs]es?([-_.][a-z0-9-_.]*)?$|^(copying|notice|patents)(\.(txt|md))?$`)
	source  = regexp.MustCompile(`\.(go|s|json|ya?ml)$`)
	// aside are folders that no package of a binary is in.
	aside = map[string]bool{"testdata": true, "vendor": true, ".git": true, ".github": true, "node_modules": true}
)

// texts returns the licence files in a folder and below it, by their paths there. At the top there is at least one.
func texts(dir string) (map[string]string, error) {
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != dir && aside[d.Name()]:
			return filepath.SkipDir
		case !d.Type().IsRegular() || !licence.MatchString(d.Name()) || source.MatchString(d.Name()):
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if text := strings.TrimSpace(strings.ReplaceAll(string(content), "\r\n", "\n")); text != "" {
			found[filepath.ToSlash(name)] = text
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for name := range found {
		if !strings.Contains(name, "/") {
			return found, nil
		}
	}
	return nil, errors.New("there is none")
}
