// Command krew packs the binaries of a release as the kubectl plugin reroll: an archive for each, and the manifest from which krew
// installs it. The same binaries make the same archives and manifest.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"sigs.k8s.io/yaml"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: krew VERSION FOLDER, from the root of the repository; FOLDER has the binaries, reroll-OS-ARCHITECTURE, with .exe for Windows")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], "LICENSE"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// manifestName is what krew wants the manifest to be called: the plugin's name.
const manifestName = "reroll.yaml"

// run packs every binary in dir, and writes the manifest beside the archives.
func run(version, dir, license string) error {
	if !regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`).MatchString(version) {
		return fmt.Errorf("%.80q is no version such as 1.2.3", version)
	}
	binaries, err := filepath.Glob(filepath.Join(dir, "reroll-*-*"))
	if err != nil {
		return err
	}
	m := newManifest(version)
	slices.Sort(binaries)
	for _, binary := range binaries {
		system := named.FindStringSubmatch(filepath.Base(binary))
		if system == nil {
			continue // a list of parts
		}
		archive := fmt.Sprintf("kubectl-reroll-%s-%s.tar.gz", system[1], system[2])
		sum, err := pack(filepath.Join(dir, archive), binary, binaryName+system[3], license, filepath.Join(dir, partsName))
		if err != nil {
			return fmt.Errorf("pack %s: %w", binary, err)
		}
		m.Spec.Platforms = append(m.Spec.Platforms, platformOf(version, archive, sum, system))
	}
	if len(m.Spec.Platforms) == 0 {
		return errors.New("there is no binary in " + dir)
	}
	text, err := yaml.Marshal(m)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, manifestName), text, 0o644)
}

// named is the name of a binary of a release, with its system and architecture as Go and krew call them, and its extension.
var named = regexp.MustCompile(`^reroll-(linux|darwin|windows)-(amd64|arm64)(\.exe)?$`)
