package distribution

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestEveryDistributionIsWhole: each says where files go or what to do instead, and has its guide.
func TestEveryDistributionIsWhole(t *testing.T) {
	guide, err := os.ReadFile("../../../" + Guide)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range All {
		if (d.Dir == "") == (d.Instead == "") || (d.Dir == "") != (d.Where == "") || d.TakesPolicy && d.Dir != "" {
			t.Errorf("%s: it is not clear how it hears of changes: %+v", d.Name, d)
		}
		if found, err := Find(d.Name); found != d || err != nil || !strings.HasPrefix(d.Header(PolicyFile), "# For "+d.Title+": ") {
			t.Errorf("%s is found as %+v, and its files begin with %s: %v", d.Name, found, d.Header(PolicyFile), err)
		}
		if d.Inline && !d.Embed {
			t.Errorf("%s: its settings hold a kubeconfig that names files", d.Name)
		}
		if !strings.Contains(string(guide), "`"+d.Name+"`") {
			t.Errorf("%s does not know %s", Guide, d.Name)
		}
	}
}

// What is put into the settings in the tests.
const (
	policy     = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n  - level: None\n"
	kubeconfig = "# a comment\napiVersion: v1\nkind: Config\n"
)

// filesInSettings are the files that the settings of a distribution hold, as leaves shows them.
var filesInSettings = map[string]string{"kops": "content=" + policy, "cluster-api": "content=" + policy, "gardener": "policy=" + policy, "talos": "level=None"}

// TestSettings reads what each prints as its readers do: every flag is there with its value, and a file whose place they are comes out as it was.
func TestSettings(t *testing.T) {
	for _, d := range All {
		t.Run(d.Name, func(t *testing.T) {
			c := Standard()
			c.Policy, c.Kubeconfig = policy, kubeconfig
			text, err := d.WriteSettings(c)
			if err != nil {
				t.Fatal(err)
			}
			values, want := leaves(t, d, text), []string{}
			for _, f := range d.Flags() {
				if d.Dir != "" && (d.Name != "talos" || f.Name != "audit-policy-file") && (d.Name != "kops" || f.Name != "audit-webhook-truncate-enabled") {
					want = append(want, flagAs(d, f))
				}
			}
			if d.Inline {
				want = append(want, "content="+kubeconfig)
			}
			if file := filesInSettings[d.Name]; file != "" {
				want = append(want, file)
			}
			for _, value := range want {
				if !slices.Contains(values, value) {
					t.Errorf("%s is missing in\n%s", value, text)
				}
			}
		})
	}
}

// flagAs is a flag as leaves shows it.
func flagAs(d Distribution, f Flag) string {
	switch {
	case d.Name == "kops":
		words := strings.Split(f.Name, "-")
		for i, word := range words[1:] {
			words[i+1] = strings.ToUpper(word[:1]) + word[1:]
		}
		return strings.Join(words, "") + "=" + f.Value
	case d.Name == "minikube":
		return "--extra-config=apiserver." + f.Name + "=" + f.Value
	case d.Name == "vcluster":
		return "--" + f.Name + "=" + f.Value
	case d.Name == "kind":
		return "value=--" + f.Name + "=" + f.Value
	}
	return f.Name + "=" + f.Value
}

// leaves returns the settings' values: name=value of maps and of lists of {name, value}, and the texts of lists.
func leaves(t *testing.T, d Distribution, text []byte) (out []string) {
	t.Helper()
	if d.Name == "minikube" {
		return strings.Fields(string(text))
	}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, item := range v {
				if s, ok := item.(string); ok {
					out = append(out, s)
				}
				walk(item)
			}
		case map[string]any:
			if name, ok := v["name"].(string); ok && v["value"] != nil {
				out = append(out, name+"="+v["value"].(string))
			}
			for key, item := range v {
				s, ok := item.(string)
				if ok {
					out = append(out, key+"="+s)
				}
				walk(item)
			}
		case string:
			if strings.Contains(v, "\n") {
				walk(read(t, []byte(v)))
			}
		}
	}
	for _, document := range regexp.MustCompile(`(?m)^---$`).Split(string(text), -1) {
		walk(read(t, []byte(document)))
	}
	return out
}

func read(t *testing.T, text []byte) (v any) {
	t.Helper()
	if err := yaml.UnmarshalStrict(text, &v); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return v
}

// TestStepsUseTheFiles: the steps of each distribution name every file that is for them, and no other, and the guide has their commands.
func TestStepsUseTheFiles(t *testing.T) {
	for _, d := range All {
		text, err := d.WriteSteps(Standard())
		if err != nil {
			t.Fatal(err)
		}
		steps := string(text)
		if !strings.HasPrefix(regexp.MustCompile(`(?m)^\d\..*`).FindString(steps), "1. ") {
			t.Errorf("%s: the steps are\n%s", d.Name, steps)
		}
		used := map[string]bool{
			PolicyFile: d.Dir != "" && !d.Inline, KubeconfigFile: d.Dir != "" && !d.Inline, CAFile: d.ShowsCertificate() && d.Name != "gardener",
			CertFile: d.ShowsCertificate(), KeyFile: d.ShowsCertificate(), d.SettingsFile(): true,
		}
		for file, want := range used {
			if got := strings.Contains(steps, file); got != want && !strings.Contains(steps, "docker cp . ") {
				t.Errorf("%s: %s is in the steps: %t", d.Name, file, got)
			}
		}
	}
}
