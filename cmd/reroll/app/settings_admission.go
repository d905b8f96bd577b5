package app

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/reroll-dev/reroll/cmd/reroll/certificate"
)

// Admission says where the admission webhook is, and where its certificate comes from. With an empty address there is none.
type Admission struct {
	Address                   string
	TLSCert, TLSKey, ClientCA string
	Configuration             string
	Hosts                     []string
	CertificateLifetime       time.Duration
}

// defaultLifetime is the default of --admission-certificate-lifetime.
const defaultLifetime = 90 * 24 * time.Hour

func (a *Admission) bind(f *pflag.FlagSet, r role) {
	if r.admit {
		a.bindServer(f, r)
	}
	if r.dispatch {
		f.StringVar(&a.Configuration, "admission-configuration", "", "MutatingWebhookConfiguration of the admission webhook, in which Reroll keeps the secret path and the CA; none if empty")
		f.StringSliceVar(&a.Hosts, "admission-hosts", nil, "admission: names and addresses in the certificate that Reroll makes; default: reroll-admission in Reroll's own namespace, with .svc after it")
		f.DurationVar(&a.CertificateLifetime, "admission-certificate-lifetime", defaultLifetime, "admission: lifetime of a certificate that Reroll makes. It is renewed when a third is left, and its CA lasts twice as long. 0 makes none, for a webhook in another process that has its certificate in files")
	}
}

// bindServer declares the flags of the process that API servers call.
func (a *Admission) bindServer(f *pflag.FlagSet, r role) {
	address, off := "", "; none if empty"
	if !r.dispatch {
		address, off = ":9444", ""
	}
	f.StringVar(&a.Address, "admission-address", address, "address of the admission webhook, which keeps the marks of workloads while others write them"+off)
	f.StringVar(&a.TLSCert, "admission-tls-cert", "", "admission: file of the server certificate; if empty, Reroll makes and renews one")
	f.StringVar(&a.TLSKey, "admission-tls-key", "", "admission: file of the server certificate's key")
	f.StringVar(&a.ClientCA, "admission-tls-client-ca", "", "admission: file of the CAs of client certificates, read again when it changes. API servers must show a certificate, and call at /v1/admit; if empty, they call at a secret path")
}

// check finds what is wrong without looking into files.
func (a *Admission) check(s *Settings, r role) error {
	own := a.TLSCert == ""
	switch {
	case a.Address == "" && r.admitOnly():
		return errors.New("--admission-address is empty: there is nothing else to do")
	case a.Address == "" && a.Configuration == "":
		return nil
	case (a.TLSCert == "") != (a.TLSKey == ""):
		return errors.New("--admission-tls-cert and --admission-tls-key go together")
	case a.ClientCA != "" && own:
		return errors.New("--admission-tls-client-ca needs --admission-tls-cert and --admission-tls-key")
	case r.dispatch && a.CertificateLifetime < certificate.MinLifetime && (a.CertificateLifetime != 0 || own && a.Address != ""):
		return fmt.Errorf("--admission-certificate-lifetime: %s is shorter than %s", a.CertificateLifetime, certificate.MinLifetime)
	case s.WebhookURL != "":
		return errors.New("--admission-address has no use beside --webhook-url, with which no marks are written")
	case s.DryRun && (a.ClientCA == "" || a.Configuration != ""):
		return errors.New("--admission-address needs --admission-tls-client-ca in a dry run, which publishes no secret path, and no --admission-configuration")
	case r.dispatch && a.ClientCA == "" && a.Configuration == "":
		return errors.New("--admission-configuration is empty, so that no API server learns the secret path. Name the MutatingWebhookConfiguration, or require client certificates by --admission-tls-client-ca")
	}
	return nil
}

// checkAdmission completes and checks the settings of the admission webhook. Those that a dispatcher has as well are that already.
func (s *Settings) checkAdmission(f *pflag.FlagSet, r role) error {
	if r.admitOnly() {
		if err := errors.Join(s.checkMarks(), s.completeStakater(f, r)); err != nil {
			return err
		}
	}
	return s.Admission.check(s, r)
}
