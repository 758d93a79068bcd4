package main

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
)

// waiting contains scenarios with pods that are unschedulable at first, and the changes that help.
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
			s.reportAttempts("second")
		}},
		{name: "too little CPU, then the node grows", run: func(s *stage) {
			s.node("n-1")
			s.pod("large", asking("cpu", "6"))
			s.refused("large", "Insufficient cpu")
			s.resizeNode("n-1", "cpu", "5")
			s.pause(noticed)
			s.resizeNode("n-1", "cpu", "6")
			s.bound("large")
		}},
		{name: "two insufficient resources", run: func(s *stage) {
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
			s.reportAttempts("outsider")
		}},
		{name: "a toleration that is added", run: func(s *stage) {
			s.node("n-1", tainted("dedicated", v1.TaintEffectNoSchedule))
			s.pod("outsider")
			s.refused("outsider", "untolerated taint")
			s.tolerate("outsider", "dedicated")
			s.bound("outsider")
			s.reportAttempts("outsider")
		}},
		{name: "a cordon that is lifted", run: func(s *stage) {
			s.node("n-1", unschedulable)
			s.pod("patient")
			s.refused("patient", "unschedulable")
			s.cordon("n-1", false)
			s.bound("patient")
			s.reportAttempts("patient")
		}},
		{name: "a cordoned node among others", run: func(s *stage) {
			s.node("n-1")
			s.node("n-2")
			s.cordon("n-1", true)
			s.pause(noticed)
			s.pod("first", asking("cpu", "3"))
			s.bound("first")
			s.pod("second", asking("cpu", "3"))
			s.refused("second", "Insufficient cpu")
			s.cordon("n-1", false)
			s.bound("second")
		}},
		{name: "too many pods", run: func(s *stage) {
			s.node("n-1", allocatable("pods", "1"))
			s.pod("first")
			s.bound("first")
			s.pod("second")
			s.refused("second", "Too many pods")
			s.resizeNode("n-1", "pods", "2")
			s.bound("second")
		}},
		{name: "a node gets a label later", run: func(s *stage) {
			s.node("n-1")
			s.pod("choosy", selecting("disk", "ssd"))
			s.refused("choosy", "node affinity/selector")
			s.labelNode("n-1", "disk", "ssd")
			s.bound("choosy")
			s.reportAttempts("choosy")
		}},
		{name: "an irrelevant node label requeues no pod", run: func(s *stage) {
			s.node("n-1")
			s.pod("choosy", selecting("disk", "ssd"))
			s.pod("large", asking("cpu", "5"))
			s.refused("choosy", "node affinity/selector")
			s.refused("large", "Insufficient cpu")
			s.pause(2 * time.Second)
			s.labelNode("n-1", "disk", "hdd")
			s.pause(time.Second)
			s.labelNode("n-1", "colour", "blue")
			s.pause(3 * time.Second)
			s.expectAttempts("choosy", 1)
			s.expectAttempts("large", 1)
		}, seconds: 7},
		{name: "an irrelevant taint requeues no pod", run: func(s *stage) {
			s.node("n-1", tainted("dedicated", v1.TaintEffectNoSchedule), tainted("broken", v1.TaintEffectNoExecute))
			s.pod("outsider")
			s.refused("outsider", "untolerated taint")
			s.pause(2 * time.Second)
			s.patchNode("n-1", `[{"op":"remove","path":"/spec/taints/0"}]`)
			s.pause(3 * time.Second)
			s.expectAttempts("outsider", 1)
		}, seconds: 6},
		{name: "more CPU that is still insufficient", run: func(s *stage) {
			s.node("n-1")
			s.pod("first")
			s.bound("first")
			s.pod("large", asking("cpu", "6"))
			s.refused("large", "Insufficient cpu")
			s.pause(2 * time.Second)
			s.resizeNode("n-1", "cpu", "5")
			s.deletePod("first")
			s.pause(3 * time.Second)
			s.reportAttempts("large")
		}, seconds: 6},
		{name: "restricted to the name of a missing node until it is created", run: func(s *stage) {
			s.node("n-1")
			s.pod("daemon", onlyOn("n-2"))
			s.refused("daemon", "")
			s.node("n-2")
			s.bound("daemon")
		}},
		{name: "restricted to the name of a cordoned node", run: func(s *stage) {
			s.node("n-1", unschedulable)
			s.node("n-2")
			s.pod("daemon", onlyOn("n-1"))
			s.refused("daemon", "")
			s.cordon("n-1", false)
			s.bound("daemon")
		}},
		{name: "a port of the node is taken, then freed", run: func(s *stage) {
			s.node("n-1")
			s.pod("first", hostPort("", 8080))
			s.bound("first")
			s.pod("second", hostPort("", 8080))
			s.refused("second", "free ports")
			s.deletePod("first")
			s.bound("second")
			s.reportAttempts("second")
		}},
		{name: "a port at one address does not block other addresses", run: func(s *stage) {
			s.node("n-1")
			s.pod("first", hostPort("127.0.0.1", 8080))
			s.bound("first")
			s.pod("second", hostPort("127.0.0.2", 8080))
			s.bound("second")
			s.pod("all", hostPort("0.0.0.0", 8080))
			s.refused("all", "free ports")
		}},
		{name: "each node is rejected for another reason", run: func(s *stage) {
			s.node("n-1", unschedulable)
			s.node("n-2", tainted("dedicated", v1.TaintEffectNoSchedule), labelled("disk", "ssd"))
			s.node("n-3")
			s.node("n-4", labelled("disk", "ssd"), allocatable("cpu", "1"))
			s.pod("choosy", selecting("disk", "ssd"), asking("cpu", "2"))
			s.refused("choosy", "Insufficient cpu")
			s.pause(1500 * time.Millisecond)
			// The message changes with the cluster.
			s.untaint("n-2")
			s.bound("choosy")
		}},
		{name: "the message follows the cluster", run: func(s *stage) {
			s.node("n-1")
			s.pod("large", asking("cpu", "5"))
			s.refused("large", "0/1 nodes")
			s.pause(2 * time.Second)
			s.node("n-2", allocatable("cpu", "5"), tainted("dedicated", v1.TaintEffectNoSchedule))
			s.refused("large", "0/2 nodes")
			s.pause(3 * time.Second)
			s.node("n-3", allocatable("cpu", "6"), unschedulable)
			s.refused("large", "0/3 nodes")
			s.reportAttempts("large")
		}, seconds: 9},
		{name: "replacing a taint by another requeues no pod", run: func(s *stage) {
			s.node("n-1", tainted("dedicated", v1.TaintEffectNoSchedule))
			s.pod("outsider")
			s.refused("outsider", "untolerated taint")
			s.pause(2 * time.Second)
			s.patchNode("n-1", `[{"op":"replace","path":"/spec/taints/0/key","value":"reserved"}]`)
			s.pause(2 * time.Second)
			s.expectAttempts("outsider", 1)
		}, seconds: 5},
		{name: "an irrelevant toleration", run: func(s *stage) {
			s.node("n-1", tainted("dedicated", v1.TaintEffectNoSchedule))
			s.pod("outsider")
			s.refused("outsider", "untolerated taint")
			s.pause(2 * time.Second)
			s.tolerate("outsider", "reserved")
			s.pause(2 * time.Second)
			s.reportAttempts("outsider")
		}, seconds: 5},
		{name: "a node heartbeat requeues no pod", run: func(s *stage) {
			s.node("n-1")
			s.pod("large", asking("cpu", "5"))
			s.pod("choosy", selecting("disk", "ssd"))
			s.refused("large", "Insufficient cpu")
			s.refused("choosy", "node affinity")
			s.pause(2 * time.Second)
			s.patchNode("n-1", `[{"op":"add","path":"/status/conditions/0/lastHeartbeatTime","value":"2026-01-01T00:00:00Z"}]`, "status")
			s.patchNode("n-1", `[{"op":"replace","path":"/status/conditions/0/status","value":"False"}]`, "status")
			s.patchNode("n-1", `[{"op":"add","path":"/metadata/annotations","value":{"example.org/note":"x"}}]`)
			s.pause(2 * time.Second)
			s.expectAttempts("large", 1)
			s.expectAttempts("choosy", 1)
		}, seconds: 5},
		{name: "the deletion of a pod without ports does not help a pod with a port", run: func(s *stage) {
			s.node("n-1")
			s.pod("first", hostPort("", 8080))
			s.pod("plain")
			s.bound("first", "plain")
			s.pod("second", hostPort("", 8080))
			s.refused("second", "free ports")
			s.pause(2 * time.Second)
			s.deletePod("plain")
			s.pause(2 * time.Second)
			s.expectAttempts("second", 1)
		}, seconds: 5},
		{name: "a pod reduces its requests too little", needs: []requirement{resizeInPlace}, run: func(s *stage) {
			s.node("n-1")
			s.pod("shrinking", asking("cpu", "3"))
			s.bound("shrinking")
			s.pod("large", asking("cpu", "3"))
			s.refused("large", "Insufficient cpu")
			s.pause(2 * time.Second)
			s.resize("shrinking", "cpu", "2")
			s.pause(2 * time.Second)
			s.reportAttempts("large")
			s.resize("shrinking", "cpu", "1")
			s.bound("large")
		}, seconds: 6},
		{name: "a terminating pod keeps its resources until it is removed", run: func(s *stage) {
			s.node("n-1")
			s.pod("lingering", asking("cpu", "3"), finalized)
			s.bound("lingering")
			s.deletePod("lingering")
			s.pod("next", asking("cpu", "3"))
			s.refused("next", "Insufficient cpu")
			s.pause(2 * time.Second)
			s.expectAttempts("next", 1)
			s.patchPod("lingering", `[{"op":"remove","path":"/metadata/finalizers"}]`)
			s.bound("next")
		}, seconds: 4},
		{name: "six pending pods are retried in the order of their priority", anyNode: true, run: func(s *stage) {
			s.node("n-1", unschedulable)
			for i, urgency := range []string{"low", "high", "", "high", "low", ""} {
				name := fmt.Sprint("number-", i)
				s.pod(name, class(urgency))
				s.refused(name, "unschedulable")
			}
			s.pause(3 * time.Second)
			s.cordon("n-1", false)
			for i := range 6 {
				s.bound(fmt.Sprint("number-", i))
			}
			s.report("order of the attempts: %v", s.attemptOrder())
		}, seconds: 5},
	}
}
