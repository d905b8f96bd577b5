package app

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/ingest"
	"github.com/reroll-dev/reroll/reloader"
)

func TestAuthSettings(t *testing.T) {
	cases := map[string]struct {
		address string
		auth    Auth
		wrong   string
		warns   bool
	}{
		"nobody on loopback":            {address: "127.0.0.1:8080"},
		"nobody on IPv6's loopback":     {address: "[::1]:8080"},
		"nobody on localhost":           {address: "localhost:8080"},
		"nobody on every address":       {address: ":8080", wrong: "--auth=anonymous"},
		"nobody on some address":        {address: "10.0.0.1:8080", wrong: "--auth=token"},
		"nobody on no address":          {address: "8080", wrong: "--auth=none"},
		"anybody":                       {address: ":8080", auth: Auth{Modes: []string{authAnonymous}}, warns: true},
		"tokens":                        {address: "127.0.0.1:8080", auth: Auth{Modes: []string{authToken}, Audiences: []string{"reroll"}}},
		"tokens in clear":               {address: ":8080", auth: Auth{Modes: []string{authToken}}, wrong: "--api-insecure-http"},
		"tokens in clear on purpose":    {address: ":8080", auth: Auth{Modes: []string{authToken}, InsecureHTTP: true}, warns: true},
		"names of an open API":          {address: ":8080", auth: Auth{Modes: []string{authAnonymous}, Hosts: []string{"reroll.example"}}, warns: true},
		"names of a closed API":         {address: "127.0.0.1:1", auth: Auth{Modes: []string{authToken}, Hosts: []string{"reroll.example"}}, wrong: "--api-hosts"},
		"tokens over TLS":               {address: ":8080", auth: Auth{Modes: []string{authToken}, TLSCert: "c", TLSKey: "k"}},
		"tokens and nobody":             {address: ":8080", auth: Auth{Modes: []string{authToken, authAnonymous}}, wrong: "stand alone"},
		"no such way":                   {address: ":8080", auth: Auth{Modes: []string{"basic"}}, wrong: "basic"},
		"a certificate without key":     {address: "127.0.0.1:1", auth: Auth{TLSCert: "c"}, wrong: "--api-tls-key"},
		"certificates":                  {address: ":8080", auth: Auth{Modes: []string{authMTLS}, ClientCA: "ca", TLSCert: "c", TLSKey: "k"}},
		"certificates without CA":       {address: ":8080", auth: Auth{Modes: []string{authMTLS}, TLSCert: "c", TLSKey: "k"}, wrong: "--auth-client-ca"},
		"certificates without TLS":      {address: ":8080", auth: Auth{Modes: []string{authMTLS}, ClientCA: "ca"}, wrong: "--api-tls-cert"},
		"a CA that nobody asks for":     {address: "127.0.0.1:1", auth: Auth{Modes: []string{authToken}, ClientCA: "ca"}, wrong: "--auth=mtls"},
		"a proxy":                       {address: ":8080", auth: Auth{Modes: []string{authRequestHeader}, ProxyCA: "ca", ProxyNames: []string{"p"}, TLSCert: "c", TLSKey: "k"}},
		"a proxy of any name":           {address: ":8080", auth: Auth{Modes: []string{authRequestHeader}, ProxyCA: "ca", TLSCert: "c", TLSKey: "k"}, wrong: "allowed-names"},
		"audiences of what is no token": {address: "127.0.0.1:1", auth: Auth{Audiences: []string{"a"}}, wrong: "--auth-audiences"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := tc.auth.check(tc.address)
			if (err != nil) != (tc.wrong != "") || err != nil && !strings.Contains(err.Error(), tc.wrong) {
				t.Errorf("check: %v, want that it says %q", err, tc.wrong)
			}
			if warning := tc.auth.warning(tc.address); err == nil && (warning != "") != tc.warns {
				t.Errorf("warning %q, want one: %t", warning, tc.warns)
			}
		})
	}
}

func TestRedactedHintsNameNobody(t *testing.T) {
	var stored []reloader.Hint
	sink := redacting{ingest.SinkFunc(func(_ context.Context, hints []reloader.Hint) error {
		stored = hints
		return nil
	})}
	given := []reloader.Hint{{Cluster: "local", AuditID: "a-1", Actor: reloader.Actor{
		User: "alice", AuthenticatedUser: "ci", SourceIP: "10.0.0.7", UserAgent: "kubectl/v1.37", FieldManager: "kubectl-edit",
	}}}
	if err := sink.Put(t.Context(), given); err != nil {
		t.Fatal(err)
	}
	want := []reloader.Hint{{Cluster: "local", AuditID: "a-1", Actor: reloader.Actor{UserAgent: "kubectl/v1.37", FieldManager: "kubectl-edit"}}}
	if diff := cmp.Diff(want, stored); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	if given[0].Actor.User != "alice" {
		t.Error("what was given has changed")
	}
}
