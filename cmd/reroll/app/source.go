package app

import (
	"fmt"

	"github.com/spf13/pflag"
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

func (s *Settings) bindSource(f *pflag.FlagSet) {
	f.StringVar(&s.Source, "source", sourceAuto, "source of changes: auto (watch the metadata of ConfigMaps and Secrets, and take audit events, which add who made a change), audit (audit events alone, no watch) or watch (the watch alone); the watch leaves out the kind that --resources-to-ignore names, includes SecretProviderClassPodStatuses with --enable-csi-integration, and needs list and watch, a permission that could read Secrets")
}

// completeSource checks the source, and closes the ingest where nothing is to post to it.
func (s *Settings) completeSource(f *pflag.FlagSet, r role) error {
	switch s.Source {
	case sourceAuto:
	case sourceAudit:
		if r.ingest && s.IngestAddress == "" && s.AuditLogPath == "" {
			return fmt.Errorf("--ingest-address is empty: with --source=%s nothing would report changes; give an address or --audit-log-path", sourceAudit)
		}
	case sourceWatch:
		if s.AuditLogPath != "" || s.IngestAddress != "" && f.Changed("ingest-address") {
			return fmt.Errorf("--source=%s takes no audit events: leave out --ingest-address and --audit-log-path, or set --source=%s", sourceWatch, sourceAuto)
		}
		s.IngestAddress = ""
	default:
		return fmt.Errorf("--source: %q is not %s, %s or %s", s.Source, sourceAuto, sourceAudit, sourceWatch)
	}
	return nil
}

// watches reports whether configs are watched.
func (s *Settings) watches() bool { return s.Source != sourceAudit }
