package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestNoLicence: a module has none if its only licence is that of a folder in it, or is empty.
func TestNoLicence(t *testing.T) {
	for name, text := range map[string]string{"LICENSE": "You may.", "COPYING.md": "You may.", "licence": " \n", "below/LICENSE": "You may.", "license.go": "You may."} {
		file := filepath.Join(t.TempDir(), name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := texts(file[:len(file)-len(name)]); (err == nil) != (name == "LICENSE" || name == "COPYING.md") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
