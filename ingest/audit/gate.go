package audit

import (
	"bytes"
	"net/http"
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

// helmReleasePrefix begins the names of the Secrets in which Helm 3 and 4 store their releases.
const helmReleasePrefix = "sh.helm.release.v1."

// providerClassGroup is the API group of the Secrets Store CSI driver. What a SecretProviderClass mounts changes when its driver
// updates a SecretProviderClassPodStatus; an event tells that object's name alone, and not the class's.
const providerClassGroup = "secrets-store.csi.x-k8s.io"

// gate returns why e cannot have changed a config, or nothing if it can. In doubt, it can.
func gate(e *event, opts *Options) Skip {
	switch {
	case e.malformed:
		return SkipMalformed
	case len(e.stage) == 0:
		return SkipNoEvent
	case !isLastStage(e.stage):
		return SkipStage
	case !e.hasObject:
		return SkipNoObject
	case configKind(&e.object) == "":
		return SkipResource
	case mutatingVerb(e.verb) == "":
		return SkipVerb
	case isMount(e):
		return SkipMount
	case !mayHaveStored(e):
		return SkipFailed
	case isDryRun(e):
		return SkipDryRun
	case !opts.KeepHelmReleases && isHelmRelease(&e.object):
		return SkipHelmRelease
	}
	return ""
}

func isLastStage(stage []byte) bool {
	return string(stage) == "ResponseComplete" || string(stage) == "Panic"
}

// configKind returns the kind of config that ref names or tells about, or nothing. Neither configs nor SecretProviderClassPodStatuses
// have subresources.
func configKind(ref *objectRef) reloader.ConfigKind {
	if len(ref.subresource) != 0 {
		return ""
	}
	if string(ref.apiGroup) == providerClassGroup && string(ref.resource) == "secretproviderclasspodstatuses" {
		return reloader.SecretProviderClass // whichever version of the group was written: all are one object
	}
	if len(ref.apiGroup) != 0 || string(ref.apiVersion) != "v1" {
		return ""
	}
	switch string(ref.resource) {
	case "configmaps":
		return reloader.ConfigMap
	case "secrets":
		return reloader.Secret
	}
	return ""
}

// isMount reports whether e is about a SecretProviderClassPodStatus that begins or ends with its pod.
func isMount(e *event) bool {
	if configKind(&e.object) != reloader.SecretProviderClass {
		return false
	}
	verb := mutatingVerb(e.verb)
	return verb != reloader.VerbUpdate && verb != reloader.VerbPatch
}

// mutatingVerb returns the verb of a request that can change configs, or nothing.
func mutatingVerb(verb []byte) reloader.Verb {
	switch string(verb) {
	case "create":
		return reloader.VerbCreate
	case "update":
		return reloader.VerbUpdate
	case "patch":
		return reloader.VerbPatch
	case "delete":
		return reloader.VerbDelete
	case "deletecollection":
		return reloader.VerbDeleteCollection
	}
	return ""
}

// mayHaveStored reports whether a request can have stored something: it succeeded, or nobody knows, because storing may go on behind an
// answer of 5xx. The deletion of a collection deletes one object after the other and ends with the first that is refused, with whatever
// status an admission webhook gave: some may be gone, unless the request came to none.
func mayHaveStored(e *event) bool {
	if e.code == 0 || e.code/100 == 2 || e.code >= http.StatusInternalServerError {
		return true
	}
	return mutatingVerb(e.verb) == reloader.VerbDeleteCollection && e.code >= http.StatusBadRequest &&
		e.code != http.StatusUnauthorized && e.code != http.StatusTooManyRequests && string(e.decision) != "forbid"
}

// isDryRun reports whether e certainly stored nothing because it was asked not to. It cannot be seen on deletions: there the API
// server ignores the query if the request has a body, and believes the body, which is not here.
func isDryRun(e *event) bool {
	switch mutatingVerb(e.verb) {
	case reloader.VerbDelete, reloader.VerbDeleteCollection:
		return false
	}
	all := false
	for value := range parameters(e.requestURI, "dryRun") {
		if value != "All" {
			return false
		}
		all = true
	}
	return all
}

func fieldManager(uri []byte) string {
	for value := range parameters(uri, "fieldManager") {
		return value
	}
	return ""
}

func isHelmRelease(ref *objectRef) bool {
	return string(ref.resource) == "secrets" && bytes.HasPrefix(ref.name, []byte(helmReleasePrefix))
}

// needsName reports whether every request of verb names an object. A created one may get its name from the API server, which
// does not tell; the members of a collection are not told either.
func needsName(verb reloader.Verb) bool {
	return verb != reloader.VerbCreate && verb != reloader.VerbDeleteCollection
}

// stageTime returns when the request ended, in UTC: what the event says if it can be, and otherwise when it came in.
func stageTime(e *event, received time.Time) time.Time {
	var t time.Time
	if t.UnmarshalText(e.stageTimestamp) != nil || !reloader.Storable(t) {
		return received
	}
	return t.UTC()
}
