package main

import (
	_ "unsafe" // for linkname

	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/backend/queue"
)

// The queue's own timers cannot be used: one of them runs on the real clock whatever clock the queue has, and both run
// in their own goroutines. Their callbacks are called at the corresponding times instead.

//go:linkname flushBackoff k8s.io/kubernetes/pkg/scheduler/backend/queue.(*PriorityQueue).flushBackoffQCompleted
func flushBackoff(q *queue.PriorityQueue, logger klog.Logger)

//go:linkname flushUnschedulable k8s.io/kubernetes/pkg/scheduler/backend/queue.(*PriorityQueue).flushUnschedulableEntitiesLeftover
func flushUnschedulable(q *queue.PriorityQueue, logger klog.Logger)
