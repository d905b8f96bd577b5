package app

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/reroll-dev/reroll/cmd/reroll/certificate"
)

// Values of --source: what reports changes.
const (
	// sourceAuto watches configs, and takes audit events, which add who made a change.
	sourceAuto = "auto"
	// sourceAudit takes audit events alone, so that no permission to list Secrets is needed.
	sourceAudit = "audit"
	// sourceWatch watches configs alone.
	sourceWatch = "watch"
)

// ingestLifetime is the default of --ingest-tls-lifetime, and ingestCALifetime how long the CA is valid: its certificates lie in files of control
// planes.
const (
	ingestLifetime   = 90 * 24 * time.Hour
	ingestCALifetime = 10 * 365 * 24 * time.Hour
)

func (s *Settings) bindSource(f *pflag.FlagSet, r role) {
	service, none := "", "; none if empty"
	if r.ingest {
		service, none = "reroll-ingest", ""
	}
	f.StringVar(&s.IngestService, "ingest-service", service, "Service of ingest, for which Reroll makes and renews a certificate unless that comes from a file: the CA and its key are kept in the Secret NAME-ca, the certificate in NAME-tls"+none)
	f.StringSliceVar(&s.IngestTLSHosts, "ingest-tls-hosts", nil, "names and addresses in the certificate of ingest that Reroll makes, besides the Service's")
	f.DurationVar(&s.IngestTLSLifetime, "ingest-tls-lifetime", ingestLifetime, "lifetime of the certificate of ingest that Reroll makes. It is renewed when a third is left; its CA lasts ten years")
	f.StringVar(&s.Source, "source", sourceAuto, "source of changes: auto (watch the metadata of ConfigMaps and Secrets, and take audit events, which add who made a change), audit (audit events alone, no watch) or watch (the watch alone); the watch leaves out the kind that --resources-to-ignore names, includes SecretProviderClassPodStatuses with --enable-csi-integration, and needs list and watch, a permission that could read Secrets")
}

// completeSource checks the source, and closes the ingest where nothing is to post to it.
func (s *Settings) completeSource(f *pflag.FlagSet, r role) error {
	switch s.Source {
	case sourceAuto:
	case sourceAudit:
		if r.ingest && s.IngestAddress == "" {
			return fmt.Errorf("--ingest-address is empty: with --source=%s nothing would report changes; give an address", sourceAudit)
		}
		if s.DryRun && s.IngestAddress != "" && s.IngestTLSCert == "" && !s.IngestInsecureHTTP && r.ingest {
			return errors.New("--source=audit in a dry run needs --ingest-tls-cert: a dry run makes no certificate")
		}
	case sourceWatch:
		if s.IngestAddress != "" && f.Changed("ingest-address") {
			return fmt.Errorf("--source=%s takes no audit events: leave out --ingest-address, or set --source=%s", sourceWatch, sourceAuto)
		}
		s.IngestAddress = ""
	default:
		return fmt.Errorf("--source: %q is not %s, %s or %s", s.Source, sourceAuto, sourceAudit, sourceWatch)
	}
	if s.IngestTLSLifetime < certificate.MinLifetime {
		return fmt.Errorf("--ingest-tls-lifetime: %s is less than %s", s.IngestTLSLifetime, certificate.MinLifetime)
	}
	if r.ingest && s.DryRun && s.ownCertificate() {
		s.IngestAddress = ""
		s.Warnings = append(s.Warnings, "no audit events are taken in a dry run without --ingest-tls-cert: a dry run makes no certificate")
	}
	return nil
}

// ownCertificate reports whether a process that takes audit events shows a certificate that Reroll makes.
func (s *Settings) ownCertificate() bool {
	return s.IngestAddress != "" && s.IngestService != "" && s.IngestTLSCert+s.IngestTLSKey+s.IngestTLSClientCA == "" && !s.IngestInsecureHTTP
}

// makesCertificate reports whether a role keeps the certificate of ingest, for itself or for other processes.
func (s *Settings) makesCertificate(r role) bool {
	return r.dispatch && s.IngestService != "" && s.Source != sourceWatch && !s.DryRun && (!r.ingest || s.ownCertificate())
}

// watches reports whether configs are watched.
func (s *Settings) watches() bool { return s.Source != sourceAudit }
