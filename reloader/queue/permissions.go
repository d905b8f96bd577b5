package queue

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/reloader"
)

// Permission is a subject, perhaps with wildcards, that a role may publish on or subscribe to, and what for.
type Permission struct{ Subject, Reason string }

// Permissions are all that a role needs. Every request to JetStream is a message, so nearly all are to publish.
type Permissions struct {
	User        string
	InboxPrefix string
	Publish     []Permission
	Subscribe   []Permission
}

// PermissionsOf returns the permissions of a role that works for cluster; hub roles but RoleForward ignore the cluster.
func PermissionsOf(role Role, cluster string) (Permissions, error) {
	if !slices.Contains(Roles(), role) && role != RoleServe {
		return Permissions{}, fmt.Errorf("no role is called %.40q; there are %s", role, roleList(Roles()))
	}
	if role.ofCluster() {
		if err := reloader.ValidateCluster(cluster); err != nil {
			return Permissions{}, err
		}
	}
	p := Permissions{User: role.UserName(cluster), InboxPrefix: role.InboxPrefix(cluster)}
	p.Publish = permitted(permissionTable, role, cluster)
	p.Subscribe = append([]Permission{{p.InboxPrefix + ".>", "answers"}}, permitted(subscriptionTable, role, cluster)...)
	return p, nil
}

// permitted returns what a table has for a role that works for cluster.
func permitted(table []permissionRow, role Role, cluster string) (all []Permission) {
	for _, row := range table {
		if row.isFor(role) {
			all = append(all, Permission{strings.ReplaceAll(row.subject, clusterToken, escape(cluster)), row.reason})
		}
	}
	return all
}

// clusterToken stands for the cluster in the table.
const clusterToken = "{cluster}"

// permissionRow is what some roles may publish on.
type permissionRow struct {
	subject, reason string
	roles           []Role
}

func (row permissionRow) isFor(r Role) bool {
	return slices.ContainsFunc(r.parts(), func(part Role) bool { return slices.Contains(row.roles, part) })
}

// covers reports whether a subject that was published on is one of the row, whatever its cluster.
func (row permissionRow) covers(subject string) bool {
	pattern := strings.ReplaceAll(row.subject, consumerName(clusterToken), consumerName(""))
	return Permits(strings.ReplaceAll(pattern, clusterToken, "*"), withoutCluster(subject))
}

// withoutCluster shortens the name of a consumer of hints, which ends in that of its cluster, to what all of them have in common.
func withoutCluster(subject string) string {
	tokens := strings.Split(subject, ".")
	for i, token := range tokens {
		if strings.HasPrefix(token, consumerName("")) {
			tokens[i] = consumerName("")
		}
	}
	return strings.Join(tokens, ".")
}

// Permits reports whether a pattern with NATS wildcards covers a subject. A wildcard in the subject is a token like any other.
func Permits(pattern, subject string) bool {
	want, got := strings.Split(pattern, "."), strings.Split(subject, ".")
	for i, token := range want {
		switch {
		case i >= len(got):
			return false
		case token == ">":
			return true
		case token != "*" && token != got[i]:
			return false
		}
	}
	return len(want) == len(got)
}

// needing returns the roles that have a subject in a table, and what for.
func needing(table []permissionRow, subject string) (roles []Role, reason string) {
	for _, row := range table {
		if !row.covers(subject) {
			continue
		}
		reason = row.reason
		for _, r := range row.roles {
			if !slices.Contains(roles, r) {
				roles = append(roles, r)
			}
		}
	}
	return roles, reason
}

// advice says to somebody in a role how to go on after NATS did not let it publish on a subject.
func advice(role Role, subject string) string {
	roles, reason := needing(permissionTable, subject)
	if len(roles) == 0 {
		return "no role of Reroll needs that"
	}
	mine := slices.ContainsFunc(role.parts(), func(part Role) bool { return slices.Contains(roles, part) })
	if !mine && (slices.Contains(roles, RoleAdmin) || slices.Contains(roles, RoleHubAdmin)) {
		return fmt.Sprintf(`only the role %s needs that, to %s: let it run "reroll nats setup"`,
			roleList(roles), reason)
	}
	return fmt.Sprintf(`the role %s needs that, to %s; "reroll nats permissions" prints all it needs`, roleList(roles), reason)
}

func roleList(roles []Role) string {
	names := make([]string, len(roles))
	for i, r := range roles {
		names[i] = string(r)
	}
	return strings.Join(names, ", ")
}
