package main

import (
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// watched returns whether a kind reaches a plugin only through informer events: the caches of DynamicResources.
func watched(object runtime.Object) bool {
	switch object.(type) {
	case *resourcev1.ResourceClaim, *resourcev1.ResourceSlice, *resourcev1.DeviceClass, *resourcev1.DeviceTaintRule:
		return true
	default:
		return false
	}
}
