package kube

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// podStatus is what one SecretProviderClassPodStatus says about its class. It is foreign input: what cannot be read is left out.
type podStatus struct {
	uid, resourceVersion string
	moment
	// updated says that more than its creation has been written. The driver creates it when the pod mounts the class, with all in
	// it, and updates it when it has rotated what is mounted. It has no status subresource, so that its generation counts the writes
	// to everything but metadata.
	updated bool
	// manager is the field manager that last wrote the status, and told says that there is one.
	manager string
	told    bool
	labels  map[string]string
	// objects has the version of each object by its ID.
	objects map[string]string
}

// moment is when something was written, by the API server's clock and by the order of its writes. The clock counts seconds and may
// be set back; the order starts again when etcd is restored. Only together they tell what is older.
type moment struct {
	at      time.Time
	version uint64
}

// before orders two moments that one list shows.
func (m moment) before(other moment) bool {
	return cmp.Or(m.at.Compare(other.at), cmp.Compare(m.version, other.version)) < 0
}

// isStale reports whether m is certainly older than what was seen before.
func (m moment) isStale(seen moment) bool { return !m.at.After(seen.at) && m.version < seen.version }

// classOf returns the name of the class that a PodStatus is about.
func classOf(u *unstructured.Unstructured) string {
	name, _, _ := unstructured.NestedString(u.Object, "status", "secretProviderClassName")
	return name
}

func readPodStatus(u *unstructured.Unstructured) podStatus {
	s := podStatus{uid: string(u.GetUID()), resourceVersion: u.GetResourceVersion(), updated: u.GetGeneration() > 1, labels: u.GetLabels(), objects: objectsOf(u)}
	s.version, _ = strconv.ParseUint(s.resourceVersion, 10, 64)
	s.manager, s.at, s.told = statusManager(u.GetManagedFields())
	if !s.told {
		s.at = u.GetCreationTimestamp().UTC()
	}
	return s
}

// objectsOf returns the versions of the objects of a PodStatus by their IDs.
func objectsOf(u *unstructured.Unstructured) map[string]string {
	list, _, _ := unstructured.NestedFieldNoCopy(u.Object, "status", "objects")
	items, _ := list.([]any)
	versions := map[string]string{}
	for _, item := range items {
		fields, ok := item.(map[string]any)
		if !ok {
			continue
		}
		id, _ := fields["id"].(string)
		version, _ := fields["version"].(string)
		versions[id] = version
	}
	return folded(versions)
}

// view is what the PodStatuses of one class say together.
type view struct {
	// decisive is the PodStatus whose objects are the content of the class; nil if there is none.
	decisive *podStatus
	// unproven says that no update proves that content to be that of now.
	unproven bool
}

// viewOf joins the PodStatuses of a class. The newest update says what the content is, so that pods which rotate one after the other
// make one change, and the last of them none. Creations and deletions say nothing by themselves: an update proves nothing any more
// if a younger pod mounted something else, or if a newer one was seen before. Without a proof the content is the oldest that is
// known, which any later update then differs from if it brought something new to any pod.
func viewOf(statuses []podStatus, seen moment) view {
	if len(statuses) == 0 {
		return view{unproven: true}
	}
	slices.SortFunc(statuses, func(a, b podStatus) int {
		switch {
		case a.before(b.moment):
			return -1
		case b.before(a.moment):
			return 1
		}
		return cmp.Compare(a.uid, b.uid)
	})
	newest := &statuses[len(statuses)-1]
	for i := len(statuses) - 1; i >= 0; i-- {
		if s := &statuses[i]; s.updated {
			return view{decisive: s, unproven: s.isStale(seen) || !maps.Equal(s.objects, newest.objects)}
		}
	}
	return view{decisive: &statuses[0], unproven: true}
}

func (v view) objects() map[string]string {
	if v.decisive == nil {
		return nil
	}
	return v.decisive.objects
}

// written returns when the content was last written; zero if nobody says.
func (v view) written() time.Time {
	if v.unproven || !v.decisive.told {
		return time.Time{}
	}
	return v.decisive.at
}

// version returns what changes whenever the content, or what is to be thought of it, may have.
func (v view) version() string {
	switch {
	case v.decisive == nil:
		return "none"
	case v.unproven:
		return "unproven." + v.decisive.uid + "." + v.decisive.resourceVersion
	}
	return v.decisive.uid + "." + v.decisive.resourceVersion
}
