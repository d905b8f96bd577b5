package webhook

import (
	"encoding/pem"
	"os"
	"slices"
	"strings"
	"testing"
)

func readFile(t testing.TB, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// FuzzCAs reads the file of those who sign the certificates of API servers.
func FuzzCAs(f *testing.F) {
	whole := readFile(f, newAuthority(f, "clients").caFile())
	f.Add(whole)
	f.Add(append([]byte("x\n"), whole...))
	f.Add(slices.Concat(whole, whole[:len(whole)/2]))
	f.Add(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("hunter2")}))
	f.Add(pem.EncodeToMemory(&pem.Block{Type: strings.Repeat("PRIVATE KEY ", 20), Bytes: []byte("hunter2")}))
	f.Add([]byte("-----BEGIN CERTIFICATE-----\n"))
	f.Add([]byte(" \n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		pool, err := parseCAs([][]byte{content})
		if (pool == nil) == (err == nil) {
			t.Fatalf("%v, %v", pool, err)
		}
		if err != nil && (len(err.Error()) > 1024 || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("the error has %d bytes: %.100s", len(err.Error()), err)
		}
	})
}
