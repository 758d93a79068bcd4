package main

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"berth.test/cluster/controlplane"
)

const (
	deviceClass    = "gpu"
	deviceDriver   = "gpu.example.com"
	devicesPerNode = 8
)

// makeDevices publishes eight devices for each node, and creates a claim for one device for each pod.
func makeDevices(ctx context.Context, client kubernetes.Interface, nodes int, prefix string, pods int) error {
	api := client.ResourceV1()
	_, err := api.DeviceClasses().Create(ctx, &resourcev1.DeviceClass{
		ObjectMeta: metav1.ObjectMeta{Name: deviceClass},
		Spec: resourcev1.DeviceClassSpec{Selectors: []resourcev1.DeviceSelector{{
			CEL: &resourcev1.CELDeviceSelector{Expression: fmt.Sprintf("device.driver == %q", deviceDriver)}}}},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	err = controlplane.Each(ctx, nodes, func(i int) error {
		name := node(i).Name
		slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourcev1.ResourceSliceSpec{
			Driver: deviceDriver, NodeName: &name, Pool: resourcev1.ResourcePool{Name: name, ResourceSliceCount: 1}}}
		for d := range devicesPerNode {
			slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: fmt.Sprint("gpu-", d)})
		}
		_, err := api.ResourceSlices().Create(ctx, slice, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return err
	}
	return controlplane.Each(ctx, pods, func(i int) error {
		claim := &resourcev1.ResourceClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: pod("plain", prefix, i).Name},
			Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{
				{Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: deviceClass}}}}}}
		_, err := api.ResourceClaims(claim.Namespace).Create(ctx, claim, metav1.CreateOptions{})
		return err
	})
}

// useClaim lets the pod use the claim with its name.
func useClaim(pod *v1.Pod) {
	pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu", ResourceClaimName: &pod.Name}}
	pod.Spec.Containers[0].Resources.Claims = []v1.ResourceClaim{{Name: "gpu"}}
}
