package controlplane

import (
	rbacv1 "k8s.io/api/rbac/v1"
)

// Permission is one verb on one resource, as a role gives it.
type Permission struct {
	Verb, Group, Resource string
	Namespace             string // empty: all namespaces
	Name                  string // empty: any name
}

// PermissionsOf expands rules.
func PermissionsOf(namespace string, rules []rbacv1.PolicyRule) (all []Permission) {
	for _, rule := range rules {
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					for _, name := range names {
						all = append(all, Permission{verb, group, resource, namespace, name})
					}
				}
			}
		}
	}
	return all
}

func (p Permission) String() string {
	resource := p.Resource
	if p.Group != "" {
		resource += "." + p.Group
	}
	if p.Name != "" {
		resource += " " + p.Name
	}
	if p.Namespace != "" {
		resource += " in " + p.Namespace
	}
	return p.Verb + " " + resource
}

// Covers returns whether a request needs this permission.
func (p Permission) Covers(r Request) bool {
	return p.Verb == r.Verb && p.Group == r.ObjectRef.APIGroup && p.Resource == r.Resource() &&
		(p.Namespace == "" || p.Namespace == r.ObjectRef.Namespace) && (p.Name == "" || p.Name == r.ObjectRef.Name)
}
