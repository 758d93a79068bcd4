package main

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"berth.test/cluster/controlplane"
)

// permission is one verb on one resource, as a role gives it.
type permission struct {
	verb, group, resource string
	namespace             string // empty: all namespaces
	name                  string // empty: any name
}

// permissionsOf expands rules.
func permissionsOf(namespace string, rules []rbacv1.PolicyRule) (all []permission) {
	for _, rule := range rules {
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					for _, name := range names {
						all = append(all, permission{verb, group, resource, namespace, name})
					}
				}
			}
		}
	}
	return all
}

// without returns the rules without some permissions, and with resource names replaced.
func without(namespace string, rules []rbacv1.PolicyRule, lacks func(permission) bool, rename func(string) string) (left []rbacv1.PolicyRule) {
	for _, p := range permissionsOf(namespace, rules) {
		if lacks(p) {
			continue
		}
		rule := rbacv1.PolicyRule{APIGroups: []string{p.group}, Resources: []string{p.resource}, Verbs: []string{p.verb}}
		if p.name != "" {
			rule.ResourceNames = []string{rename(p.name)}
		}
		left = append(left, rule)
	}
	return left
}

func (p permission) String() string {
	resource := p.resource
	if p.group != "" {
		resource += "." + p.group
	}
	if p.name != "" {
		resource += " " + p.name
	}
	if p.namespace != "" {
		resource += " in " + p.namespace
	}
	return p.verb + " " + resource
}

// implied returns whether the permission is checked in addition to that of the request, so that no request names it:
// reservations of devices in the status of a claim.
func (p permission) implied() bool { return p.resource == "resourceclaims/binding" }

// covers returns whether a request needs this permission.
func (p permission) covers(r controlplane.Request) bool {
	if p.implied() {
		return p.verb == r.Verb && p.group == r.ObjectRef.APIGroup && r.Resource() == "resourceclaims/status"
	}
	return p.verb == r.Verb && p.group == r.ObjectRef.APIGroup && p.resource == r.Resource() &&
		(p.namespace == "" || p.namespace == r.ObjectRef.Namespace) && (p.name == "" || p.name == r.ObjectRef.Name)
}

// namedIn returns whether a log reports it as missing.
func (p permission) namedIn(log string) bool {
	output := fmt.Sprintf("cannot %s resource \"%s\" in API group \"%s\"", p.verb, p.resource, p.group)
	return strings.Contains(log, output) || strings.Contains(log, strings.ReplaceAll(output, `"`, `\"`))
}

// taken is the permission that an account lacks.
type taken struct {
	name string
	verb string
	// An account that cannot lead does not use other permissions, so lease permissions are removed from
	// separate accounts.
	lease bool
}

func (t taken) lacks(p permission) bool {
	return p.verb == t.verb && (p.resource == "leases") == t.lease
}

// allTaken returns one entry per permission to remove.
func allTaken(permissions []permission) (all []taken) {
	for _, p := range permissions {
		t := taken{"no-" + p.verb, p.verb, p.resource == "leases"}
		if t.lease {
			t.name += "-of-the-lease"
		}
		if !slices.Contains(all, t) {
			all = append(all, t)
		}
	}
	return all
}
