package main

import (
	"context"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"berth.test/cluster/controlplane"
)

const (
	driver      = "gpu.example.com"
	deviceNodes = 20
	nodeDevices = 32 // per node, as many as a claim may have
)

// deviceSearch creates claims without a solution. The search for one tries about 10^8 combinations per node.
func deviceSearch(ctx context.Context, v *victim) error {
	distinct := resourcev1.FullyQualifiedName(driver + "/value")
	return v.claimDevices(ctx, resourcev1.DeviceClaim{
		Requests:    []resourcev1.DeviceRequest{deviceRequest("devices", 16, "")},
		Constraints: []resourcev1.DeviceConstraint{{DistinctAttribute: &distinct}},
	})
}

// deviceSelectors creates claims whose selectors need most of the cost that the API server permits, and reject every
// device.
func deviceSelectors(ctx context.Context, v *victim) error {
	const list = "[1,2,3,4,5,6,7,8,9,10,11,12,13,14]"
	expression := "device.attributes['" + driver + "'].value < 0"
	for _, name := range []string{"a", "b", "c", "d"} {
		expression = fmt.Sprintf("!%s.all(%s, !(%s))", list, name, expression)
	}
	var claim resourcev1.DeviceClaim
	for i := range 8 {
		// Equal expressions would be compiled once.
		claim.Requests = append(claim.Requests, deviceRequest(fmt.Sprintf("request-%d", i), 1, expression+strings.Repeat(" ", i)))
	}
	return v.claimDevices(ctx, claim)
}

func deviceRequest(name string, count int64, expression string) resourcev1.DeviceRequest {
	request := resourcev1.DeviceRequest{Name: name, Exactly: &resourcev1.ExactDeviceRequest{
		DeviceClassName: driver, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: count}}
	if expression != "" {
		request.Exactly.Selectors = []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: expression}}}
	}
	return request
}

// claimDevices creates pods with a claim each, and waits until each was decided once. kube-scheduler needs ten seconds for
// each, so their number is scaled.
func (v *victim) claimDevices(ctx context.Context, devices resourcev1.DeviceClaim) error {
	if err := v.publishDevices(ctx); err != nil {
		return err
	}
	for i := range scaled(v.o.scale, 5, 1) {
		name := fmt.Sprintf("devices-%d", i)
		claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourcev1.ResourceClaimSpec{Devices: devices}}
		if _, err := v.tenant.ResourceV1().ResourceClaims(v.namespace).Create(ctx, claim, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("claim: %w", err)
		}
		pod := tenantPod(name)
		pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "devices", ResourceClaimName: &name}}
		if err := v.create(ctx, 1, func(int) *v1.Pod { return pod }); err != nil {
			return err
		}
		if err := v.settled(ctx); err != nil {
			return err
		}
	}
	return nil
}

// publishDevices creates the devices that the cluster's operator offers, unless they exist.
func (v *victim) publishDevices(ctx context.Context) error {
	class := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: driver}}
	if _, err := v.Client.ResourceV1().DeviceClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return controlplane.Each(ctx, deviceNodes, func(i int) error {
		name := nodeName(i)
		slice := &resourcev1.ResourceSlice{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: resourcev1.ResourceSliceSpec{Driver: driver, NodeName: &name,
				Pool: resourcev1.ResourcePool{Name: name, Generation: 1, ResourceSliceCount: 1}},
		}
		for d := range nodeDevices {
			value := int64(d % 15)
			slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: fmt.Sprintf("device-%d", d),
				Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"value": {IntValue: &value}}})
		}
		_, err := v.Client.ResourceV1().ResourceSlices().Create(ctx, slice, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	})
}
