package webhook

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"net/http"
	"slices"
	"testing"

	"github.com/reroll-dev/reroll/reloader"
)

// FuzzSender takes any names from a certificate, and any header. Who is let in speaks for clusters alone whose name stands there as a whole, and
// nobody speaks for one by a token that is not in the file.
func FuzzSender(f *testing.F) {
	f.Add("prod", "test.audit.reroll.dev", "Bearer "+secretToken, "")
	f.Add("prod.audit.reroll.dev", "*.audit.reroll.dev", "bearer  "+secretToken, "x")
	f.Add(".audit.reroll.dev", "a.b.audit.reroll.dev", "Basic "+secretToken, secretToken)
	f.Add("prod\x00.audit.reroll.dev", "prod.audit.reroll.dev.", "Bearer", "")
	f.Add("audit.reroll.dev.audit.reroll.dev", "PROD.AUDIT.REROLL.DEV", "Bearer \x00", "")
	known, err := parseTokens([]byte("prod:" + secretToken + "\n"))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, common, alternative, authorization, key string) {
		certificate := &x509.Certificate{Subject: pkix.Name{CommonName: common}, DNSNames: []string{alternative}}
		for _, cluster := range certificateClusters(certificate) {
			named := []string{common, alternative}
			if reloader.ValidateCluster(cluster) != nil || !slices.Contains(named, cluster+certificateDomain) {
				t.Errorf("%q speaks for %q", named, cluster)
			}
		}
		r := &http.Request{Header: http.Header{"Authorization": {authorization}, accessKey: {key}}}
		if secret, sent := bearer(r); sent {
			if cluster := known.cluster(secret); (cluster == "prod") != (secret == secretToken) || cluster != "" && cluster != "prod" {
				t.Errorf("%q is taken for the token of %q", secret, cluster)
			}
		}
	})
}
