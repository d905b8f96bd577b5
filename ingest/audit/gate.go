package audit

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/reloader"
)

// helmReleasePrefix begins the names of the Secrets with releases of Helm 3 and 4.
const helmReleasePrefix = "sh.helm.release.v1."

// gate returns why e cannot have changed a config, or nothing if it can. In doubt, it can. isDryRun checks for dry runs.
func gate(e *event) Skip {
	kind, verb := configKind(e.ObjectRef), mutatingVerb(e.Verb)
	switch {
	case e.Stage == "":
		return SkipNoEvent
	case e.Stage != "ResponseComplete" && e.Stage != "Panic":
		return SkipStage
	case e.ObjectRef == objectRef{}:
		return SkipNoObject
	case kind == "":
		return SkipResource
	case verb == "":
		return SkipVerb
	case kind.External() && verb != reloader.VerbUpdate && verb != reloader.VerbPatch:
		return SkipMount
	case !mayHaveStored(e):
		return SkipFailed
	case kind == reloader.Secret && strings.HasPrefix(e.ObjectRef.Name, helmReleasePrefix):
		return SkipHelmRelease
	}
	return ""
}

// configKind returns the kind of config that ref names or reports about, or nothing. Neither configs nor their reporting resources have subresources.
// Whichever version of a custom resource was written: all are one object.
func configKind(ref objectRef) reloader.ConfigKind {
	for _, of := range reloader.ConfigKindTable {
		if ref.Resource == of.TellingResource() && ref.APIGroup == of.Group && ref.Subresource == "" && (of.Group != "" || ref.APIVersion == of.Version) {
			return of.Kind
		}
	}
	return ""
}

// mutatingVerb returns the verb of a request that can change configs, or nothing.
func mutatingVerb(verb string) reloader.Verb {
	switch v := reloader.Verb(verb); v {
	case reloader.VerbCreate, reloader.VerbUpdate, reloader.VerbPatch, reloader.VerbDelete, reloader.VerbDeleteCollection:
		return v
	}
	return ""
}

// mayHaveStored reports whether a request can have stored something: it succeeded, or its outcome is unknown, because storing may continue behind
// an answer of 5xx. The deletion of a collection deletes one object after the other and ends with the first that is refused, with whatever status
// an admission webhook gave: some may be gone, so that one always has to be looked at unless the request itself was refused.
func mayHaveStored(e *event) bool {
	code := e.Code
	if code == 0 || code/100 == 2 || code >= http.StatusInternalServerError {
		return true
	}
	return mutatingVerb(e.Verb) == reloader.VerbDeleteCollection && code >= http.StatusBadRequest && code != http.StatusUnauthorized &&
		code != http.StatusTooManyRequests && e.Decision != "forbid"
}

// queryOf returns the query of a request, unparsed.
func queryOf(uri string) string {
	_, query, _ := strings.Cut(uri, "?")
	return query
}

// parameter returns the first value of a parameter of a query; empty if there is none, or it cannot be parsed.
func parameter(query, name string) string {
	for pair := range strings.SplitSeq(query, "&") {
		if key, value, _ := strings.Cut(pair, "="); key == name {
			text, _ := url.QueryUnescape(value)
			return text
		}
	}
	return ""
}

// isDryRun reports whether e certainly stored nothing because it was asked not to. It cannot be seen on deletions: there the API server ignores
// the query if the request has a body, and believes the body, which is not here. The query counts as the API server parses it.
func isDryRun(e *event, query string) bool {
	mayAsk := strings.Contains(query, "dryRun") || strings.Contains(query, "%") // most need not be parsed
	if verb := mutatingVerb(e.Verb); verb == reloader.VerbDelete || verb == reloader.VerbDeleteCollection || !mayAsk {
		return false
	}
	values, _ := url.ParseQuery(query) // without what cannot be parsed
	asked := values["dryRun"]
	return len(asked) > 0 && !slices.ContainsFunc(asked, func(value string) bool { return value != "All" })
}
