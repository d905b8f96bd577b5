package dialect_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/digest"
)

func TestStakaterHash(t *testing.T) {
	const empty = "da39a3ee5e6b4b0d3255bfef95601890afd80709"
	cases := map[string]struct {
		reason  string
		content digest.Content
		want    string
	}{
		"two entries":   {"as the tool was seen to write", digest.OfConfigMap(&corev1.ConfigMap{Data: annotations{"b": "3", "a": "1"}}), "124b8637e8fbd0a8f4b54eab4887556e41cdaa4d"},
		"one entry":     {"as the tool was seen to write", digest.OfConfigMap(&corev1.ConfigMap{Data: annotations{"x": "2"}}), "31852fecfab75f296caef2c8cf330de833eda546"},
		"empty":         {"SHA-1 of nothing", digest.OfConfigMap(&corev1.ConfigMap{}), empty},
		"empty secret":  {"SHA-1 of nothing", digest.OfSecret(&corev1.Secret{}), empty},
		"secret":        {"raw values, so the same as a ConfigMap's", digest.OfSecret(&corev1.Secret{Data: map[string][]byte{"a": []byte("1"), "b": []byte("3")}}), "124b8637e8fbd0a8f4b54eab4887556e41cdaa4d"},
		"no objects":    {"the class's name is an entry", digest.OfProviderClass("ns", "vault", nil), "10316a93b485aacb8d4d4b8519ecf88ec97cc082"},
		"one object":    {"id=version", digest.OfProviderClass("ns", "vault", map[string]string{"db": "v2"}), "4eef9e88acd4dd16902b700f2d24f9692658b0a6"},
		"another class": {"the same objects", digest.OfProviderClass("ns", "other", map[string]string{"db": "v2"}), "89ea1194c47bc9e4ab133bee1c0076862e50b33d"},
		"objects":       {"sorted as texts, the class's name among them", digest.OfProviderClass("ns", "vault", map[string]string{"db": "v2", "api/key": "v7", "Zone": "1"}), "c48ffee7d541a1b4a7161c8308a62961e276d0dd"},
		"collision":     {"the tool's input is not injective, and its mark must be copied as it is", digest.OfConfigMap(&corev1.ConfigMap{Data: annotations{"a": "1;b=3"}}), "124b8637e8fbd0a8f4b54eab4887556e41cdaa4d"},
		"binary":        {"in base64, so that Mg== is hashed for 2", digest.OfConfigMap(&corev1.ConfigMap{BinaryData: map[string][]byte{"x": []byte("2")}}), "80d6dbcadfacbc689bb719f14ce9dc07cf69a1a8"},
		"secret's type": {"is no content", digest.OfSecret(&corev1.Secret{Type: "Opaque", Data: map[string][]byte{"x": []byte("2")}}), "31852fecfab75f296caef2c8cf330de833eda546"},
	}
	d := dialect.Stakater(dialect.StakaterOptions{})
	for name, c := range cases {
		if got := d.Hash(c.content); got != c.want {
			t.Errorf("%s: hash = %s, want %s: %s", name, got, c.want, c.reason)
		}
	}
}

// other is a second dialect: Stakater's, renamed.
func other() *dialect.Dialect {
	d := dialect.Stakater(dialect.StakaterOptions{Renamed: map[string]string{
		auto: "o/auto", search: "o/search", match: "o/match", ignore: "o/ignore",
		cmAuto: "o/cma", cmList: "o/cm", cmExclude: "o/cmx", secAuto: "o/sa", secList: "o/s", scExclude: "o/sx",
	}})
	d.Name = "other"
	return d
}

func TestPlanOfSeveralDialects(t *testing.T) {
	set := dialect.Set{dialect.Stakater(dialect.StakaterOptions{}), other()}
	got := set.Compile(app(annotations{cmList: "z.*,c,[", "o/auto": "true", "o/search": "x"}, nil))
	if len(got.Enabled) != 2 || got.Enabled[0] != set[0] || len(got.Patterns) != 1 || got.Patterns[0].Namespace != "ns" || len(got.Problems) != 2 {
		t.Errorf("Plan = %+v", got)
	}
	if diff := cmp.Diff([]reloader.Config{cm("c"), sec("s")}, got.Names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if only := got.Only(set[0]); len(only.Enabled) != 1 || len(only.Names) != 1 || len(only.Problems) != 1 {
		t.Errorf("the plan of the first alone = %+v", only)
	}
	if got := set.Compile(app(annotations{"o/cm": "z"}, nil)); len(got.Enabled) != 1 || got.Enabled[0].Name != "other" {
		t.Errorf("Plan = %+v; want that of the second", got)
	}
	if got := set.Compile(app(nil, nil)); got.OptedIn() {
		t.Errorf("Plan = %+v; want none", got)
	}
	if d, ok := set.Named("other"); !ok || d != set[1] {
		t.Error("Named does not find a dialect of the set")
	}
	if _, ok := set.Named("none"); ok {
		t.Error("Named finds what is not there")
	}
}
