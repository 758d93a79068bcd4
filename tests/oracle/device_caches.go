package main

import (
	"context"
	"fmt"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/kubernetes/pkg/features"
)

// waitForDevices waits until kube-scheduler's caches of slices and of allocated devices have all objects of the
// informers. WaitForHandlersSync waits for these caches only if a plugin of the configuration registers their events:
// DynamicResources does; NodeResourcesFit and NodeResourcesBalancedAllocation, which score devices, do not.
func (c *Cluster) waitForDevices(factory informers.SharedInformerFactory) error {
	manager := c.draManager()
	if manager == nil {
		return nil // the feature gate is off
	}
	published := len(factory.Resource().V1().ResourceSlices().Informer().GetStore().ListKeys())
	claims := factory.Resource().V1().ResourceClaims().Informer().GetStore().List()
	allocated := countAllocated(claims)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Microsecond) {
		known, err := manager.ResourceSlices().ListWithDeviceTaintRules()
		if err != nil {
			return err
		}
		knownClaims, err := manager.ResourceClaims().List()
		if err != nil {
			return err
		}
		// An error says that a claim arrived during the call, so the state is read again.
		devices := 0
		if state, err := manager.ResourceClaims().GatherAllocatedState(); err == nil {
			devices = len(state.AllocatedDevices) + len(state.AllocatedSharedDeviceIDs)
		}
		if len(known) == published && len(knownClaims) == len(claims) && devices == allocated {
			return nil
		}
		if time.Now().After(deadline) || c.ctx.Err() != nil {
			return fmt.Errorf("kube-scheduler's caches have %d of %d slices, %d of %d claims, %d of %d allocated devices: %w",
				len(known), published, len(knownClaims), len(claims), devices, allocated, context.DeadlineExceeded)
		}
	}
}

// countAllocated returns the number of different devices and shares that the claims use without admin access.
func countAllocated(claims []any) int {
	shares := utilfeature.DefaultFeatureGate.Enabled(features.DRAConsumableCapacity)
	found := make(map[string]bool)
	for _, object := range claims {
		allocation := object.(*resourcev1.ResourceClaim).Status.Allocation
		if allocation == nil {
			continue
		}
		for _, result := range allocation.Devices.Results {
			if result.AdminAccess != nil && *result.AdminAccess {
				continue
			}
			device := fmt.Sprintf("%q %q %q", result.Driver, result.Pool, result.Device)
			if shares && result.ShareID != nil {
				device += fmt.Sprintf(" %q", *result.ShareID)
			}
			found[device] = true
		}
	}
	return len(found)
}
