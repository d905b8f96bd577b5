package dispatcher

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/dispatcher/fleet"
	"github.com/reroll-dev/reroll/dispatcher/metrics"
)

// fate is what becomes of work that met an error.
type fate = metrics.Attempt

const (
	fateDone = metrics.Done
	// fateGone: the object is not there any more.
	fateGone = metrics.Gone
	// fateStale: what was read is outdated; read again and decide again.
	fateStale = metrics.Outdated
	// fateNever: the API server, or the cluster that owns a config, refuses, until something is changed.
	fateNever = metrics.Refused
	// fateAgain: anything else may pass.
	fateAgain = metrics.Failed
)

// fateOf decides what becomes of any call to the API server or a webhook. A JSON patch whose test fails is answered as invalid, like one whose
// result is; the caller tells the two apart by reading the object.
func fateOf(err error) fate {
	var answer interface{ Refused() bool } // that of a webhook
	switch {
	case err == nil:
		return fateDone
	case errors.As(err, &answer):
		if answer.Refused() {
			return fateNever
		}
		return fateAgain
	case errors.As(err, &fleet.FollowError{}):
		return fateNever
	case apierrors.IsNotFound(err), apierrors.IsGone(err):
		return fateGone
	case apierrors.IsConflict(err), apierrors.IsInvalid(err):
		return fateStale
	case apierrors.IsForbidden(err), apierrors.IsBadRequest(err),
		apierrors.IsMethodNotSupported(err), apierrors.IsRequestEntityTooLargeError(err):
		return fateNever
	}
	return fateAgain
}
