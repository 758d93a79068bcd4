package main

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"berth.test/cluster/controlplane"
)

// permission is one verb on one resource, as a role gives it.
type permission struct{ controlplane.Permission }

func permissionsOf(namespace string, rules []rbacv1.PolicyRule) (all []permission) {
	for _, p := range controlplane.PermissionsOf(namespace, rules) {
		all = append(all, permission{p})
	}
	return all
}

// without returns the rules without some permissions, and with resource names replaced.
func without(namespace string, rules []rbacv1.PolicyRule, lacks func(permission) bool, rename func(string) string) (left []rbacv1.PolicyRule) {
	for _, p := range permissionsOf(namespace, rules) {
		if lacks(p) {
			continue
		}
		rule := rbacv1.PolicyRule{APIGroups: []string{p.Group}, Resources: []string{p.Resource}, Verbs: []string{p.Verb}}
		if p.Name != "" {
			rule.ResourceNames = []string{rename(p.Name)}
		}
		left = append(left, rule)
	}
	return left
}

// implied returns whether the permission is checked in addition to that of the request, so that no request names it:
// reservations of devices in the status of a claim.
func (p permission) implied() bool { return p.Resource == "resourceclaims/binding" }

// covers returns whether a request needs this permission.
func (p permission) covers(r controlplane.Request) bool {
	if p.implied() {
		return p.Verb == r.Verb && p.Group == r.ObjectRef.APIGroup && r.Resource() == "resourceclaims/status"
	}
	return p.Covers(r)
}

// namedIn returns whether a log reports it as missing.
func (p permission) namedIn(log string) bool {
	output := fmt.Sprintf("cannot %s resource \"%s\" in API group \"%s\"", p.Verb, p.Resource, p.Group)
	return strings.Contains(log, output) || strings.Contains(log, strings.ReplaceAll(output, `"`, `\"`))
}

// provided are the parts of resource.k8s.io that the API server has. Older releases lack some, and then no request needs the
// permissions for them.
type provided struct {
	controlplane.DeviceKinds
	extended bool // resources of DeviceClasses
}

func providedBy(control *controlplane.ControlPlane) (p provided, err error) {
	release, err := control.Release()
	if err != nil {
		return p, err
	}
	p.extended = release.HasExtendedResources()
	p.DeviceKinds, err = control.DeviceKinds()
	return p, err
}

func (p provided) covers(one permission) bool {
	switch {
	case one.Group != "resource.k8s.io":
		return true
	case one.Resource == "devicetaintrules":
		return p.TaintRules
	case one.implied(), one.Verb == "create", one.Verb == "delete":
		return p.extended
	}
	return p.Claims
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
	return p.Verb == t.verb && (p.Resource == "leases") == t.lease
}

// allTaken returns one entry per permission to remove.
func allTaken(permissions []permission) (all []taken) {
	for _, p := range permissions {
		t := taken{"no-" + p.Verb, p.Verb, p.Resource == "leases"}
		if t.lease {
			t.name += "-of-the-lease"
		}
		if !slices.Contains(all, t) {
			all = append(all, t)
		}
	}
	return all
}
