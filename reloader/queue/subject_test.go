package queue

import (
	"errors"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/reloader"
)

func TestSubjects(t *testing.T) {
	long := strings.Repeat("a.", 126) + "a"
	cases := map[string]struct {
		config reloader.Config
		want   string
		reason string
	}{
		"plain": {
			config: reloader.Config{Kind: reloader.ConfigMap, Namespace: "shop", Name: "prices"},
			want:   "reroll.hint.blue.configmap.shop.prices", reason: "plain names stay readable",
		},
		"dots": {
			config: reloader.Config{Kind: reloader.Secret, Namespace: "shop", Name: "tls.example.com"},
			want:   "reroll.hint.blue.secret.shop.tls=2Eexample=2Ecom", reason: "a name is one token",
		},
		"namespace": {
			config: reloader.Config{Kind: reloader.Secret, Namespace: "shop"},
			want:   "reroll.hint.blue.secret.shop._", reason: "a nameless hint is about every config of the namespace",
		},
		"provider classes": {
			config: reloader.Config{Kind: reloader.SecretProviderClass, Namespace: "shop"},
			want:   "reroll.hint.blue.secretproviderclass.shop._", reason: "hints about them never have a name",
		},
		"provider class": {
			config: reloader.Config{Kind: reloader.SecretProviderClass, Namespace: "shop", Name: "vault"},
			want:   "reroll.hint.blue.secretproviderclass.shop.vault", reason: "changes of them do",
		},
		"longest": {
			config: reloader.Config{Kind: reloader.ConfigMap, Namespace: strings.Repeat("n", 63), Name: long},
			want:   "reroll.hint.blue.configmap." + strings.Repeat("n", 63) + "." + strings.ReplaceAll(long, ".", "=2E"), reason: "the longest names fit",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := configSubject(hintPrefix, "blue", c.config)
			if err != nil || got != c.want {
				t.Fatalf("subject %q, %v; want %q: %s", got, err, c.want, c.reason)
			}
			p, err := parseSubject(hintPrefix, got)
			if err != nil || p.cluster != "blue" {
				t.Fatalf("parsed %+v, %v", p, err)
			}
			if back, err := p.config(); err != nil || back != c.config {
				t.Fatalf("parsed %+v, %v; want %+v", back, err, c.config)
			}
		})
	}
}

func TestSubjectsOfInvalidNames(t *testing.T) {
	cases := map[string]struct {
		prefix, cluster string
		config          reloader.Config
	}{
		"wildcard":              {hintPrefix, "blue", reloader.Config{Kind: reloader.Secret, Namespace: "shop", Name: ">"}},
		"star as a namespace":   {hintPrefix, "blue", reloader.Config{Kind: reloader.Secret, Namespace: "*", Name: "a"}},
		"line end":              {hintPrefix, "blue", reloader.Config{Kind: reloader.Secret, Namespace: "shop", Name: "a\r\nPUB x"}},
		"too long":              {hintPrefix, "blue", reloader.Config{Kind: reloader.Secret, Namespace: "shop", Name: strings.Repeat("a", 254)}},
		"underscore as a name":  {hintPrefix, "blue", reloader.Config{Kind: reloader.Secret, Namespace: "shop", Name: "_"}},
		"cluster of two tokens": {hintPrefix, "blue.green", config("a")},
		"no cluster":            {hintPrefix, "", config("a")},
		"unknown kind":          {hintPrefix, "blue", reloader.Config{Kind: "Pod", Namespace: "shop", Name: "a"}},
		"nameless change":       {changePrefix, "blue", reloader.Config{Kind: reloader.Secret, Namespace: "shop"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got, err := configSubject(c.prefix, c.cluster, c.config); !errors.Is(err, reloader.ErrInvalidName) {
				t.Errorf("subject %q, %v; want ErrInvalidName", got, err)
			}
		})
	}
}

func TestParseSubjectRefuses(t *testing.T) {
	for _, s := range []string{
		"reroll.hint.blue.configmap.shop", "reroll.hint.blue.configmap.shop.a.b", "reroll.change.blue.configmap.shop.a",
		"reroll.hint.blue.configmap.shop.=2e", "reroll.hint.blue.configmap.shop.=61", "reroll.hint.blue.configmap.shop.=2",
		"reroll.hint.blue.configmap._.a", "reroll.hint.blue.configmap..a", "reroll.hint.blue.configmap.shop.A", "",
	} {
		if p, err := parseSubject(hintPrefix, s); err == nil {
			t.Errorf("%q was parsed as %+v", s, p)
		}
	}
}

func FuzzEscape(f *testing.F) {
	for _, s := range []string{"", "_", "a.b", "=", "=2E", "a>b", "*", "\x00\xff", "Ä", strings.Repeat(".", 253)} {
		f.Add(s, "a=2Eb")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		x, y := escape(a), escape(b)
		if (a == b) != (x == y) {
			t.Fatalf("%q and %q became %q and %q", a, b, x, y)
		}
		if x == everyName || strings.ContainsAny(x, ".*> \t\r\n_") || len(x) > 3*len(a) {
			t.Fatalf("%q became %q, which is not a token", a, x)
		}
		if back, err := unescape(x); err != nil || back != a {
			t.Fatalf("%q became %q and came back as %q, %v", a, x, back, err)
		}
		if back, err := unescape(a); err == nil && escape(back) != a {
			t.Fatalf("%q was read as %q, which is written %q", a, back, escape(back))
		}
	})
}

func FuzzConfigSubject(f *testing.F) {
	f.Add("blue", "ConfigMap", "shop", "a.b")
	f.Add("blue", "Secret", "shop", "")
	f.Add("b", "SecretProviderClass", "shop", "vault")
	f.Add("b", "Secret", "*", ">")
	f.Fuzz(func(t *testing.T, cluster, kind, namespace, name string) {
		c := reloader.Config{Kind: reloader.ConfigKind(kind), Namespace: namespace, Name: name}
		subject, err := configSubject(hintPrefix, cluster, c)
		if err != nil {
			return
		}
		if len(subject) > 1024 {
			t.Fatalf("%d bytes of subject come near the protocol's limit", len(subject))
		}
		p, err := parseSubject(hintPrefix, subject)
		if err != nil || p.cluster != cluster {
			t.Fatalf("%q was parsed as %+v, %v", subject, p, err)
		}
		if back, err := p.config(); err != nil || back != c {
			t.Fatalf("%+v came back as %+v, %v", c, back, err)
		}
	})
}
