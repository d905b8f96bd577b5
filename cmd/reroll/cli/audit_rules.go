package cli

import (
	"slices"
	"strings"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// write is a request of which the API server should tell. Where a namespace, name or user is empty, it is one that no rule names.
type write struct {
	verb, group, resource, namespace, name, user string
	groups                                       []string
}

// anybody is in this group, as everybody is who has logged in.
const anybody = "system:authenticated"

// limits are those of a rule, besides verbs and resources. An empty list limits nothing.
type limits struct{ names, namespaces, users, groups []string }

// matches reports whether a rule speaks of the write, as the API server judges it.
func (w write) matches(rule auditv1.PolicyRule) bool {
	l, speaks := w.limitedBy(rule)
	return speaks && isOf(l.names, w.name) && isOf(l.namespaces, w.namespace) && isOf(l.users, w.user) &&
		(len(l.groups) == 0 || slices.ContainsFunc(w.groups, func(group string) bool { return slices.Contains(l.groups, group) }))
}

// limitedBy reports whether a rule speaks of writes with this verb and resource, and what it limits them to.
func (w write) limitedBy(rule auditv1.PolicyRule) (l limits, speaks bool) {
	names, speaks := w.namesIn(rule)
	l = limits{names: names, namespaces: slices.Clone(rule.Namespaces), users: rule.Users, groups: rule.UserGroups}
	l.namespaces = slices.DeleteFunc(l.namespaces, func(name string) bool { return name == "" }) // that of objects without one
	if slices.Contains(l.groups, anybody) {
		l.groups = nil
	}
	return l, speaks && isOf(rule.Verbs, w.verb) && (len(l.namespaces) > 0 || len(rule.Namespaces) == 0)
}

// namesIn reports whether the resources of a rule have the write's among them, and which names it must have.
func (w write) namesIn(rule auditv1.PolicyRule) (names []string, speaks bool) {
	if len(rule.Resources) == 0 {
		return nil, len(rule.NonResourceURLs) == 0
	}
	for _, g := range rule.Resources {
		switch {
		case !w.isIn(g):
		case len(g.ResourceNames) == 0:
			return nil, true
		default:
			names = append(names, g.ResourceNames...)
		}
	}
	return names, names != nil
}

func (w write) isIn(g auditv1.GroupResources) bool {
	return (g.Group == w.group || g.Group == "*") &&
		(len(g.Resources) == 0 || slices.ContainsFunc(g.Resources, func(r string) bool { return r == w.resource || r == "*" || r == w.resource+"/*" }))
}

// isOf reports whether a list has a word, or leaves it open.
func isOf(list []string, word string) bool {
	return len(list) == 0 || word != "" && slices.Contains(list, word)
}

// none reports whether everybody and everything is meant.
func (l limits) none() bool {
	return len(l.names)+len(l.namespaces)+len(l.users)+len(l.groups) == 0
}

// String goes on after the name of a resource.
func (l limits) String() (text string) {
	for _, limit := range []struct {
		preposition string
		to          []string
	}{{"called", l.names}, {"in", l.namespaces}, {"by", l.users}, {"in the group", l.groups}} {
		if len(limit.to) > 0 {
			text += " " + limit.preposition + " " + strings.Join(limit.to, ", ")
		}
	}
	return text
}
