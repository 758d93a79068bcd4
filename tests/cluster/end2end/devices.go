package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"berth.test/cluster/controlplane"
)

const (
	deviceDriver  = "gpu.example.com"
	claimTemplate = "made"
	// claimController makes claims from templates, and deallocates those whose pods are gone.
	claimController = "resourceclaim-controller"
)

// deviceWorkload contains the devices of a run, and the pods that claim one each.
type deviceWorkload struct {
	slices []*resourcev1.ResourceSlice
	claims []*resourcev1.ResourceClaim
	// leaving pods are deleted when they are bound, because there are fewer devices than pods that claim one.
	leaving []*v1.Pod
}

// addDevices lets a fifth of the pods claim a device, every other one by a claim from a template. A quarter of the
// nodes has devices, too few for all of these pods.
func (w *workload) addDevices() {
	var claiming []*v1.Pod
	for i, pod := range w.fitting {
		if i%5 == 3 {
			claiming = append(claiming, pod)
		}
	}
	for i, pod := range claiming {
		reference := v1.PodResourceClaim{Name: "device"}
		if i%2 == 0 {
			claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: "claim-of-" + pod.Name, Namespace: pod.Namespace}, Spec: oneDevice()}
			reference.ResourceClaimName = &claim.Name
			w.devices.claims = append(w.devices.claims, claim)
		} else {
			name := claimTemplate
			reference.ResourceClaimTemplateName = &name
		}
		pod.Spec.ResourceClaims = []v1.PodResourceClaim{reference}
		pod.Spec.Containers[0].Resources.Claims = []v1.ResourceClaim{{Name: reference.Name}}
		if i%4 < 2 {
			w.devices.leaving = append(w.devices.leaving, pod)
		}
	}
	var nodes []*v1.Node
	for i, node := range w.nodes {
		if i%4 == 0 && i%5 != 2 {
			nodes = append(nodes, node)
		}
	}
	perNode := (len(claiming)*8/10 + len(nodes) - 1) / len(nodes)
	for _, node := range nodes {
		w.devices.slices = append(w.devices.slices, newSlice(node.Name, max(1, perNode), 1))
	}
}

func oneDevice() resourcev1.ResourceClaimSpec {
	return resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{
		{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu"}}}}}
}

// newSlice is the only slice of the node's pool, which has the node's name.
func newSlice(node string, devices int, generation int64) *resourcev1.ResourceSlice {
	slice := &resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", node, generation)},
		Spec: resourcev1.ResourceSliceSpec{
			Driver: deviceDriver, NodeName: &node,
			Pool: resourcev1.ResourcePool{Name: node, Generation: generation, ResourceSliceCount: 1},
		},
	}
	for i := range devices {
		slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: fmt.Sprint("gpu-", i)})
	}
	return slice
}

func (d *deviceWorkload) prepare(ctx context.Context, client kubernetes.Interface) error {
	api := client.ResourceV1()
	_, err := api.DeviceClasses().Create(ctx, &resourcev1.DeviceClass{
		ObjectMeta: metav1.ObjectMeta{Name: "gpu"},
		Spec: resourcev1.DeviceClassSpec{Selectors: []resourcev1.DeviceSelector{{
			CEL: &resourcev1.CELDeviceSelector{Expression: fmt.Sprintf("device.driver == %q", deviceDriver)}}}},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	_, err = api.ResourceClaimTemplates("default").Create(ctx, &resourcev1.ResourceClaimTemplate{
		ObjectMeta: metav1.ObjectMeta{Name: claimTemplate}, Spec: resourcev1.ResourceClaimTemplateSpec{Spec: oneDevice()}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	err = controlplane.Each(ctx, len(d.slices), func(i int) error {
		_, err := api.ResourceSlices().Create(ctx, d.slices[i], metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return err
	}
	err = controlplane.Each(ctx, len(d.claims), func(i int) error {
		_, err := api.ResourceClaims(d.claims[i].Namespace).Create(ctx, d.claims[i], metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return err
	}
	return waitForController(ctx, client)
}

// waitForController waits until the controller makes claims: while it starts, it does not survive a crash of the API
// server.
func waitForController(ctx context.Context, client kubernetes.Interface) error {
	name := claimTemplate
	probe := plainPod("probe", nil)
	probe.Spec.SchedulerName = "none"
	probe.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "device", ResourceClaimTemplateName: &name}}
	pods := client.CoreV1().Pods(probe.Namespace)
	if _, err := pods.Create(ctx, probe, metav1.CreateOptions{}); err != nil {
		return err
	}
	return controlplane.Until(ctx, time.Minute, "the claim controller", func() (bool, error) {
		pod, err := pods.Get(ctx, probe.Name, metav1.GetOptions{})
		return err == nil && len(pod.Status.ResourceClaimStatuses) > 0, err
	})
}

// persist repeats a request while the API server is unstable.
func persist(ctx context.Context, try func() error) error {
	for {
		err := try()
		if err == nil || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) || ctx.Err() != nil {
			return ctx.Err()
		}
		if err := controlplane.Pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// replaceSlices replaces slices at random by slices of the next generation, until `stop` is closed. All slices exist
// when it returns. It counts the replacements.
func (d *deviceWorkload) replaceSlices(ctx context.Context, client kubernetes.Interface, random *rand.Rand, stop <-chan struct{}, count *atomic.Int64) error {
	api := client.ResourceV1().ResourceSlices()
	for {
		select {
		case <-stop:
			return nil
		case <-time.After(time.Duration(20+random.IntN(100)) * time.Millisecond):
		}
		i := random.IntN(len(d.slices))
		old := d.slices[i]
		next := newSlice(*old.Spec.NodeName, len(old.Spec.Devices), old.Spec.Pool.Generation+1)
		remove := func() error { return api.Delete(ctx, old.Name, metav1.DeleteOptions{}) }
		create := func() error {
			_, err := api.Create(ctx, next, metav1.CreateOptions{})
			return err
		}
		// Some drivers publish the new slice first.
		steps := []func() error{remove, create}
		if random.IntN(2) == 0 {
			slices.Reverse(steps)
		}
		for _, step := range steps {
			if err := persist(ctx, step); err != nil {
				return err
			}
			if err := controlplane.Pause(ctx, time.Duration(random.IntN(50))*time.Millisecond); err != nil {
				return err
			}
		}
		d.slices[i] = next
		count.Add(1)
	}
}

// deleteLeaving deletes pods after they were bound, so that others get their devices.
func (d *deviceWorkload) deleteLeaving(ctx context.Context, client kubernetes.Interface, r *reader) error {
	left := d.leaving
	for len(left) > 0 {
		var unbound []*v1.Pod
		for _, pod := range left {
			if !r.bound(pod) {
				unbound = append(unbound, pod)
				continue
			}
			err := persist(ctx, func() error {
				return client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
			})
			if err != nil {
				return err
			}
		}
		left = unbound
		if err := controlplane.Pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// inFlight counts the claims that are allocated for a pod that is not bound yet.
func (r *reader) inFlight() int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return len(r.devices.InFlight())
}

// claimInFlight returns whether a claim is allocated for this pod and the pod is not bound yet.
func (r *reader) claimInFlight(pod string) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return slices.Contains(r.devices.InFlight(), pod)
}

// waitUntilReleased waits until the controller has deallocated the claims of deleted pods, and returns the claims that
// are still allocated without a bound pod.
func (r *reader) waitUntilReleased(ctx context.Context) []string {
	deadline := time.Now().Add(30 * time.Second)
	for {
		r.mutex.Lock()
		leaked := r.devices.Leaked()
		r.mutex.Unlock()
		if len(leaked) == 0 || time.Now().After(deadline) || controlplane.Pause(ctx, 50*time.Millisecond) != nil {
			return leaked
		}
	}
}
