package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"berth.test/cluster/controlplane"
	"berth.test/cluster/kubelet"
)

var usageLine = regexp.MustCompile(`(?m)^I.*\] "?Node (\S+) CPU usage: ([0-9.]+)%, Score: (\d+)`)

// custom: CPUUsage with the default plugins, in a Deployment with a service account.
func (s *stage) custom(ctx context.Context) error {
	if _, err := s.kubectl(ctx, "apply", "-k", s.example("custom")); err != nil {
		return err
	}
	scheduler, err := s.placedPod(ctx, "app=custom-scheduler")
	if err != nil {
		return err
	}
	if _, err := s.kubectl(ctx, "apply", "-f", s.example("custom/test-pod.yaml")); err != nil {
		return err
	}
	node, err := s.nodeOf(ctx, "test-pod")
	if err != nil {
		return err
	}
	if node != "node5" {
		s.AddError("test-pod is on %s, not on the idle node5", node)
	}
	note, err := s.event(ctx, "test-pod", "Scheduled", "custom-scheduler")
	if err != nil {
		return err
	}
	if want := "Successfully assigned default/test-pod to " + node; note != want {
		s.AddError("the event's text is %q, not %q", note, want)
	}
	if err := s.checkUsage(ctx, scheduler); err != nil {
		return err
	}
	s.converts(ctx, "custom/scheduler-config.yaml")
	if err := s.measures(ctx); err != nil {
		return err
	}
	// The pod is restarted while Prometheus is unavailable: then there are no measurements.
	s.stopContainers()
	s.monitoring.server.Stop()
	if scheduler, err = s.placedPod(ctx, "app=custom-scheduler"); err != nil {
		return err
	}
	if err := s.makePod(ctx, "without-prometheus", "custom-scheduler"); err != nil {
		return err
	}
	if _, err := s.nodeOf(ctx, "without-prometheus"); err != nil {
		return err
	}
	if usageLine.MatchString(scheduler.Logged()) {
		s.AddError("scores are logged, but nothing is measured")
	}
	s.line(scheduler, 'W', "Metric source unavailable")
	if err := s.monitoring.start(); err != nil {
		return err
	}
	return s.monitoring.scraped(ctx)
}

// measures queries Prometheus without a scheduler: with the tutorial's file, and an address that is reachable from the
// test.
func (s *stage) measures(ctx context.Context) error {
	text, err := os.ReadFile(s.example("custom/scheduler-config.yaml"))
	if err != nil {
		return err
	}
	nodes, err := s.kubectl(ctx, "get", "nodes", "-o", "json")
	if err != nil {
		return err
	}
	config, dump := s.control.File("custom.yaml"), s.control.File("nodes.json")
	elsewhere := fmt.Sprintf("%s  pluginConfig:\n  - name: custom\n    args: {prometheusAddress: %q, window: 1m}\n", text, s.monitoring.address)
	if err := errors.Join(os.WriteFile(config, []byte(elsewhere), 0o600), os.WriteFile(dump, []byte(nodes), 0o600)); err != nil {
		return err
	}
	output := s.commandLine(ctx, 2, "measure", "--config", config, "-f", dump)
	if !strings.Contains(output, "3 of 4 measured") || !strings.Contains(output, "node7") {
		s.AddError("berth measure does not miss node7: %s", output)
	}
	if s.verbose {
		fmt.Println(output)
	}
	return nil
}

// checkUsage compares the log with the load of the exporter. A recently bound pod, like the scheduler itself, counts
// with its requests.
func (s *stage) checkUsage(ctx context.Context, scheduler *kubelet.Container) error {
	pods, err := s.control.Client.CoreV1().Pods("kube-system").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	const itself = 100 * 0.1 / 8 // percent of a node
	logged := usageLine.FindAllStringSubmatch(scheduler.Logged(), -1)
	seen := make(map[string]bool)
	for _, line := range logged {
		node := line[1]
		usage, _ := strconv.ParseFloat(line[2], 64)
		score, _ := strconv.Atoi(line[3])
		truth, known := loads[node]
		if !known {
			s.AddError("there are no measurements of %s: %s", node, line[0])
			continue
		}
		seen[node] = true
		if math.Abs(usage-100*truth.busy) > 2 {
			s.AddError("%s is %.0f%% busy: %s", node, 100*truth.busy, line[0])
		}
		pending := 0.0
		if pods.Items[0].Spec.NodeName == node {
			pending = itself
		}
		if least, most := int(100-usage-pending-0.005), int(100-usage+0.005); score < least || score > most {
			s.AddError("the score is not 100 less the usage: %s", line[0])
		}
	}
	if len(seen) != len(loads) {
		s.AddError("%d nodes are logged, not %d:\n%s", len(seen), len(loads), scheduler.Logged())
	}
	return nil
}

func (s *stage) makePod(ctx context.Context, name, scheduler string) error {
	_, err := s.control.Client.CoreV1().Pods("default").Create(ctx, &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1.PodSpec{SchedulerName: scheduler, Containers: []v1.Container{{Name: "c", Image: "nginx",
			Resources: v1.ResourceRequirements{Requests: controlplane.Resources("cpu", "100m")}}}},
	}, metav1.CreateOptions{})
	return err
}

// These permissions are missing in the role of the sample.
var unnamed = map[string]string{"namespaces": "", "csidrivers": "storage.k8s.io", "csistoragecapacities": "storage.k8s.io", "volumeattachments": "storage.k8s.io",
	"deviceclasses": "resource.k8s.io", "resourceclaims": "resource.k8s.io", "resourceslices": "resource.k8s.io"}

// samplePlugin: three extension points that log, a lease, and a role of 2019.
func (s *stage) samplePlugin(ctx context.Context) error {
	s.converts(ctx, "sample-plugin/scheduler-config.yaml")
	if _, err := s.kubectl(ctx, "apply", "-k", s.example("sample-plugin")); err != nil {
		return err
	}
	scheduler, err := s.placedPod(ctx, "component=sample-scheduler")
	if err != nil {
		return err
	}
	if err := s.logs(ctx, scheduler, "Successfully acquired lease"); err != nil {
		return err
	}
	const account = "system:serviceaccount:kube-system:sample-scheduler-sa"
	for resource, group := range unnamed {
		sentence := fmt.Sprintf(`User \"%s\" cannot list resource \"%s\" in API group \"%s\" at the cluster scope`, account, resource, group)
		if !strings.Contains(scheduler.Logged(), sentence) {
			s.AddError("the log does not name the forbidden list of %s", resource)
		}
		s.line(scheduler, 'W', fmt.Sprintf(`Not allowed to list; scheduling continues without this resource" resource="%s" group="%s"`, resource, group))
	}
	if _, err := s.kubectl(ctx, "apply", "-f", s.example("sample-plugin/test-deployment.yaml")); err != nil {
		return err
	}
	pod, err := s.podOf(ctx, "app=test-scheduler", 0)
	if err != nil {
		return err
	}
	node, err := s.nodeOf(ctx, pod)
	if err != nil {
		return err
	}
	if _, err := s.event(ctx, pod, "Scheduled", "sample-scheduler"); err != nil {
		return err
	}
	s.line(scheduler, 'I', "get plugin config args: &{FavoriteColor:#326CE5 FavoriteNumber:7 ThanksTo:everybody}")
	s.line(scheduler, 'I', fmt.Sprintf(`Attempting to schedule pod" pod="default/%s"`, pod))
	s.line(scheduler, 'I', "prefilter pod: "+pod)
	for name := range racks {
		s.line(scheduler, 'I', fmt.Sprintf("filter pod: %s, node: %s", pod, name))
	}
	s.line(scheduler, 'I', "prebind node info: "+node)
	s.line(scheduler, 'I', fmt.Sprintf(`Successfully bound pod to node" pod="default/%s" node="%s" evaluatedNodes=4 feasibleNodes=4`, pod, node))
	lease, err := s.control.Client.CoordinationV1().Leases("kube-system").Get(ctx, "sample-scheduler", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if holder := lease.Spec.HolderIdentity; holder == nil || !strings.HasPrefix(*holder, "sample-scheduler-") {
		s.AddError("the lease kube-system/sample-scheduler is not held by the pod: %v", lease.Spec)
	}
	return nil
}

// podOf waits for a pod of a Deployment.
func (s *stage) podOf(ctx context.Context, selector string, at int) (name string, err error) {
	err = controlplane.Until(ctx, stepTimeout, "a pod "+selector, func() (bool, error) {
		list, err := s.control.Client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{LabelSelector: selector})
		if err != nil || len(list.Items) <= at {
			return false, err
		}
		name = list.Items[at].Name
		return true, nil
	})
	return name, err
}
