package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"berth.test/cluster/controlplane"
)

// overlays are the kustomizations that can be applied directly.
var overlays = []string{"rbac", "second-scheduler", "load-aware", "network-traffic", "tenants"}

var configName = regexp.MustCompile(`configmap/(berth-config-\S+)`)

// manifests checks that the API server accepts every object with strict validation, that Berth accepts each
// configuration, and that each configuration gives its ConfigMap another name.
func (s *stage) manifests(ctx context.Context) error {
	seen := make(map[string]string)
	for _, overlay := range overlays {
		output, err := s.tried(ctx, s.deploy+"/"+overlay)
		if err != nil {
			return err
		}
		if overlay == "rbac" {
			continue
		}
		if _, err := s.shell(ctx, s.Berth, "config", "check", s.deploy+"/"+overlay+"/scheduler.yaml"); err != nil {
			s.AddError("%v", err)
		}
		name := configName.FindString(output)
		if other := seen[name]; name == "" || other != "" {
			s.AddError("the ConfigMap of %s is %q, that of %s, too", overlay, name, other)
		}
		seen[name] = overlay
	}
	if err := s.checkObjects(ctx); err != nil {
		return err
	}
	return s.monitoring(ctx)
}

// tried runs a server-side dry run.
func (s *stage) tried(ctx context.Context, folder string) (string, error) {
	return s.kubectl(ctx, "apply", "--dry-run=server", "--validate=strict", "-k", folder)
}

// checkObjects checks the output of kustomize: all objects are in kube-system, and the pod satisfies the
// restricted pod security standard.
func (s *stage) checkObjects(ctx context.Context) error {
	text, err := s.kubectl(ctx, "kustomize", s.deploy+"/tenants")
	if err != nil {
		return err
	}
	var deployment appsv1.Deployment
	for document := range strings.SplitSeq(text, "\n---\n") {
		var object unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			return err
		}
		wide := strings.HasPrefix(object.GetKind(), "Cluster")
		if (object.GetNamespace() == system) == wide {
			s.AddError("%s %s is in the namespace %q", object.GetKind(), object.GetName(), object.GetNamespace())
		}
		if object.GetKind() == "Deployment" {
			if err := yaml.UnmarshalStrict([]byte(document), &deployment); err != nil {
				return err
			}
		}
	}
	restricted := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "restricted", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}}}
	if _, err := s.control.Client.CoreV1().Namespaces().Create(ctx, restricted, metav1.CreateOptions{}); err != nil {
		return err
	}
	dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "berth"}, Spec: deployment.Spec.Template.Spec}
	if _, err := s.control.Client.CoreV1().Pods("restricted").Create(ctx, pod, dry); err != nil {
		s.AddError("not by the standard \"restricted\": %v", err)
	}
	pod.Spec.Containers[0].SecurityContext = nil
	if _, err := s.control.Client.CoreV1().Pods("restricted").Create(ctx, pod, dry); err == nil {
		s.AddError("the standard \"restricted\" is not enforced; this shows nothing")
	}
	return nil
}

// A CRD with only a name for each kind of Prometheus Operator.
const operatorKind = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[2]s.monitoring.coreos.com}
spec:
  group: monitoring.coreos.com
  scope: Namespaced
  names: {kind: %[1]s, plural: %[2]s}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
`

// monitoring checks that one component needs no operator, that the other needs only its kinds, and that its
// rules are those for Prometheus.
func (s *stage) monitoring(ctx context.Context) error {
	if _, err := s.shell(ctx, s.deploy+"/monitoring/operator/render", "--check"); err != nil {
		s.AddError("%v", err)
	}
	plain, err := s.kustomization("plain", "load-aware", "monitoring")
	if err != nil {
		return err
	}
	output, err := s.tried(ctx, plain)
	if err != nil {
		return err
	}
	if !strings.Contains(output, "configmap/berth-dashboard ") || !strings.Contains(output, "clusterrolebinding.rbac.authorization.k8s.io/berth-metrics-reader ") {
		s.AddError("monitoring without an operator: %s", output)
	}
	operated, err := s.kustomization("operated", "second-scheduler", "monitoring", "monitoring/operator")
	if err != nil {
		return err
	}
	output, err = s.tried(ctx, operated)
	kinds := map[string]string{"ServiceMonitor": "servicemonitors", "PrometheusRule": "prometheusrules"}
	definitions := ""
	for kind, plural := range kinds {
		if err == nil || !strings.Contains(output, fmt.Sprintf("no matches for kind %q", kind)) {
			s.AddError("without Prometheus Operator %s should be missing: %s", kind, output)
		}
		definitions += fmt.Sprintf(operatorKind, kind, plural)
	}
	if others := strings.Count(output, "no matches for kind"); others != 3 {
		s.AddError("three objects are the operator's, not %d: %s", others, output)
	}
	file := s.control.File("kinds.yaml")
	if err := os.WriteFile(file, []byte(definitions), 0o600); err != nil {
		return err
	}
	if _, err := s.kubectl(ctx, "apply", "-f", file); err != nil {
		return err
	}
	return controlplane.Until(ctx, stepTimeout, "the operator's kinds", func() (bool, error) {
		_, err := s.tried(ctx, operated)
		if err != nil && !strings.Contains(err.Error(), "no matches for kind") {
			return false, err
		}
		return err == nil, nil
	})
}
