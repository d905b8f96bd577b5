package chart_test

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestPackage: what is pushed has all that the chart is made of, and nothing of how it is made and tested.
func TestPackage(t *testing.T) {
	dir := t.TempDir()
	if out, err := tool(t, "helm", "package", chart, "--destination", dir); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	packages, err := filepath.Glob(dir + "/reroll-*.tgz")
	if err != nil || len(packages) != 1 {
		t.Fatalf("packages: %q, %v", packages, err)
	}
	names := namesIn(t, packages[0])
	for _, want := range []string{"Chart.yaml", "README.md", "values.yaml", "values.schema.json", "files/alerts.yaml", "files/audit-policy.yaml", "templates/NOTES.txt"} {
		if !slices.Contains(names, "reroll/"+want) {
			t.Errorf("%s is missing", want)
		}
	}
	for _, other := range []string{"README.md.gotmpl", "tests/roles_test.yaml"} {
		if slices.Contains(names, "reroll/"+other) {
			t.Errorf("%s is of no use in it", other)
		}
	}
}

// namesIn returns the names of the files in an archive.
func namesIn(t *testing.T, archive string) (names []string) {
	t.Helper()
	file, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	plain, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	for files := tar.NewReader(plain); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, header.Name)
	}
}
