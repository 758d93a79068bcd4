package main

import (
	_ "unsafe" // for linkname

	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/backend/queue"
)

// The queue's own timers cannot be used here: one of the two runs on the real clock whatever clock the queue
// was given, and both run on goroutines of their own. So what they call is called at the times at which they
// would.

//go:linkname flushBackoff k8s.io/kubernetes/pkg/scheduler/backend/queue.(*PriorityQueue).flushBackoffQCompleted
func flushBackoff(q *queue.PriorityQueue, logger klog.Logger)

//go:linkname flushUnschedulable k8s.io/kubernetes/pkg/scheduler/backend/queue.(*PriorityQueue).flushUnschedulableEntitiesLeftover
func flushUnschedulable(q *queue.PriorityQueue, logger klog.Logger)
