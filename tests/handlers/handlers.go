// Package handlers delivers changes and the passing of time to a kube-scheduler. Informers and timers would do that from
// goroutines, in no defined order; here it is done when a function returns.
package handlers

import (
	"fmt"
	"reflect"
	_ "unsafe" // for linkname

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"

	"berth.test/objects"
)

//go:linkname addNode k8s.io/kubernetes/pkg/scheduler.(*Scheduler).addNodeToCache
func addNode(s *scheduler.Scheduler, obj any)

//go:linkname updateNode k8s.io/kubernetes/pkg/scheduler.(*Scheduler).updateNodeInCache
func updateNode(s *scheduler.Scheduler, before, after any)

//go:linkname deleteNode k8s.io/kubernetes/pkg/scheduler.(*Scheduler).deleteNodeFromCache
func deleteNode(s *scheduler.Scheduler, obj any)

//go:linkname addPod k8s.io/kubernetes/pkg/scheduler.(*Scheduler).addPod
func addPod(s *scheduler.Scheduler, obj any)

//go:linkname updatePod k8s.io/kubernetes/pkg/scheduler.(*Scheduler).updatePod
func updatePod(s *scheduler.Scheduler, before, after any)

//go:linkname deletePod k8s.io/kubernetes/pkg/scheduler.(*Scheduler).deletePod
func deletePod(s *scheduler.Scheduler, obj any)

//go:linkname addPodGroup k8s.io/kubernetes/pkg/scheduler.(*Scheduler).addPodGroup
func addPodGroup(s *scheduler.Scheduler, obj any)

//go:linkname updatePodGroup k8s.io/kubernetes/pkg/scheduler.(*Scheduler).updatePodGroup
func updatePodGroup(s *scheduler.Scheduler, before, after any)

//go:linkname deletePodGroup k8s.io/kubernetes/pkg/scheduler.(*Scheduler).deletePodGroup
func deletePodGroup(s *scheduler.Scheduler, obj any)

//go:linkname addCompositePodGroup k8s.io/kubernetes/pkg/scheduler.(*Scheduler).addCompositePodGroup
func addCompositePodGroup(s *scheduler.Scheduler, obj any)

//go:linkname updateCompositePodGroup k8s.io/kubernetes/pkg/scheduler.(*Scheduler).updateCompositePodGroup
func updateCompositePodGroup(s *scheduler.Scheduler, before, after any)

//go:linkname deleteCompositePodGroup k8s.io/kubernetes/pkg/scheduler.(*Scheduler).deleteCompositePodGroup
func deleteCompositePodGroup(s *scheduler.Scheduler, obj any)

//go:linkname addToCache k8s.io/kubernetes/pkg/scheduler/util/assumecache.(*AssumeCache).add
func addToCache(c *assumecache.AssumeCache, obj any)

//go:linkname deleteFromCache k8s.io/kubernetes/pkg/scheduler/util/assumecache.(*AssumeCache).delete
func deleteFromCache(c *assumecache.AssumeCache, obj any)

// claimCache returns the cache of claims, which all profiles share. It passes changes to the scheduler's queue.
func claimCache(s *scheduler.Scheduler) (*assumecache.AssumeCache, error) {
	for _, profile := range s.Profiles {
		manager, ok := profile.SharedDRAManager().(*dynamicresources.DefaultDRAManager)
		if !ok {
			break
		}
		tracker := reflect.ValueOf(manager).Elem().FieldByName("resourceClaimTracker")
		return (*assumecache.AssumeCache)(tracker.Elem().FieldByName("cache").UnsafePointer()), nil
	}
	return nil, fmt.Errorf("kube-scheduler has no cache of claims")
}

func deliverClaim(s *scheduler.Scheduler, before, after *resourcev1.ResourceClaim) error {
	cache, err := claimCache(s)
	if err != nil {
		return err
	}
	if after == nil {
		deleteFromCache(cache, before)
	} else {
		addToCache(cache, after)
	}
	return nil
}

// FlushBackoff is what a timer calls. The queue's own timers cannot be used: one of them runs on the real clock whatever
// clock the queue has, and both run in their own goroutines.
//
//go:linkname FlushBackoff k8s.io/kubernetes/pkg/scheduler/backend/queue.(*PriorityQueue).flushBackoffQCompleted
func FlushBackoff(q *queue.PriorityQueue, logger klog.Logger)

// FlushUnschedulable is what the other timer calls.
//
//go:linkname FlushUnschedulable k8s.io/kubernetes/pkg/scheduler/backend/queue.(*PriorityQueue).flushUnschedulableEntitiesLeftover
func FlushUnschedulable(q *queue.PriorityQueue, logger klog.Logger)

// Deliver delivers a new object (before is nil), a changed one, or a deleted one (after is nil). Like an informer, it
// updates the store before it calls the scheduler's handler.
func Deliver(s *scheduler.Scheduler, factory informers.SharedInformerFactory, before, after runtime.Object) error {
	object := after
	if object == nil {
		object = before
	}
	store := objects.StoreOf(factory, object)
	var add, remove func(*scheduler.Scheduler, any)
	var update func(*scheduler.Scheduler, any, any)
	switch object.(type) {
	case *resourcev1.ResourceClaim:
		old, _ := before.(*resourcev1.ResourceClaim)
		current, _ := after.(*resourcev1.ResourceClaim)
		return deliverClaim(s, old, current)
	case *resourcev1.ResourceSlice:
		store = factory.Resource().V1().ResourceSlices().Informer().GetStore()
	case *resourcev1.DeviceClass:
		store = factory.Resource().V1().DeviceClasses().Informer().GetStore()
	case *v1.Node:
		store = factory.Core().V1().Nodes().Informer().GetStore()
		add, update, remove = addNode, updateNode, deleteNode
	case *v1.Pod:
		store = factory.Core().V1().Pods().Informer().GetStore()
		add, update, remove = addPod, updatePod, deletePod
	case *schedulingv1beta1.PodGroup:
		store = factory.Scheduling().V1beta1().PodGroups().Informer().GetStore()
		add, update, remove = addPodGroup, updatePodGroup, deletePodGroup
	case *schedulingv1alpha3.CompositePodGroup:
		store = factory.Scheduling().V1alpha3().CompositePodGroups().Informer().GetStore()
		add, update, remove = addCompositePodGroup, updateCompositePodGroup, deleteCompositePodGroup
	}
	if store == nil {
		return fmt.Errorf("%T: no plugin looks up this kind", object)
	}
	if after == nil {
		if err := store.Delete(before); err != nil || remove == nil {
			return err
		}
		remove(s, before)
		return nil
	}
	if err := store.Add(after); err != nil || add == nil {
		return err
	}
	if before == nil {
		add(s, after)
	} else {
		update(s, before, after)
	}
	return nil
}
