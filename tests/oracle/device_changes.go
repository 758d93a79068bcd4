package main

import (
	"cmp"
	"fmt"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"
)

// deliver passes a change of a kind that DynamicResources watches to the plugin's caches. Nil: the object did not exist,
// or is deleted.
func (c *Cluster) deliver(before, after runtime.Object) error {
	switch object := cmp.Or(after, before).(type) {
	case *resourcev1.ResourceClaim:
		return c.deliverClaim(object, before != nil, after != nil)
	case *resourcev1.DeviceClass:
		return c.deliverClass(before, after)
	}
	return nil // no hint reads slices or taint rules
}

// deliverClaim changes the claim in the API and waits until the watch has updated the plugin's cache.
func (c *Cluster) deliverClaim(claim *resourcev1.ResourceClaim, existed, exists bool) error {
	resource := resourcev1.SchemeGroupVersion.WithResource("resourceclaims")
	tracker := c.client.Tracker()
	var err error
	switch {
	case !existed:
		err = tracker.Create(resource, claim, claim.Namespace)
	case exists:
		err = tracker.Update(resource, claim, claim.Namespace)
	default:
		err = tracker.Delete(resource, claim.Namespace, claim.Name)
	}
	if err != nil {
		return err
	}
	claims := c.draManager().ResourceClaims()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Microsecond) {
		known, err := claims.Get(claim.Namespace, claim.Name)
		if exists && err == nil && known.ResourceVersion == claim.ResourceVersion || !exists && err != nil {
			return nil
		}
	}
	return fmt.Errorf("the change of claim %s/%s did not reach kube-scheduler's cache", claim.Namespace, claim.Name)
}

// deliverClass calls the handler of the watch.
func (c *Cluster) deliverClass(before, after runtime.Object) error {
	handler, ok := c.draManager().DeviceClassResolver().(cache.ResourceEventHandler)
	if !ok {
		return fmt.Errorf("kube-scheduler's resolver of device classes is a %T", c.draManager().DeviceClassResolver())
	}
	switch {
	case before == nil:
		handler.OnAdd(after, false)
	case after == nil:
		handler.OnDelete(before)
	default:
		handler.OnUpdate(before, after)
	}
	return nil
}

// draManager is shared by all profiles.
func (c *Cluster) draManager() fwk.SharedDRAManager {
	for _, profile := range c.scheduler.Profiles {
		return profile.SharedDRAManager()
	}
	panic("kube-scheduler does not start without a profile")
}
