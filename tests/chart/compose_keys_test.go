package chart_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var pkiFile = regexp.MustCompile(`/pki/([a-z0-9.-]+)`)

// TestComposeKeysAreWhereTheyAreUsed: the volume of each service has the files that its command, its configuration and its kubeconfig name, and no
// other; the volume with the keys of the CAs is in none of them.
func TestComposeKeysAreWhereTheyAreUsed(t *testing.T) {
	p, dir := compose(t), t.TempDir()
	shell(t, dir, p.Configs["certificates"].Content)
	folders := map[string]string{}
	for _, v := range p.Services["certificates"].Volumes {
		folders[v.Source] = strings.TrimPrefix(v.Target, "/")
	}
	mounted := 0
	for name, service := range p.Services {
		texts := append([]string{service.Environment["KUBECONFIG"]}, service.Command...)
		for _, c := range service.Configs {
			texts = append(texts, p.Configs[c.Source].Content)
		}
		for _, kubeconfig := range regexp.MustCompile(`/pki/(kubeconfig\S*)`).FindAllStringSubmatch(strings.Join(texts, " "), -1) {
			content, err := os.ReadFile(filepath.Join(dir, kubeconfig[1]))
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, string(content))
		}
		for _, v := range service.Volumes {
			if v.Target != "/pki" || name == "certificates" {
				continue
			}
			mounted++
			if got, want := filesIn(t, filepath.Join(dir, folders[v.Source])), named(texts); folders[v.Source] == "pki" || !slices.Equal(got, want) {
				t.Errorf("service %s has %q of %s, and uses %q", name, got, v.Source, want)
			}
		}
	}
	if mounted < 10 {
		t.Errorf("%d services have certificates", mounted)
	}
}

// named returns the files of certificates that texts name.
func named(texts []string) []string {
	var files []string
	for _, found := range pkiFile.FindAllStringSubmatch(strings.Join(texts, "\n"), -1) {
		files = append(files, found[1])
	}
	slices.Sort(files)
	return slices.Compact(files)
}

func filesIn(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, e := range entries {
		files = append(files, e.Name())
	}
	return files
}
