package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

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

// objects renders every set of values of tests/helm/cases: the API server must accept all objects with strict
// validation, the pods must satisfy the pod security standard "restricted" (unless they use the node's network), and
// Berth must accept the configuration and the flags.
func (s *stage) objects(ctx context.Context) error {
	definitions := fmt.Sprintf(operatorKind, "ServiceMonitor", "servicemonitors") + fmt.Sprintf(operatorKind, "PrometheusRule", "prometheusrules")
	if _, err := s.control.Kubectl(ctx, strings.NewReader(definitions), "create", "-f", "-"); err != nil {
		return err
	}
	if _, err := s.control.Kubectl(ctx, nil, "wait", "--for=condition=Established", "--all", "crd", "--timeout=30s"); err != nil {
		return err
	}
	restricted := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "restricted", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}}}
	if _, err := s.control.Client.CoreV1().Namespaces().Create(ctx, restricted, metav1.CreateOptions{}); err != nil {
		return err
	}
	files, err := filepath.Glob(s.cases + "/*.yaml")
	if err != nil || len(files) == 0 {
		return fmt.Errorf("%s: no sets of values: %w", s.cases, err)
	}
	for _, file := range files {
		if err := s.accepted(ctx, file); err != nil {
			s.AddError("%s: %v", filepath.Base(file), err)
		}
	}
	return nil
}

// accepted checks the objects of one set of values.
func (s *stage) accepted(ctx context.Context, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	words := strings.Fields(strings.TrimPrefix(line, "# helm template "))
	namespace := words[slices.Index(words, "--namespace")+1]
	args := append([]string{"template", words[0], s.chart, "--values", file}, words[1:]...)
	rendered, err := s.run(ctx, s.helm, args...)
	if err != nil {
		return err
	}
	for _, name := range []string{namespace, "monitoring"} {
		_, _ = s.control.Kubectl(ctx, nil, "create", "namespace", name) // it may exist
	}
	if _, err := s.control.Kubectl(ctx, strings.NewReader(rendered), "create", "--dry-run=server", "--validate=strict", "-f", "-"); err != nil {
		return err
	}
	return s.runnable(ctx, rendered)
}

// runnable checks the pods and the configuration.
func (s *stage) runnable(ctx context.Context, rendered string) error {
	var pods []v1.PodSpec
	for document := range strings.SplitSeq(rendered, "\n---\n") {
		var object unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			return err
		}
		switch {
		case object.GetKind() == "Deployment":
			var deployment appsv1.Deployment
			if err := yaml.UnmarshalStrict([]byte(document), &deployment); err != nil {
				return err
			}
			pods = append(pods, deployment.Spec.Template.Spec)
			if err := s.flagsExist(ctx, deployment.Spec.Template.Spec.Containers[0].Args); err != nil {
				s.AddError("%v", err)
			}
		case object.GetKind() == "Pod":
			var pod v1.Pod
			if err := yaml.UnmarshalStrict([]byte(document), &pod); err != nil {
				return err
			}
			pods = append(pods, pod.Spec)
		case object.GetKind() == "ConfigMap":
			configuration, has, _ := unstructured.NestedString(object.Object, "data", "scheduler.yaml")
			// A plugin that is loaded at run time is not there.
			if !has || strings.Contains(configuration, "Headroom") {
				continue
			}
			if err := s.configurationIsValid(ctx, configuration); err != nil {
				s.AddError("%v", err)
			}
		}
	}
	for _, spec := range pods {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "berth"}, Spec: spec}
		_, err := s.control.Client.CoreV1().Pods("restricted").Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if refused := err != nil && strings.Contains(err.Error(), "violates PodSecurity"); refused != spec.HostNetwork || err != nil && !refused {
			return fmt.Errorf("the standard \"restricted\", with hostNetwork %t: %v", spec.HostNetwork, err)
		}
	}
	return nil
}

func (s *stage) configurationIsValid(ctx context.Context, text string) error {
	file := s.control.File("scheduler.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	_, err := s.run(ctx, s.Berth, "config", "check", file)
	return err
}

// flagsExist checks the flags against the help of the command.
func (s *stage) flagsExist(ctx context.Context, args []string) error {
	help, err := s.run(ctx, s.Berth, args[0], "--help")
	if err != nil {
		return err
	}
	for _, arg := range args[1:] {
		if flag, _, _ := strings.Cut(arg, "="); !strings.Contains(help, flag) {
			return fmt.Errorf("berth %s has no flag %s", args[0], flag)
		}
	}
	return nil
}
