package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"crypto/tls"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"berth.test/cluster/controlplane"
)

// observe starts a cluster and the scheduler, runs the workload, and returns the scheduler's metrics.
func observe(ctx context.Context, children *controlplane.Children, name, sandbox string, scheduler []string) (*exposition, error) {
	ports, err := controlplane.FreePorts(2)
	if err != nil {
		return nil, err
	}
	kubeconfig := filepath.Join(children.Directory, name+".kubeconfig")
	_ = os.Remove(kubeconfig) // of an earlier run in the same directory
	if _, err := children.Start(name+"-cluster", []string{sandbox, "sandbox"}, "--nodes=5", "--node-cpus=8", "--kubeconfig="+kubeconfig, fmt.Sprintf("--port=%d", ports[0])); err != nil {
		return nil, err
	}
	if err := poll(ctx, func() bool { _, err := os.Stat(kubeconfig); return err == nil }); err != nil {
		return nil, fmt.Errorf("start the cluster: %w", err)
	}
	child, err := children.Start(name, scheduler, "--kubeconfig="+kubeconfig, "--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", ports[1]), "--authorization-always-allow-paths=/*", "-v=2")
	if err != nil {
		return nil, err
	}
	defer child.Stop()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	url := fmt.Sprintf("https://127.0.0.1:%d", ports[1])
	if err := poll(ctx, func() bool { text, err := get(ctx, url+"/readyz"); return err == nil && text == "ok" }); err != nil {
		return nil, fmt.Errorf("the scheduler is not ready: %w", err)
	}
	if err := work(ctx, client); err != nil {
		return nil, err
	}
	text, err := get(ctx, url+"/metrics")
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(children.Directory, name+".metrics"), []byte(text), 0o644); err != nil {
		return nil, err
	}
	return parse(text, config)
}

// work has pods placed, rejected, gated, spread and preempted. Each step ends in a state that both schedulers reach, so
// the counters are comparable.
func work(ctx context.Context, client kubernetes.Interface) error {
	if _, err := client.SchedulingV1().PriorityClasses().Create(ctx, &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 1000}, metav1.CreateOptions{}); err != nil {
		return err
	}
	steps := []struct {
		pods  []*corev1.Pod
		until func(pods map[string]*corev1.Pod) bool
	}{
		// Enough attempts that some are sampled for plugin metrics.
		{repeat(150, func(i int) *corev1.Pod { return pod(fmt.Sprintf("tiny-%d", i), "1m") }), bound("tiny-149")},
		// Each pod uses three quarters of a node, so the nodes are full.
		{repeat(5, func(i int) *corev1.Pod { return pod(fmt.Sprintf("plain-%d", i), "6") }), bound("plain-0", "plain-1", "plain-2", "plain-3", "plain-4")},
		{[]*corev1.Pod{pod("huge", "1000")}, unschedulable("huge")},
		{[]*corev1.Pod{with(pod("picky", "100m"), func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"none": "such"} })}, unschedulable("picky")},
		{[]*corev1.Pod{with(pod("gated", "100m"), func(p *corev1.Pod) {
			p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/gate"}}
		})}, exists("gated")},
		{[]*corev1.Pod{with(pod("spread", "100m"), spread)}, bound("spread")},
		{[]*corev1.Pod{with(pod("near", "100m"), nearSpread)}, bound("near")},
		{[]*corev1.Pod{with(pod("strong", "7"), func(p *corev1.Pod) { p.Spec.PriorityClassName = "high" })}, bound("strong")},
	}
	for _, step := range steps {
		for _, p := range step.pods {
			if _, err := client.CoreV1().Pods("default").Create(ctx, p, metav1.CreateOptions{}); err != nil {
				return err
			}
		}
		err := poll(ctx, func() bool {
			list, err := client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
			if err != nil {
				return false
			}
			pods := map[string]*corev1.Pod{}
			for i := range list.Items {
				pods[list.Items[i].Name] = &list.Items[i]
			}
			return step.until(pods)
		})
		if err != nil {
			return fmt.Errorf("%s does not reach the expected state: %w", step.pods[0].Name, err)
		}
	}
	return useDevices(ctx, client)
}

// useDevices has a claim created for an extended resource, and a pod wait for the binding condition of its device.
func useDevices(ctx context.Context, client kubernetes.Interface) error {
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	node, extended := nodes.Items[0].Name, "example.com/gpu"
	dra, pods := client.ResourceV1(), client.CoreV1().Pods("default")
	for class, name := range map[string]*string{"gpu": &extended, "slow": nil} {
		selector := resourcev1.DeviceSelector{CEL: &resourcev1.CELDeviceSelector{Expression: fmt.Sprintf("device.driver == %q", class+".example.com")}}
		spec := resourcev1.DeviceClassSpec{ExtendedResourceName: name, Selectors: []resourcev1.DeviceSelector{selector}}
		if _, err := dra.DeviceClasses().Create(ctx, &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: class}, Spec: spec}, metav1.CreateOptions{}); err != nil {
			return err
		}
		device := resourcev1.Device{Name: "d0"}
		if class == "slow" {
			device.BindingConditions, device.BindingFailureConditions = []string{"Attached"}, []string{"Failed"}
		}
		slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: class}, Spec: resourcev1.ResourceSliceSpec{Driver: class + ".example.com", NodeName: &node,
			Pool: resourcev1.ResourcePool{Name: class, ResourceSliceCount: 1}, Devices: []resourcev1.Device{device}}}
		if _, err := dra.ResourceSlices().Create(ctx, slice, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: "slow"}, Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{
		Requests: []resourcev1.DeviceRequest{{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "slow"}}}}}}
	if _, err := dra.ResourceClaims("default").Create(ctx, claim, metav1.CreateOptions{}); err != nil {
		return err
	}
	amount := corev1.ResourceList{corev1.ResourceName(extended): resource.MustParse("1")}
	for _, p := range []*corev1.Pod{
		with(pod("extended", "1m"), func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: amount, Limits: amount}
		}),
		with(pod("slow", "1m"), func(p *corev1.Pod) {
			p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "device", ResourceClaimName: &claim.Name}}
		}),
	} {
		if _, err := pods.Create(ctx, p, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	if err := poll(ctx, func() bool { return attach(ctx, client) == nil }); err != nil {
		return fmt.Errorf("the claim is not allocated: %w", err)
	}
	return poll(ctx, func() bool {
		list, err := pods.List(ctx, metav1.ListOptions{})
		if err != nil {
			return false
		}
		byName := map[string]*corev1.Pod{}
		for i := range list.Items {
			byName[list.Items[i].Name] = &list.Items[i]
		}
		return bound("extended", "slow")(byName)
	})
}

// attach reports the device of the allocated claim as attached, as its driver would.
func attach(ctx context.Context, client kubernetes.Interface) error {
	claims := client.ResourceV1().ResourceClaims("default")
	claim, err := claims.Get(ctx, "slow", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if claim.Status.Allocation == nil {
		return errors.New("not allocated")
	}
	device := claim.Status.Allocation.Devices.Results[0]
	claim.Status.Devices = []resourcev1.AllocatedDeviceStatus{{Driver: device.Driver, Pool: device.Pool, Device: device.Device,
		Conditions: []metav1.Condition{{Type: "Attached", Status: metav1.ConditionTrue, Reason: "Attached", LastTransitionTime: metav1.Now()}}}}
	_, err = claims.UpdateStatus(ctx, claim, metav1.UpdateOptions{})
	return err
}

func pod(name, cpu string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}}}},
	}
}

func with(p *corev1.Pod, change func(*corev1.Pod)) *corev1.Pod {
	change(p)
	return p
}

func repeat(n int, make func(int) *corev1.Pod) []*corev1.Pod {
	var pods []*corev1.Pod
	for i := range n {
		pods = append(pods, make(i))
	}
	return pods
}

func spread(p *corev1.Pod) {
	p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule,
		LabelSelector: &metav1.LabelSelector{MatchLabels: p.Labels}}}
}

func nearSpread(p *corev1.Pod) {
	p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
		TopologyKey: corev1.LabelTopologyZone, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "spread"}}}}}}
}

func bound(names ...string) func(map[string]*corev1.Pod) bool {
	return func(pods map[string]*corev1.Pod) bool {
		for _, name := range names {
			if p := pods[name]; p == nil || p.Spec.NodeName == "" {
				return false
			}
		}
		return true
	}
}

func unschedulable(name string) func(map[string]*corev1.Pod) bool {
	return func(pods map[string]*corev1.Pod) bool {
		if pods[name] == nil {
			return false
		}
		for _, condition := range pods[name].Status.Conditions {
			if condition.Type == corev1.PodScheduled && condition.Reason == corev1.PodReasonUnschedulable {
				return true
			}
		}
		return false
	}
}

func exists(name string) func(map[string]*corev1.Pod) bool {
	return func(pods map[string]*corev1.Pod) bool { return pods[name] != nil }
}

func poll(ctx context.Context, done func() bool) error {
	for !done() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil
}

var insecure = &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}

func get(ctx context.Context, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	answer, err := insecure.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return "", err
	}
	if answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s: %s", url, answer.Status, strings.TrimSpace(string(body)))
	}
	return string(body), nil
}

// host is the name of the API server in labels; it varies between runs.
func host(config *rest.Config) string {
	return strings.TrimPrefix(strings.TrimPrefix(config.Host, "https://"), "http://")
}
