package audit

// Skip is why an event became no hint of its own.
type Skip string

// The reasons, in the order in which they are tried.
const (
	// SkipMalformed is an event that is null, no object, or has a field of the wrong type.
	SkipMalformed Skip = "Malformed"
	// SkipStage is an event before the end of its request.
	SkipStage Skip = "Stage"
	// SkipNoObject is an event about no object.
	SkipNoObject Skip = "NoObject"
	// SkipResource is an event about something other than a ConfigMap, a Secret or a SecretProviderClassPodStatus.
	SkipResource Skip = "Resource"
	// SkipVerb is an event of a request that reads.
	SkipVerb Skip = "Verb"
	// SkipMount is the creation or deletion of a SecretProviderClassPodStatus: a pod mounts its class or goes, and nothing rotates.
	SkipMount Skip = "Mount"
	// SkipFailed is an event of a request that was refused, so that nothing was stored.
	SkipFailed Skip = "Failed"
	// SkipDryRun is an event of a request that asked for nothing to be stored.
	SkipDryRun Skip = "DryRun"
	// SkipHelmRelease is an event about a Secret in which Helm stores a release.
	SkipHelmRelease Skip = "HelmRelease"
	// SkipBadTime is an event without a readable time.
	SkipBadTime Skip = "BadTime"
	// SkipBadName is an event with a namespace or name that Kubernetes would not accept, or without one that it needs.
	SkipBadName Skip = "BadName"
	// SkipRepeated is an event that a later one of the same body repeats: same config, verb, actor and certainty.
	SkipRepeated Skip = "Repeated"
)

// Skips lists every reason.
var Skips = []Skip{
	SkipMalformed, SkipStage, SkipNoObject, SkipResource, SkipVerb, SkipMount, SkipFailed, SkipDryRun, SkipHelmRelease, SkipBadTime,
	SkipBadName, SkipRepeated,
}
