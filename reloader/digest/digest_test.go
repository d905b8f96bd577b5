package digest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/digest"
)

func key(b byte) digest.Key { return bytes.Repeat([]byte{b}, digest.KeySize) }

func ring(t testing.TB, keys ...digest.Key) *digest.Ring {
	t.Helper()
	r, err := digest.NewRing(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func configMap(data map[string]string, binary map[string][]byte) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x"}, Data: data, BinaryData: binary}
}

func secret(data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x"}, Data: data}
}

// ofFields returns the content of a made-up kind.
func ofFields(t *testing.T, text string) digest.Content {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	table, kinds := reloader.ConfigKindTable, reloader.ConfigKinds
	defer func() { reloader.ConfigKindTable, reloader.ConfigKinds = table, kinds }()
	reloader.ConfigKindTable = []reloader.ConfigKindInfo{{Kind: "MadeUp", Content: []string{"spec", "other"}}}
	reloader.ConfigKinds = []reloader.ConfigKind{"MadeUp"}
	return digest.OfFields(reloader.Config{Kind: "MadeUp", Namespace: "ns", Name: "x"}, object)
}

// TestDigestOfFields: what is not content, and how it is written, does not count.
func TestDigestOfFields(t *testing.T) {
	r := ring(t, key(1))
	want := r.Digest(ofFields(t, `{"spec": {"a": {"x": 1, "y": [true]}, "b": "<"}}`))
	for name, text := range map[string]string{
		"another order":   `{"spec": {"b": "\u003c", "a": {"y": [true], "x": 1}}}`,
		"a status":        `{"spec": {"a": {"x": 1, "y": [true]}, "b": "<"}, "status": {"ready": true}, "metadata": {"generation": 2}}`,
		"an empty field":  `{"spec": {"a": {"x": 1, "y": [true]}, "b": "<"}, "other": {}}`,
		"a field of null": `{"spec": {"a": {"x": 1, "y": [true]}, "b": "<"}, "other": null}`,
	} {
		if got := r.Digest(ofFields(t, text)); !got.Equal(want) {
			t.Errorf("%s changes the digest", name)
		}
	}
	changed := digest.Diff(want, r.Digest(ofFields(t, `{"spec": {"a": {"x": 2, "y": [true]}, "b": "<"}, "other": {"a": 1}}`)))
	if diff := cmp.Diff([]reloader.KeyChange{{Key: "other.a", Op: reloader.KeyAdded}, {Key: "spec.a", Op: reloader.KeyChanged}}, changed); diff != "" {
		t.Errorf("changed keys (-want +got):\n%s", diff)
	}
}

func TestDigestTellsContentsApart(t *testing.T) {
	named := func(namespace, name string) *corev1.ConfigMap {
		cm := configMap(map[string]string{"a": "1"}, nil)
		cm.Namespace, cm.Name = namespace, name
		return cm
	}
	contents := map[string]digest.Content{
		"empty":                           digest.OfConfigMap(configMap(nil, nil)),
		"two entries":                     digest.OfConfigMap(configMap(map[string]string{"a": "1", "b": "3"}, nil)),
		"one that looks like two":         digest.OfConfigMap(configMap(map[string]string{"a": "1;b=3"}, nil)),
		"key and value shifted":           digest.OfConfigMap(configMap(map[string]string{"a1": ""}, nil)),
		"one entry":                       digest.OfConfigMap(configMap(map[string]string{"a": "1"}, nil)),
		"the same bytes as binary":        digest.OfConfigMap(configMap(nil, map[string][]byte{"a": []byte("1")})),
		"the same entry in a secret":      digest.OfSecret(secret(map[string][]byte{"a": []byte("1")})),
		"the same entry in another":       digest.OfConfigMap(named("ns", "y")),
		"the same entry in another space": digest.OfConfigMap(named("ns2", "x")),
		"data and binary of one key each": digest.OfConfigMap(configMap(map[string]string{"a": "1"}, map[string][]byte{"b": []byte("2")})),
		"objects":                         digest.OfProviderClass("ns", "x", map[string]string{"a": "1"}),
		"no objects":                      digest.OfProviderClass("ns", "x", nil),
	}
	fields := map[string]string{
		"no fields":                    `{}`,
		"a field":                      `{"spec": {"a": "1"}}`,
		"a number":                     `{"spec": {"a": 1}}`,
		"null":                         `{"spec": {"a": null}}`,
		"the empty key":                `{"spec": {"": "1"}}`,
		"a field without keys":         `{"spec": "1"}`,
		"an empty text":                `{"spec": ""}`,
		"a list":                       `{"spec": ["1"]}`,
		"two fields":                   `{"spec": {"a": "1", "b": "2"}}`,
		"one that holds two":           `{"spec": {"a": {"a": "1", "b": "2"}}}`,
		"a key with a dot":             `{"spec": {"a.b": "2"}}`,
		"an object in a field":         `{"spec": {"a": {"b": "2"}}}`,
		"the same key of another":      `{"other": {"a": "1"}}`,
		"the same key of both":         `{"spec": {"a": "1"}, "other": {"a": "1"}}`,
		"a text that looks like JSON":  `{"spec": {"a": "\"1\""}}`,
		"a text that looks like two":   `{"spec": {"a": "1\",\"b\":\"2"}}`,
		"a text that looks like a map": `{"spec": {"a": "{\"b\":\"2\"}"}}`,
	}
	for name, text := range fields {
		contents["other kind: "+name] = ofFields(t, text)
	}
	r := ring(t, key(1))
	seen := map[string]string{}
	for name, c := range contents {
		d := r.Digest(c)
		if other, ok := seen[d.Sum]; ok {
			t.Errorf("%q and %q have the same sum", name, other)
		}
		seen[d.Sum] = name
		if len(d.Sum) != 64 || d.KeyID != key(1).ID() {
			t.Errorf("%s: %+v is no digest of the active key", name, d)
		}
	}
}

func TestRing(t *testing.T) {
	bad := map[string][]digest.Key{
		"no key":    nil,
		"short key": {key(1)[:31]},
		"long key":  {append(key(1), 0)},
		"repeated":  {key(1), key(2), key(1)},
	}
	for name, keys := range bad {
		if r, err := digest.NewRing(keys...); err == nil {
			t.Errorf("%s: NewRing = %v, want an error", name, r)
		}
	}

	c := digest.OfSecret(secret(map[string][]byte{"a": []byte("1")}))
	before, during := ring(t, key(1)), ring(t, key(2), key(1))
	if !during.Knows(key(2).ID()) || !during.Knows(key(1).ID()) || during.Knows(key(3).ID()) {
		t.Error("the ring does not know its keys")
	}
	if during.Digest(c).Comparable(before.Digest(c)) {
		t.Error("digests under two keys are comparable")
	}
	again, ok := during.DigestUnder(key(1).ID(), c)
	if !ok || !again.Equal(before.Digest(c)) {
		t.Errorf("DigestUnder(old key) = %+v, %v; want what the old ring made", again, ok)
	}
	if _, ok := during.DigestUnder(key(3).ID(), c); ok {
		t.Error("DigestUnder made a digest under a key that the ring does not have")
	}
}

func TestDiff(t *testing.T) {
	of := func(keyID string, keys map[string]string) reloader.Digest {
		return reloader.Digest{KeyID: keyID, Sum: fmt.Sprint(keys), Keys: reloader.KeySums(keys)}
	}
	old := of("k", map[string]string{"a": "1", "b": "1", "d": "1"})
	cases := map[string]struct {
		reason   string
		old, new reloader.Digest
		want     []reloader.KeyChange
	}{
		"every operation": {
			reason: "sorted by key, whatever the operation", old: old, new: of("k", map[string]string{"c": "1", "b": "2", "d": "1"}),
			want: []reloader.KeyChange{{Key: "a", Op: reloader.KeyRemoved}, {Key: "b", Op: reloader.KeyChanged}, {Key: "c", Op: reloader.KeyAdded}},
		},
		"equal":     {reason: "nothing changed", old: old, new: old},
		"other key": {reason: "fingerprints under two keys say nothing", old: old, new: of("k2", map[string]string{"a": "9"})},
		"gone": {
			reason: "a config that is gone has lost its keys", old: of("k", map[string]string{"a": "1"}),
			want: []reloader.KeyChange{{Key: "a", Op: reloader.KeyRemoved}},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, digest.Diff(c.old, c.new)); diff != "" {
				t.Errorf("%s:\n%s", c.reason, diff)
			}
		})
	}
}

func TestContentAndKeysCannotBePrinted(t *testing.T) {
	const canary = "hunter2"
	c := digest.OfSecret(secret(map[string][]byte{"password": []byte(canary)}))
	k := digest.Key(bytes.Repeat([]byte("k"), digest.KeySize))
	holder := struct {
		C digest.Content
		P *digest.Content
		K digest.Key
	}{c, &c, k}
	var out strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
		for _, v := range []any{c, &c, k, holder, []any{c, k}} {
			fmt.Fprintf(&out, verb+"\n", v)
		}
	}
	for _, h := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(h).Info("m", "content", c, "key", k, "holder", holder)
	}
	for _, v := range []any{c, k, holder} {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(data)
	}
	out.WriteString(c.String() + k.String())
	leaks := []string{canary, fmt.Sprintf("%x", canary), fmt.Sprintf("%X", canary), fmt.Sprint([]byte(canary)), "password", "kkkk", "6b6b", "107 107", "a2tr"}
	for _, leak := range leaks {
		if strings.Contains(out.String(), leak) {
			t.Errorf("output contains %q:\n%s", leak, out.String())
		}
	}
}

// FuzzDigestIsInjective compares the equality of two contents, each of two entries, with that of their digests.
func FuzzDigestIsInjective(f *testing.F) {
	f.Add("a", "1;b=3", "", "", "a", "1", "b", "3")
	f.Add("a", "1", "b", "2", "b", "2", "a", "1")
	f.Add("ab", "c", "d", "", "a", "bc", "d", "")
	r := ring(f, key(7))
	f.Fuzz(func(t *testing.T, k1, v1, k2, v2, l1, w1, l2, w2 string) {
		a, b := map[string]string{k1: v1, k2: v2}, map[string]string{l1: w1, l2: w2}
		da, db := r.Digest(digest.OfConfigMap(configMap(a, nil))), r.Digest(digest.OfConfigMap(configMap(b, nil)))
		same := cmp.Equal(a, b)
		if da.Equal(db) != same {
			t.Errorf("contents equal: %v, digests equal: %v", same, da.Equal(db))
		}
		if (len(digest.Diff(da, db)) == 0) != same {
			t.Errorf("contents equal: %v, but the difference is %v", same, digest.Diff(da, db))
		}
	})
}
