package canary

import (
	"fmt"

	"github.com/reroll-dev/reroll/reloader"
)

// report logs f, and returns the reason why hints may have been lost; empty if they cannot have been.
func (c *Canary) report(kind reloader.ConfigKind, f finding) (reason string) {
	log := c.Logger.With("apiserver", f.address, "kind", kind)
	if f.lost {
		log.Warn("a canary was lost", "likelyCause", "the API server has dropped a batch of audit events: see apiserver_audit_error_total there")
		reason = "a canary was lost"
	}
	switch {
	case f.state == f.from:
	case f.state == notSetUp:
		log.Info("the audit feed is not set up", "author", "the field manager of the config")
	case f.state == silent:
		log.Warn("the audit feed is silent", "likelyCause", silenceCause(kind, f))
		reason = "the audit feed is silent"
	case f.state == refused:
		log.Warn("the canary is refused", "error", f.refusal, "likelyCause",
			fmt.Sprintf("the API server is away or cannot be reached from here, or patch of %s reroll-canary is not granted", kind))
		reason = "an API server refuses the canary"
	case f.state == heard && (f.from == waiting || f.from == notSetUp):
		log.Info("the audit feed works")
	case f.state == heard:
		log.Info("the audit feed is back")
		reason = "the audit feed is back"
	}
	return reason
}

// silenceCause returns the most frequent cause of a silence: of one that follows canaries that came back, and of one from the beginning.
func silenceCause(kind reloader.ConfigKind, f finding) string {
	if !f.returned.IsZero() {
		return "the API server cannot reach the ingest any more: network, certificate, URL; see apiserver_audit_error_total there"
	}
	return fmt.Sprintf("the audit policy, or the filter of a log shipper, leaves out %ss of Reroll's namespace, or the API server has no --audit-webhook-config-file for this cluster name", kind)
}
