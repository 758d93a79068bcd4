package main

import (
	"context"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"berth.test/cluster/controlplane"
)

const deviceDriver = "gpu.example.com"

// prepareDevices creates as many devices per node as the node takes pods, in a pool with the node's name. Schedulers
// choose the first one that they believe to be free.
func prepareDevices(ctx context.Context, client kubernetes.Interface, nodes int) error {
	_, err := client.ResourceV1().DeviceClasses().Create(ctx, &resourcev1.DeviceClass{
		ObjectMeta: metav1.ObjectMeta{Name: "gpu"},
		Spec: resourcev1.DeviceClassSpec{Selectors: []resourcev1.DeviceSelector{{
			CEL: &resourcev1.CELDeviceSelector{Expression: fmt.Sprintf("device.driver == %q", deviceDriver)}}}},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	return controlplane.Each(ctx, nodes, func(i int) error {
		node := fmt.Sprintf("n-%d", i)
		slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: node}, Spec: resourcev1.ResourceSliceSpec{
			Driver: deviceDriver, NodeName: &node, Pool: resourcev1.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 1}}}
		for device := range podsPerNode {
			slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: fmt.Sprint("gpu-", device)})
		}
		_, err := client.ResourceV1().ResourceSlices().Create(ctx, slice, metav1.CreateOptions{})
		return err
	})
}

// addClaim creates a claim for one device, and lets the pod use it.
func addClaim(client kubernetes.Interface, pod *v1.Pod) error {
	name := "claim-of-" + pod.Name
	pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "device", ResourceClaimName: &name}}
	pod.Spec.Containers[0].Resources.Claims = []v1.ResourceClaim{{Name: "device"}}
	_, err := client.ResourceV1().ResourceClaims(pod.Namespace).Create(context.Background(), &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{
			{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu"}}}}},
	}, metav1.CreateOptions{})
	return err
}

// checkDevices checks that no device was allocated twice at any time, that each pod with a claim has a device of its
// node, and that no claim has a device without a bound pod.
func (s *stage) checkDevices() (allocated int) {
	state := controlplane.NewDeviceState()
	reserved := make(map[types.UID]bool) // at some time
	for _, seen := range s.watcher.claimsOf(s.id) {
		for _, consumer := range seen.claim.Status.ReservedFor {
			reserved[consumer.UID] = true
		}
		for _, wrong := range state.Claim(seen.kind, seen.claim) {
			s.addError("%s", wrong)
		}
	}
	// The watches are not ordered, so only the last states of the pods are compared with the last states of the claims.
	latest := make(map[string]*v1.Pod)
	for _, seen := range s.watcher.podsOf(s.id) {
		latest[seen.pod.Name] = seen.pod
	}
	for _, pod := range latest {
		for _, wrong := range state.Pod(watch.Modified, pod) {
			if s.releasesLate() && reserved[pod.UID] &&
				(strings.HasSuffix(wrong, controlplane.NotReserved) || strings.HasSuffix(wrong, controlplane.NotAllocated)) {
				continue
			}
			s.addError("%s", wrong)
		}
		if len(pod.Spec.ResourceClaims) > 0 {
			allocated++
		}
	}
	for _, wrong := range state.Leaked() {
		s.addError("%s", wrong)
	}
	return allocated
}

// releasesLate returns whether a leader takes devices from bound pods after the end of its lease: a thawed kube-scheduler
// continues its cycles. A binding that the new leader was faster with fails, and then kube-scheduler removes the
// reservation of this pod. An attempt for a pod that the new leader has bound finds no node, and then kube-scheduler
// deallocates the claim of this pod.
func (s *stage) releasesLate() bool { return !s.thawedAt.IsZero() && s.replicas[0].kind == "kube" }

// clearClaims removes the claims, so that their devices are free for the next scenario.
func (s *stage) clearClaims(ctx context.Context) error {
	claims := s.control.Client.ResourceV1().ResourceClaims(s.id)
	list, err := claims.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	return controlplane.Each(ctx, len(list.Items), func(i int) error {
		name := list.Items[i].Name
		// No controller removes the protection.
		if _, err := claims.Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
			return err
		}
		return claims.Delete(ctx, name, metav1.DeleteOptions{})
	})
}
