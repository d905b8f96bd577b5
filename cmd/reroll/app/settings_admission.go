package app

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/reroll-dev/reroll/admission/certificate"
)

// Admission says where the admission webhook is, and where its certificate comes from. With an empty address there is none.
type Admission struct {
	Address                   string
	TLSCert, TLSKey, ClientCA string
	Configuration             string
	Hosts                     []string
	CertificateLifetime       time.Duration
	HoldScheduling            bool
	RefuseUnexpectedHash      bool
}

// defaultLifetime is the default of --admission-certificate-lifetime.
const defaultLifetime = 90 * 24 * time.Hour

func (a *Admission) bind(f *pflag.FlagSet, r role) {
	address, off := "", "; none if empty"
	if !r.dispatch {
		address, off = ":9444", ""
	}
	f.StringVar(&a.Address, "admission-address", address, "address of the admission webhook, which keeps the marks of workloads while others write them"+off)
	f.StringVar(&a.TLSCert, "admission-tls-cert", "", "admission: file of the server certificate; Reroll makes and renews one if empty")
	f.StringVar(&a.TLSKey, "admission-tls-key", "", "admission: file of the server certificate's key")
	f.StringVar(&a.ClientCA, "admission-tls-client-ca", "", "admission: file of the CAs of client certificates, for API servers that show one, read again when it changes; whoever reaches the address may ask if empty")
	f.StringVar(&a.Configuration, "admission-configuration", "reroll", "admission: the MutatingWebhookConfiguration that is kept trusting the certificate that Reroll makes")
	f.StringSliceVar(&a.Hosts, "admission-hosts", nil, "admission: names and addresses for which the certificate is that Reroll makes; default: reroll-admission in Reroll's own namespace, with .svc after it")
	f.BoolVar(&a.HoldScheduling, "admission-hold-scheduling", false, "admission: keep the pods of a workload of Wave from being scheduled that is created before every config is there that they need, until it is")
	f.BoolVar(&a.RefuseUnexpectedHash, "admission-refuse-unexpected-hash", false, "admission: refuse a request that writes the hash on a workload of SAP's pod-reloader which it expects, if the configs have another, as that does; otherwise the request gets a warning")
	f.DurationVar(&a.CertificateLifetime, "admission-certificate-lifetime", defaultLifetime, "admission: how long a certificate that Reroll makes is valid; it is renewed when a third of that is left, and its CA lasts twice as long")
}

// check finds what is wrong without looking into files.
func (a *Admission) check(s *Settings, r role) error {
	switch {
	case a.Address == "" && r.admitOnly():
		return errors.New("--admission-address is empty: there is nothing else to do")
	case a.Address == "":
		return nil
	case (a.TLSCert == "") != (a.TLSKey == ""):
		return errors.New("--admission-tls-cert and --admission-tls-key go together")
	case a.CertificateLifetime < certificate.MinLifetime:
		return fmt.Errorf("--admission-certificate-lifetime: %s is shorter than %s", a.CertificateLifetime, certificate.MinLifetime)
	case a.TLSCert == "" && a.Configuration == "":
		return errors.New("--admission-configuration is empty: who is to trust the certificate? Give --admission-tls-cert and --admission-tls-key for one of your own")
	case s.WebhookURL != "":
		return errors.New("--admission-address has no use beside --webhook-url, with which no marks are written")
	case a.TLSCert == "" && s.DryRun:
		return errors.New("--admission-address needs --admission-tls-cert and --admission-tls-key in a dry run, which stores no certificate")
	}
	return nil
}

// checkAdmission completes and checks the settings of the admission webhook. Those that a dispatcher has as well are that already.
func (s *Settings) checkAdmission(f *pflag.FlagSet, r role) error {
	if r.admitOnly() {
		if err := errors.Join(s.checkMarks(), s.Tools.Check(), s.completeStakater(f, r)); err != nil {
			return err
		}
	}
	return s.Admission.check(s, r)
}
