package main

import (
	_ "unsafe" // for linkname

	"k8s.io/kubernetes/pkg/scheduler"
)

// The scheduler's handlers of watch events. Informers would call them from goroutines, in no defined order.

//go:linkname addNode k8s.io/kubernetes/pkg/scheduler.(*Scheduler).addNodeToCache
func addNode(s *scheduler.Scheduler, obj any)

//go:linkname addPod k8s.io/kubernetes/pkg/scheduler.(*Scheduler).addPod
func addPod(s *scheduler.Scheduler, obj any)

//go:linkname addPodGroup k8s.io/kubernetes/pkg/scheduler.(*Scheduler).addPodGroup
func addPodGroup(s *scheduler.Scheduler, obj any)
