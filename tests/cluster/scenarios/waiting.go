package main

import (
	v1 "k8s.io/api/core/v1"
)

// waiting is about pods that fit nowhere at first, and what changes that.
func waiting() []*scenario {
	return []*scenario{
		{name: "no nodes at all, then one", run: func(s *stage) {
			s.pod("early")
			s.refused("early", "no nodes available")
			s.node("n-1")
			s.bound("early")
		}},
		{name: "too little CPU, then a pod is deleted", run: func(s *stage) {
			s.node("n-1")
			s.pod("first", asking("cpu", "3"))
			s.bound("first")
			s.pod("second", asking("cpu", "3"))
			s.refused("second", "Insufficient cpu")
			s.deletePod("first")
			s.bound("second")
			s.tellAttempts("second")
		}},
		{name: "too little CPU, then the node grows", run: func(s *stage) {
			s.node("n-1")
			s.pod("large", asking("cpu", "6"))
			s.refused("large", "Insufficient cpu")
			s.resizeNode("n-1", "cpu", "5")
			s.calm(noticed)
			s.resizeNode("n-1", "cpu", "6")
			s.bound("large")
		}},
		{name: "two resources short", run: func(s *stage) {
			s.node("n-1")
			s.node("n-2", allocatable("cpu", "10"))
			s.pod("large", asking("cpu", "6", "memory", "9Gi"))
			s.refused("large", "Insufficient memory")
			s.resizeNode("n-2", "memory", "10Gi")
			s.bound("large")
		}},
		{name: "a taint that is removed", run: func(s *stage) {
			s.node("n-1", tainted("dedicated", v1.TaintEffectNoSchedule))
			s.pod("outsider")
			s.refused("outsider", "untolerated taint")
			s.untaint("n-1")
			s.bound("outsider")
			s.tellAttempts("outsider")
		}},
		{name: "a toleration that is added", run: func(s *stage) {
			s.node("n-1", tainted("dedicated", v1.TaintEffectNoSchedule))
			s.pod("outsider")
			s.refused("outsider", "untolerated taint")
			s.tolerate("outsider", "dedicated")
			s.bound("outsider")
			s.tellAttempts("outsider")
		}},
		{name: "a cordon that is lifted", run: func(s *stage) {
			s.node("n-1", unschedulable)
			s.pod("patient")
			s.refused("patient", "unschedulable")
			s.cordon("n-1", false)
			s.bound("patient")
			s.tellAttempts("patient")
		}},
	}
}
