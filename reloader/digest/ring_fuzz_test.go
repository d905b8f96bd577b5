package digest_test

import (
	"bytes"
	"testing"

	"github.com/reroll-dev/reroll/reloader/digest"
)

// FuzzRing reads the keys that stand in the Secret of digest keys, which people may write, too.
func FuzzRing(f *testing.F) {
	f.Add(bytes.Repeat([]byte{1}, digest.KeySize), bytes.Repeat([]byte{2}, digest.KeySize))
	f.Add(bytes.Repeat([]byte{1}, digest.KeySize), bytes.Repeat([]byte{1}, digest.KeySize))
	f.Add([]byte("short"), []byte(nil))
	f.Add([]byte(nil), bytes.Repeat([]byte{2}, 4096))
	content := digest.OfConfigMap(configMap(map[string]string{"a": "1"}, nil))
	f.Fuzz(func(t *testing.T, active, previous []byte) {
		r, err := digest.NewRing(active, previous)
		if err != nil {
			if len(err.Error()) > 256 || len(active) > 7 && bytes.Contains([]byte(err.Error()), active) {
				t.Errorf("the error tells the key: %v", err)
			}
			return
		}
		if len(active) != digest.KeySize || len(previous) != digest.KeySize {
			t.Fatalf("keys of %d and %d bytes are taken", len(active), len(previous))
		}
		now := r.Digest(content)
		old, err := digest.NewRing(previous)
		if err != nil {
			t.Fatal(err)
		}
		was := old.Digest(content)
		if again, known := r.DigestUnder(was.KeyID, content); !known || !again.Equal(was) {
			t.Errorf("the digest of before, %+v, is now %+v", was, again)
		}
		if now.Comparable(was) != bytes.Equal(active, previous) {
			t.Errorf("digests of two keys can be compared: %+v, %+v", now, was)
		}
	})
}
