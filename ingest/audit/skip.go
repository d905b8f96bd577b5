package audit

// Skip is why an event became no hint of its own.
type Skip string

// The reasons, in the order of the checks.
const (
	// SkipMalformed is an event that is too long, nested too deeply, no JSON object, or has a stage, a verb or an object of the wrong type.
	SkipMalformed Skip = "Malformed"
	// SkipNoEvent is JSON that is not an audit event, or one in an envelope that is not known.
	SkipNoEvent Skip = "NoEvent"
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
	// SkipHelmRelease is an event about a Secret with a Helm release.
	SkipHelmRelease Skip = "HelmRelease"
	// SkipDryRun is an event of a request that asked for nothing to be stored.
	SkipDryRun Skip = "DryRun"
	// SkipBadName is an event with a namespace or name that Kubernetes would not accept, or without one that it needs.
	SkipBadName Skip = "BadName"
	// SkipRepeated is an event that a later one of the same body repeats: same config, verb, actor and certainty.
	SkipRepeated Skip = "Repeated"
)

// Skips lists every reason.
var Skips = []Skip{
	SkipMalformed, SkipNoEvent, SkipStage, SkipNoObject, SkipResource, SkipVerb, SkipMount, SkipFailed, SkipHelmRelease, SkipDryRun,
	SkipBadName, SkipRepeated,
}
