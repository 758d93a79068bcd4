package clients

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const deviceNodes = `groups:
- count: 2
  name: gpu-#
  devices:
  - {count: 2, attributes: {model: small}, capacity: {memory: 40Gi}}
  - count: 1
    name: big-#
    attributes: {model: big}
    capacity: {memory: 80Gi}
    partitions:
    - {count: 2, name: half-#, attributes: {model: half}, capacity: {memory: 40Gi}}
  - {driver: port.example.com, name: port-#, attributes: {model: port}, attach: 1s}
`

// deviceTemplate creates a template for one device of a driver and a model.
func (c *cluster) deviceTemplate(ctx context.Context, t *testing.T, driver, model string) {
	t.Helper()
	expression := fmt.Sprintf(`device.attributes[%q].model == %q`, driver, model)
	must[*resourcev1.ResourceClaimTemplate](t)(c.client.ResourceV1().ResourceClaimTemplates("default").Create(ctx, &resourcev1.ResourceClaimTemplate{
		ObjectMeta: metav1.ObjectMeta{Name: model},
		Spec: resourcev1.ResourceClaimTemplateSpec{Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{
			Name: "gpu",
			Exactly: &resourcev1.ExactDeviceRequest{
				DeviceClassName: driver,
				Selectors:       []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: expression}}},
			},
		}}}}},
	}, metav1.CreateOptions{}))
}

func (c *cluster) podWithDevice(ctx context.Context, t *testing.T, name, model string) {
	t.Helper()
	made := pod(name, "default-scheduler")
	made.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: &model}}
	made.Spec.Containers[0].Resources.Claims = []corev1.ResourceClaim{{Name: "gpu"}}
	must[*corev1.Pod](t)(c.client.CoreV1().Pods("default").Create(ctx, made, metav1.CreateOptions{}))
}

func (c *cluster) podsIn(ctx context.Context, t *testing.T, phase corev1.PodPhase) []corev1.Pod {
	t.Helper()
	list := must[*corev1.PodList](t)(c.client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{FieldSelector: "status.phase=" + string(phase)}))
	return list.Items
}

// allocated lists the devices of all claims, and the nodes of their pools by pod.
func (c *cluster) allocated(ctx context.Context, t *testing.T) (devices []string, pools map[string]string) {
	t.Helper()
	pools = make(map[string]string)
	claims := must[*resourcev1.ResourceClaimList](t)(c.client.ResourceV1().ResourceClaims("default").List(ctx, metav1.ListOptions{}))
	for _, claim := range claims.Items {
		if claim.Status.Allocation == nil {
			continue
		}
		for _, result := range claim.Status.Allocation.Devices.Results {
			devices = append(devices, result.Pool+"/"+result.Device)
			for _, consumer := range claim.Status.ReservedFor {
				pools[consumer.Name] = result.Pool
			}
		}
	}
	slices.Sort(devices)
	return devices, pools
}

// Pods with claims from templates run with either scheduler: the sandbox publishes the devices, makes the claims,
// starts the pods, and frees the devices.
func TestDevices(t *testing.T) {
	for _, program := range []struct {
		name  string
		start func(t *testing.T, kubeconfig, profile string) func()
	}{{"kube-scheduler", realScheduler}, {"berth", berthScheduler}} {
		t.Run(program.name, func(t *testing.T) {
			ctx := context.Background()
			c := start(t, "--nodes-file="+writeFile(t, "nodes.yaml", deviceNodes))
			program.start(t, c.kubeconfig, "default-scheduler")
			for _, model := range []string{"small", "big", "half"} {
				c.deviceTemplate(ctx, t, "gpu.example.com", model)
			}
			c.deviceTemplate(ctx, t, "port.example.com", "port")
			for i := range 5 { // four devices
				c.podWithDevice(ctx, t, fmt.Sprintf("small-%d", i), "small")
			}
			running := func(count int) func() bool {
				return func() bool { return len(c.podsIn(ctx, t, corev1.PodRunning)) == count }
			}
			within(t, 30*time.Second, "four pods run", running(4))
			devices, pools := c.allocated(ctx, t)
			if want := []string{"gpu-1/gpu-0", "gpu-1/gpu-1", "gpu-2/gpu-0", "gpu-2/gpu-1"}; !slices.Equal(devices, want) {
				t.Errorf("allocated: %v, not %v", devices, want)
			}
			for _, pod := range c.podsIn(ctx, t, corev1.PodRunning) {
				if pools[pod.Name] != pod.Spec.NodeName {
					t.Errorf("%s runs on %s with a device of %q", pod.Name, pod.Spec.NodeName, pools[pod.Name])
				}
			}
			within(t, 10*time.Second, "the reason of the fifth pod", func() bool {
				waiting := c.podsIn(ctx, t, corev1.PodPending)
				return len(waiting) == 1 && slices.ContainsFunc(waiting[0].Status.Conditions, func(condition corev1.PodCondition) bool {
					return strings.Contains(condition.Message, "2 cannot allocate all claims")
				})
			})
			// The device of a deleted pod is free again.
			victim := c.podsIn(ctx, t, corev1.PodRunning)[0].Name
			if err := c.client.CoreV1().Pods("default").Delete(ctx, victim, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			within(t, 60*time.Second, "the fifth pod runs", func() bool {
				return running(4)() && len(c.podsIn(ctx, t, corev1.PodPending)) == 0
			})
			// A whole device uses the counters of its halves.
			c.podWithDevice(ctx, t, "half", "half")
			within(t, 30*time.Second, "a half is used", running(5))
			c.podWithDevice(ctx, t, "whole", "big")
			within(t, 30*time.Second, "the other whole device is used", running(6))
			_, pools = c.allocated(ctx, t)
			if pools["half"] == pools["whole"] {
				t.Errorf("the whole device and its half are both used on %s", pools["half"])
			}
			// The scheduler waits until the driver has attached the device.
			c.podWithDevice(ctx, t, "attached", "port")
			within(t, 30*time.Second, "a pod runs with an attached device", running(7))
			claims := must[*resourcev1.ResourceClaimList](t)(c.client.ResourceV1().ResourceClaims("default").List(ctx, metav1.ListOptions{}))
			if !slices.ContainsFunc(claims.Items, func(claim resourcev1.ResourceClaim) bool {
				return len(claim.Status.Devices) == 1 && claim.Status.Devices[0].Conditions[0].Type == "sandbox.berth.dev/attached"
			}) {
				t.Error("no claim has the condition of an attached device")
			}
			if err := c.client.CoreV1().Pods("default").DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
				t.Fatal(err)
			}
			within(t, 30*time.Second, "all claims are deleted", func() bool {
				claims := must[*resourcev1.ResourceClaimList](t)(c.client.ResourceV1().ResourceClaims("default").List(ctx, metav1.ListOptions{}))
				return len(claims.Items) == 0
			})
		})
	}
}
