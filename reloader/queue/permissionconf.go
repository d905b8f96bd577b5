package queue

import (
	"fmt"
	"strings"
)

// ClusterAccounts returns the part of a NATS configuration that isolates clusters from each other: an account for each, with a user for
// each role. Permissions of users alone would not do: a server stores its answer to a request wherever the request has it sent.
// Passwords come from the environment of the NATS server; PasswordVariable names the variables.
func ClusterAccounts(clusters []string) (string, error) {
	var all []account
	for _, cluster := range clusters {
		a := account{name: "reroll-" + cluster, jetStream: true}
		for _, role := range clusterRoles {
			if err := a.add(role, cluster); err != nil {
				return "", err
			}
		}
		all = append(all, a)
	}
	return accounts(all), nil
}

// HubAccounts returns the part of a NATS configuration that makes a hub: an account that has the streams, and one for each cluster, from
// which only what RoleForward of that cluster needs comes through, with answers that only go back.
func HubAccounts(clusters []string) (string, error) {
	hub := account{name: "reroll-hub", jetStream: true}
	all := []account{{}}
	for _, role := range []Role{RoleHubAdmin, RoleHubAPI} {
		if err := hub.add(role, ""); err != nil {
			return "", err
		}
	}
	for _, cluster := range clusters {
		a := account{name: "reroll-hub-" + cluster, from: hub.name}
		if err := a.add(RoleForward, cluster); err != nil {
			return "", err
		}
		p, err := PermissionsOf(RoleForward, cluster)
		if err != nil {
			return "", err
		}
		for _, one := range p.Publish {
			a.imports = append(a.imports, one.Subject)
			hub.export(one.Subject, a.name)
		}
		for _, one := range p.Subscribe[1:] {
			a.heard = append(a.heard, one.Subject)
			hub.heard = append(hub.heard, one.Subject)
			hub.hearers = append(hub.hearers, a.name)
		}
		all = append(all, a)
	}
	all[0] = hub
	return accounts(all), nil
}

// account is one account of a NATS configuration.
type account struct {
	name      string
	jetStream bool
	users     []string
	// imports are the subjects whose messages go to the account from.
	imports []string
	from    string
	exports []export
	// heard are the subjects whose messages come from the account from or, if that is empty, go to the account in the same place of hearers.
	heard, hearers []string
}

// export is a subject on which some accounts may send messages to another.
type export struct {
	subject string
	to      []string
}

func (a *account) add(role Role, cluster string) error {
	user, err := UserConfig(role, cluster)
	a.users = append(a.users, user)
	return err
}

func (a *account) export(subject, to string) {
	for i := range a.exports {
		if a.exports[i].subject == subject {
			a.exports[i].to = append(a.exports[i].to, to)
			return
		}
	}
	a.exports = append(a.exports, export{subject, []string{to}})
}

func accounts(all []account) string {
	var b strings.Builder
	b.WriteString("accounts: {\n")
	for _, a := range all {
		b.WriteString(a.String())
	}
	b.WriteString("}\n")
	return b.String()
}

// String returns the account as it stands in a configuration.
func (a account) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "  %q: {\n", a.name)
	if a.jetStream {
		b.WriteString("    jetstream: enabled\n")
	}
	b.WriteString("    users: [\n" + indent(strings.Join(a.users, ""), "      ") + "    ]\n")
	if len(a.exports)+len(a.hearers) > 0 {
		b.WriteString("    exports: [\n")
		for _, e := range a.exports {
			fmt.Fprintf(&b, "      { service: %q, accounts: [%s] }\n", e.subject, quoted(e.to))
		}
		for i, hearer := range a.hearers {
			fmt.Fprintf(&b, "      { stream: %q, accounts: [%q] }\n", a.heard[i], hearer)
		}
		b.WriteString("    ]\n")
	}
	if len(a.imports) > 0 {
		b.WriteString("    imports: [\n")
		for _, subject := range a.imports {
			fmt.Fprintf(&b, "      { service: { account: %q, subject: %q } }\n", a.from, subject)
		}
		if a.from != "" {
			for _, subject := range a.heard {
				fmt.Fprintf(&b, "      { stream: { account: %q, subject: %q } }\n", a.from, subject)
			}
		}
		b.WriteString("    ]\n")
	}
	b.WriteString("  }\n")
	return b.String()
}

func quoted(names []string) string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = fmt.Sprintf("%q", name)
	}
	return strings.Join(all, ", ")
}

// UserConfig returns one user of a NATS configuration: a role that works for cluster.
func UserConfig(role Role, cluster string) (string, error) {
	p, err := PermissionsOf(role, cluster)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s %s.\n", p.User, purposes[role])
	fmt.Fprintf(&b, "# --nats-user=%s --nats-password-file=… --nats-inbox-prefix=%s\n", p.User, p.InboxPrefix)
	fmt.Fprintf(&b, "{\n  user: %q, password: $%s\n  permissions: {\n    publish: { allow: [\n", p.User, PasswordVariable(role, cluster))
	width := 0
	for _, one := range p.Publish {
		width = max(width, len(one.Subject))
	}
	for _, one := range p.Publish {
		fmt.Fprintf(&b, "      %-*s # %s\n", width+2, fmt.Sprintf("%q", one.Subject), one.Reason)
	}
	subscribe := make([]string, len(p.Subscribe))
	for i, one := range p.Subscribe {
		subscribe[i] = one.Subject
	}
	fmt.Fprintf(&b, "    ] }\n    subscribe: { allow: [%s] }\n  }\n}\n", quoted(subscribe))
	return b.String(), nil
}

// PasswordVariable returns the name of the variable in the environment of the NATS server that holds the password of a role.
func PasswordVariable(role Role, cluster string) string {
	name := "REROLL_" + string(role)
	if role.ofCluster() {
		name += "_" + cluster
	}
	return strings.ToUpper(strings.ReplaceAll(name, "-", "_")) + "_PASSWORD"
}

func indent(text, by string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(by + line)
	}
	return b.String()
}
