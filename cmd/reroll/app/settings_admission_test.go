package app

import (
	"strings"
	"testing"
)

// TestAdmissionSettings: what goes together, and what the role that does nothing else needs: no NATS, and an address.
func TestAdmissionSettings(t *testing.T) {
	for name, tc := range map[string]struct {
		role, args, want string
	}{
		"off by default":         {"serve", "", ""},
		"on its own":             {"admission", "", ""},
		"on its own, nowhere":    {"admission", "--admission-address=", "nothing else to do"},
		"on its own, for nobody": {"admission", "--dialects=nobody", "--dialects"},
		"beside the dispatcher":  {"serve", "--admission-address=:9444 --admission-configuration=reroll", ""},
		"half a certificate":     {"serve", "--admission-address=:9444 --admission-tls-cert=tls.crt", "go together"},
		"too short a life":       {"serve", "--admission-address=:9444 --admission-certificate-lifetime=1s", "shorter than 10s"},
		"no certificate at all":  {"serve", "--admission-address=:9444 --admission-configuration=reroll --admission-certificate-lifetime=0", "shorter than 10s"},
		"of another process":     {"dispatch", "--nats-url=nats://n --cluster-name=c --admission-configuration=reroll --admission-certificate-lifetime=0", ""},
		"called by nobody":       {"serve", "--admission-address=:9444", "--admission-configuration is empty"},
		"by client certificate":  {"serve", "--admission-address=:9444 --admission-tls-cert=c --admission-tls-key=k --admission-tls-client-ca=a", ""},
		"a CA and no files":      {"serve", "--admission-address=:9444 --admission-tls-client-ca=a", "needs --admission-tls-cert"},
		"instead of rolls":       {"serve", "--admission-address=:9444 --webhook-url=https://example.com", "no marks are written"},
		"nothing may be stored":  {"serve", "--admission-address=:9444 --dry-run", "publishes no secret path"},
		"a dry run of its own":   {"serve", "--admission-address=:9444 --dry-run --admission-tls-cert=c --admission-tls-key=k --admission-tls-client-ca=a", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := settingsOf(t, tc.role, strings.Fields(tc.args)...)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
	s, err := settingsOf(t, "admission", "--namespaces-to-ignore=infra")
	if err != nil || s.admits("infra") || !s.admits("shop") {
		t.Errorf("settings %+v, error %v", s.Admission, err)
	}
	if s, err = settingsOf(t, "admission", "--namespaces=shop"); err != nil || s.admits("infra") || !s.admits("shop") {
		t.Errorf("namespaces %v, error %v", s.Namespaces, err)
	}
}
