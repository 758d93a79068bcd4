package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const apiRoot = "/apis/berth.dev/v1alpha1/"

// apiUsers are certificates of users with roles for Berth's API: a developer of the namespace "shop", one who may get
// nodes, and one who may get the paths.
var apiUsers = []string{"developer", "node-reader", "api-reader"}

// checkAPIAccess sends requests to Berth's API with real users and roles; it returns those with another status than
// the documented one. docs/guide/scheduler-api.md, "Permissions".
func (s *stage) checkAPIAccess(ctx context.Context) (wrong []string, err error) {
	if err := s.makeAPIUsers(ctx); err != nil {
		return nil, err
	}
	// One of its own, so that the metrics of the compared ones stay comparable.
	scheduler, err := s.start(ctx, "berth-api", []string{s.berth, "scheduler"}, "--leader-elect=false", "--berth-http-address=127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	if err := s.waitForRoles(ctx); err != nil {
		return nil, err
	}
	const ok, forbidden = 200, 403
	for _, row := range []struct {
		path                                            string
		developer, nodeReader, apiReader, noPermissions int
	}{
		{"pods/shop/big", ok, forbidden, ok, forbidden},
		{"pods/shop/big?view=summary", ok, forbidden, ok, forbidden},
		{"pods/shop/big?view=nodes", forbidden, forbidden, ok, forbidden},
		{"pods/shop/big?view=records", forbidden, forbidden, ok, forbidden},
		{"pods/shop/big/explanation", ok, forbidden, ok, forbidden},
		{"pods/shop/big/explanation?view=nodes", forbidden, forbidden, ok, forbidden},
		{"pods/default/pod-1", forbidden, forbidden, ok, forbidden},
		{"pods/default/pod-1/explanation", forbidden, forbidden, ok, forbidden},
		{"nodes/node-1", forbidden, ok, ok, forbidden},
		{"nodes/node-1?view=pods", forbidden, forbidden, ok, forbidden},
		{"nodes", forbidden, ok, ok, forbidden},
		{"preemptions", forbidden, forbidden, ok, forbidden},
		{"queue", forbidden, forbidden, ok, forbidden},
		{"queue?namespace=shop", forbidden, forbidden, ok, forbidden},
		{"plugins", forbidden, forbidden, ok, forbidden},
		{"status", forbidden, forbidden, ok, forbidden},
		{"/openapi/v3", ok, ok, ok, ok}, // system:discovery
	} {
		path := row.path
		if !strings.HasPrefix(path, "/") {
			path = apiRoot + path
		}
		for cert, status := range map[string]int{
			"developer": row.developer, "node-reader": row.nodeReader, "api-reader": row.apiReader,
			"no-permissions": row.noPermissions, "": forbidden, // anonymous
		} {
			got, err := s.send(scheduler, request{path: path, cert: cert})
			if err != nil {
				return wrong, err
			}
			if got.status != status {
				wrong = append(wrong, fmt.Sprintf("%s as %q: %d instead of %d: %s", path, cert, got.status, status, cut(got.body)))
			}
			if cert == "developer" && got.status == ok && strings.Contains(got.body, "node-1") {
				wrong = append(wrong, fmt.Sprintf("%s as %q names a node: %s", path, cert, got.body))
			}
		}
		if got, err := s.send(scheduler, request{path: path, token: "wrong"}); err != nil || got.status != 401 {
			wrong = append(wrong, fmt.Sprintf("%s with a wrong token: %v, %v instead of 401", path, got, err))
		}
	}
	log := string(s.read("berth-api.log"))
	if !strings.Contains(log, `"Scheduler API request" user="developer"`) {
		wrong = append(wrong, "the log names no user")
	}
	return wrong, nil
}

// waitForRoles waits until the API server allows what the roles grant: the scheduler caches refusals.
func (s *stage) waitForRoles(ctx context.Context) error {
	for user, spec := range map[string]authorizationv1.SubjectAccessReviewSpec{
		"developer":   {ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "get", Resource: "pods", Namespace: "shop"}},
		"node-reader": {ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "get", Resource: "nodes"}},
		"api-reader":  {NonResourceAttributes: &authorizationv1.NonResourceAttributes{Verb: "get", Path: "/berth.dev/v1alpha1/queue"}},
	} {
		spec.User = user
		for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
			review, err := s.Client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{Spec: spec}, metav1.CreateOptions{})
			if err != nil {
				return err
			}
			if review.Status.Allowed {
				break
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("the API server does not allow %s after half a minute", user)
			}
		}
	}
	return nil
}

func (s *stage) makeAPIUsers(ctx context.Context) error {
	if _, err := s.Client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, metav1.CreateOptions{}); err != nil {
		return err
	}
	roles := s.Client.RbacV1()
	subject := func(name string) []rbacv1.Subject {
		return []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: name}}
	}
	read := func(resource string, verbs ...string) []rbacv1.PolicyRule {
		return []rbacv1.PolicyRule{{Verbs: verbs, APIGroups: []string{""}, Resources: []string{resource}}}
	}
	if _, err := roles.Roles("shop").Create(ctx, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "developer"}, Rules: read("pods", "get")}, metav1.CreateOptions{}); err != nil {
		return err
	}
	if _, err := roles.RoleBindings("shop").Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "developer"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "developer"},
		Subjects:   subject("developer"),
	}, metav1.CreateOptions{}); err != nil {
		return err
	}
	for name, rules := range map[string][]rbacv1.PolicyRule{
		"node-reader": read("nodes", "get", "list"),
		"api-reader":  {{Verbs: []string{"get"}, NonResourceURLs: []string{"/berth.dev/v1alpha1/*"}}},
	} {
		if _, err := roles.ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}, metav1.CreateOptions{}); err != nil {
			return err
		}
		if _, err := roles.ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
			Subjects:   subject(name),
		}, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	// A gated pod stays in the queue.
	pod := unschedulablePod()
	pod.Name, pod.Namespace = "big", "shop"
	pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/later"}}
	_, err := s.Client.CoreV1().Pods("shop").Create(ctx, pod, metav1.CreateOptions{})
	return err
}
