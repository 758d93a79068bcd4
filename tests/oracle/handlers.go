package main

import (
	_ "unsafe" // for linkname

	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/backend/queue"
)

// The scheduler's handlers of watch events, and the queue's flush of backoffQ. Informers and timers would call them from
// goroutines, in no defined order.

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

//go:linkname flushBackoff k8s.io/kubernetes/pkg/scheduler/backend/queue.(*PriorityQueue).flushBackoffQCompleted
func flushBackoff(q *queue.PriorityQueue, logger klog.Logger)
