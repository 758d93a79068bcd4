package main

import (
	"cmp"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// change changes an object of a watched kind in the API and waits until the scheduler has received it.
func (c *Cluster) change(before, after runtime.Object) error {
	kind := cmp.Or(after, before)
	meta := kind.(metav1.Object)
	resource := resourcev1.SchemeGroupVersion.WithResource(map[string]string{"*v1.ResourceClaim": "resourceclaims",
		"*v1.ResourceSlice": "resourceslices", "*v1.DeviceClass": "deviceclasses", "*v1.DeviceTaintRule": "devicetaintrules"}[fmt.Sprintf("%T", kind)])
	tracker := c.client.Tracker()
	var err error
	switch {
	case after == nil:
		err = tracker.Delete(resource, meta.GetNamespace(), meta.GetName())
	case before == nil:
		err = tracker.Create(resource, after, meta.GetNamespace())
	default:
		err = tracker.Update(resource, after, meta.GetNamespace())
	}
	if err != nil {
		return err
	}
	for range 2000 {
		if c.received(kind, after) {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	return fmt.Errorf("%T %s was not received", kind, meta.GetName())
}

// received returns whether the plugins read this version of an object.
func (c *Cluster) received(kind, after runtime.Object) bool {
	for _, profile := range c.scheduler.Profiles {
		manager := profile.SharedDRAManager()
		switch object := kind.(type) {
		case *resourcev1.ResourceClaim:
			claim, err := manager.ResourceClaims().Get(object.Namespace, object.Name)
			return (err != nil) == (after == nil) && (err != nil || equality.Semantic.DeepEqual(claim, after))
		case *resourcev1.DeviceClass:
			class, err := manager.DeviceClasses().Get(object.Name)
			// An older class of the same resource gets no implicit name, which no pod requests then.
			named := manager.DeviceClassResolver().GetDeviceClass(v1.ResourceName(resourcev1.ResourceDeviceClassPrefix+object.Name)) != nil ||
				object.Spec.ExtendedResourceName != nil
			return err == nil && named && equality.Semantic.DeepEqual(class, after)
		default:
			return true
		}
	}
	return true
}
