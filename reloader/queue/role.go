package queue

import "slices"

// Role is what a user of the queue is there for. What NATS must permit it is in PermissionsOf.
type Role string

// The roles at the NATS of a cluster. RoleServe is ingest, dispatch and api in one.
const (
	RoleServe    Role = "serve"
	RoleIngest   Role = "ingest"
	RoleDispatch Role = "dispatch"
	RoleAPI      Role = "api"
	RoleAdmin    Role = "admin"
)

// The roles at the NATS of a hub. RoleForward is a cluster that brings its records there, and the only one that is of one cluster.
const (
	RoleForward  Role = "forward"
	RoleHubAPI   Role = "hub-api"
	RoleHubAdmin Role = "hub-admin"
)

var (
	clusterRoles = []Role{RoleAdmin, RoleIngest, RoleDispatch, RoleAPI}
	hubRoles     = []Role{RoleHubAdmin, RoleHubAPI, RoleForward}
)

// Roles returns every role that has permissions of its own.
func Roles() []Role { return slices.Concat(clusterRoles, hubRoles) }

// purposes say what a role is for, in the words of a comment.
var purposes = map[Role]string{
	RoleServe:    "does all of that in one process",
	RoleAdmin:    "makes the streams and consumers: reroll nats setup",
	RoleIngest:   "receives audit events and stores hints",
	RoleDispatch: "verifies hints and rolls workloads",
	RoleAPI:      "answers who changed what and what rolled",
	RoleHubAdmin: "makes the streams of the hub, and removes clusters: reroll nats setup --role=hub, reroll nats remove",
	RoleHubAPI:   "answers for all clusters",
	RoleForward:  "brings the records of one cluster to the hub",
}

// parts are the roles whose permissions r has.
func (r Role) parts() []Role {
	if r == RoleServe || r == "" {
		return []Role{RoleIngest, RoleDispatch, RoleAPI}
	}
	return []Role{r}
}

// looksAt reports whether the role has to do with a stream.
func (r Role) looksAt(stream string) bool {
	return slices.ContainsFunc(permissionTable, func(row permissionRow) bool {
		return row.subject == "$JS.API.STREAM.INFO."+stream && row.isFor(r)
	})
}

// UserName returns how the NATS user of a role is called in the configuration that Reroll generates. Roles that are of no single
// cluster leave the cluster out.
func (r Role) UserName(cluster string) string {
	if !r.ofCluster() {
		return string(r)
	}
	return string(r) + "-" + cluster
}

func (r Role) ofCluster() bool { return r == RoleForward || !slices.Contains(hubRoles, r) }

// InboxPrefix returns the prefix of the subjects on which a role alone gets its answers.
func (r Role) InboxPrefix(cluster string) string {
	return "_INBOX_" + r.UserName(cluster)
}
