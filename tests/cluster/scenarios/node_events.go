package main

import (
	"time"

	v1 "k8s.io/api/core/v1"
)

// nodeEventScenarios contains scenarios in which pending pods are created, changed, deleted and created again.
func nodeEventScenarios() []*scenario {
	return []*scenario{
		{name: "gates are removed", run: func(s *stage) {
			s.node("n-1")
			s.pod("gated", gated)
			s.pause(time.Second)
			s.expectAttempts("gated", 0)
			s.ungate("gated")
			s.bound("gated")
			s.reportAttempts("gated")
		}},
		{name: "two gates are removed one after the other", run: func(s *stage) {
			s.node("n-1")
			s.pod("gated", gated, func(p *v1.Pod) {
				p.Spec.SchedulingGates = append(p.Spec.SchedulingGates, v1.PodSchedulingGate{Name: "example.org/even-later"})
			})
			s.pause(noticed)
			s.patchPod("gated", `[{"op":"remove","path":"/spec/schedulingGates/0"}]`)
			s.pause(time.Second)
			s.expectAttempts("gated", 0)
			s.ungate("gated")
			s.bound("gated")
			s.expectAttempts("gated", 1)
		}},
		{name: "a gated pod is deleted", run: func(s *stage) {
			s.node("n-1")
			s.pod("gated", gated)
			s.pause(noticed)
			s.deletePod("gated")
			s.pause(noticed)
			s.pod("gated")
			s.bound("gated")
			s.reportAttempts("gated")
		}},
		{name: "a pending pod is deleted", run: func(s *stage) {
			s.node("n-1")
			s.pod("large", asking("cpu", "5"))
			s.refused("large", "Insufficient cpu")
			s.deletePod("large")
			s.pause(noticed) // pods and nodes are delivered by different watches
			s.resizeNode("n-1", "cpu", "6")
			s.pause(2 * time.Second)
			s.reportAttempts("large")
		}},
		{name: "a pending pod is created again under its name", run: func(s *stage) {
			s.node("n-1")
			s.pod("twice", asking("cpu", "5"))
			s.refused("twice", "Insufficient cpu")
			s.deletePod("twice")
			s.pod("twice", asking("cpu", "6"))
			s.refused("twice", "Insufficient cpu")
			s.pause(noticed)
			s.deletePod("twice")
			s.pod("twice")
			s.bound("twice")
			s.reportAttempts("twice")
		}},
		{name: "a bound pod is created again under its name", run: func(s *stage) {
			s.node("n-1")
			s.pod("twice", asking("cpu", "3"))
			s.bound("twice")
			s.deletePod("twice")
			s.pod("twice", asking("cpu", "2"))
			s.bound("twice")
			s.pod("rest", asking("cpu", "2"))
			s.bound("rest")
		}},
		{name: "a terminating pod is not scheduled", run: func(s *stage) {
			s.node("n-1")
			s.pod("going", gated, finalized)
			s.pause(noticed)
			s.deletePod("going")
			s.pause(noticed)
			s.ungate("going")
			s.pause(2 * time.Second)
			s.reportAttempts("going")
		}},
		{name: "a pending pod that becomes terminating is not scheduled", run: func(s *stage) {
			s.node("n-1")
			s.pod("going", asking("cpu", "5"), finalized)
			s.refused("going", "Insufficient cpu")
			s.pause(2 * time.Second)
			s.deletePod("going")
			s.pause(noticed)
			s.resizeNode("n-1", "cpu", "6")
			s.pause(2 * time.Second)
			s.reportAttempts("going")
		}, seconds: 5},
		{name: "a new label of a pending pod does not make it schedulable", run: func(s *stage) {
			s.node("n-1")
			s.pod("large", asking("cpu", "5"))
			s.refused("large", "Insufficient cpu")
			s.pause(2 * time.Second)
			s.labelPod("large", "colour", "blue")
			s.pause(3 * time.Second)
			s.expectAttempts("large", 1)
		}, seconds: 6},
		{name: "a pending pod reduces its requests", needs: []requirement{resizeInPlace}, run: func(s *stage) {
			s.node("n-1")
			s.pod("large", asking("cpu", "5"))
			s.refused("large", "Insufficient cpu")
			s.resize("large", "cpu", "2")
			s.bound("large")
			s.reportAttempts("large")
		}},
		{name: "another scheduler binds a pending pod", run: func(s *stage) {
			s.node("n-1", tainted("dedicated", "NoSchedule"))
			s.pod("taken", asking("cpu", "3"))
			s.refused("taken", "untolerated taint")
			s.bind("taken", "n-1")
			s.bound("taken")
			s.pause(noticed)
			s.untaint("n-1")
			s.pause(noticed)
			s.pod("next", asking("cpu", "2"))
			s.refused("next", "Insufficient cpu")
			s.reportAttempts("taken")
		}},
		{name: "a pending pod gets the phase Failed", run: func(s *stage) {
			s.node("n-1")
			s.pod("large", asking("cpu", "5"))
			s.refused("large", "Insufficient cpu")
			s.finish("large", v1.PodFailed)
			s.pause(2 * time.Second)
			s.resizeNode("n-1", "cpu", "6")
			s.pause(time.Second)
			s.expectAttempts("large", 1)
		}, seconds: 4},
		{name: "another client overwrites the condition", run: func(s *stage) {
			s.node("n-1")
			s.pod("small")
			s.bound("small")
			s.pod("large", asking("cpu", "5"))
			s.refused("large", "Insufficient cpu")
			s.patchPod("large", `[{"op":"replace","path":"/status/conditions/0/message","value":"changed message"}]`, "status")
			s.refused("large", "changed message")
			s.pause(noticed)
			s.deletePod("small")
			s.refused("large", "Insufficient cpu")
			s.reportAttempts("large")
		}},
		{name: "conditions of other clients are kept", run: func(s *stage) {
			s.node("n-1")
			s.pod("large", gated, asking("cpu", "5"))
			s.patchPod("large", `[{"op":"add","path":"/status/conditions/-","value":{"type":"example.org/checked","status":"True","reason":"Checked","message":"as it should be"}}]`, "status")
			s.pause(noticed)
			s.ungate("large")
			s.refused("large", "Insufficient cpu")
			for _, c := range s.history("large").latest.Status.Conditions {
				s.report("condition %s is %s %s", c.Type, c.Status, c.Message)
			}
		}},
	}
}
