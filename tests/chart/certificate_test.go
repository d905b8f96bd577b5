package chart_test

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

const (
	serves = x509.ExtKeyUsageServerAuth
	asks   = x509.ExtKeyUsageClientAuth
)

// shell runs a script in a folder with the machine's sh and openssl.
func shell(t *testing.T, dir, script string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-euc", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PKI="+dir, "ROLES="+filepath.Join(dir, "roles"))
	if _, err := output(cmd); err != nil {
		t.Fatal(err)
	}
}

// checkPair verifies that leaf.crt and leaf.key belong together, and that authority.crt vouches for the name and the usage.
func checkPair(t *testing.T, authority, leaf string, usage x509.ExtKeyUsage, name string) {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(leaf+".crt", leaf+".key")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pair.Leaf.Verify(verifyOptions(t, authority, usage, name)); err != nil {
		t.Errorf("%s: %v", leaf, err)
	}
	other := serves
	if usage == serves {
		other = asks
	}
	if _, err := pair.Leaf.Verify(verifyOptions(t, authority, other, name)); err == nil {
		t.Errorf("%s may be used the other way round as well", leaf)
	}
}

func verifyOptions(t *testing.T, authority string, usage x509.ExtKeyUsage, name string) x509.VerifyOptions {
	t.Helper()
	text, err := os.ReadFile(authority + ".crt")
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		t.Fatalf("%s.crt holds no certificate", authority)
	}
	return x509.VerifyOptions{Roots: roots, DNSName: name, KeyUsages: []x509.ExtKeyUsage{usage}}
}
