package main

import (
	"time"

	v1 "k8s.io/api/core/v1"
)

// atOnce makes a pod disappear immediately on deletion. Other deleted pods stay, because no kubelet runs.
func atOnce(p *v1.Pod) { p.Spec.TerminationGracePeriodSeconds = new(int64) }

// lowPriority makes a pod that uses a whole node, has low priority and disappears immediately on deletion.
func lowPriority(p *v1.Pod) {
	atOnce(p)
	class("low")(p)
	asking("cpu", "4")(p)
}

// preempting contains scenarios with preemption. Only the scheduler and the scenario delete pods.
func preempting() []*scenario {
	return []*scenario{
		{name: "a pod of lower priority is evicted", run: func(s *stage) {
			s.node("n-1")
			s.pod("humble", lowPriority)
			s.bound("humble")
			s.pod("urgent", class("high"), asking("cpu", "3"))
			s.bound("urgent")
		}, seconds: 3},
		{name: "the fewest and least important victims are evicted", run: func(s *stage) {
			s.node("n-1")
			s.pod("keeper", atOnce, class("middle"), asking("cpu", "1"))
			s.bound("keeper")
			s.pod("oldest", atOnce, class("low"), asking("cpu", "1"))
			s.bound("oldest")
			s.pod("large", atOnce, class("low"), asking("cpu", "2"))
			s.bound("large")
			s.pod("urgent", class("high"), asking("cpu", "2"))
			s.bound("urgent")
			s.pause(noticed)
			s.report("pods on nodes: %v", s.occupants())
		}, seconds: 3},
		{name: "the node with the least important victims is chosen", run: func(s *stage) {
			s.node("n-1", labelled("place", "1"))
			s.node("n-2", labelled("place", "2"))
			s.pod("matters", lowPriority, class("middle"), selecting("place", "1"))
			s.pod("humble", lowPriority, selecting("place", "2"))
			s.bound("matters", "humble")
			s.pod("urgent", class("high"), asking("cpu", "3"))
			s.bound("urgent")
		}, seconds: 3},
		{name: "there is no pod of lower priority", run: func(s *stage) {
			s.node("n-1")
			s.node("n-2", allocatable("cpu", "1"))
			s.pod("first", class("high"), asking("cpu", "3"))
			s.bound("first")
			s.pod("second", class("high"), asking("cpu", "3"))
			s.refused("second", "No preemption victims found for incoming pod")
		}},
		{name: "a pod with preemptionPolicy Never evicts no pod", run: func(s *stage) {
			s.node("n-1")
			s.pod("humble", lowPriority)
			s.bound("humble")
			s.pod("polite", class("polite"), asking("cpu", "3"))
			s.refused("polite", "preemptionPolicy=Never")
			s.deletePod("humble")
			s.bound("polite")
		}},
		{name: "eviction does not help against a taint", run: func(s *stage) {
			s.node("n-1")
			s.pod("humble", lowPriority)
			s.bound("humble")
			s.patchNode("n-1", `[{"op":"add","path":"/spec/taints","value":[{"key":"dedicated","effect":"NoSchedule"}]}]`)
			s.pause(noticed)
			s.pod("urgent", class("high"), asking("cpu", "3"))
			s.refused("urgent", "Preemption is not helpful for scheduling")
		}},
		{name: "a budget is respected if another node is possible", run: func(s *stage) {
			s.node("n-1", labelled("place", "1"))
			s.node("n-2", labelled("place", "2"))
			s.pod("guarded", lowPriority, selecting("place", "1"), withLabel("app", "guarded"))
			s.pod("matters", lowPriority, class("middle"), selecting("place", "2"))
			s.bound("guarded", "matters")
			s.finish("guarded", v1.PodRunning)
			s.patchPod("guarded", `[{"op":"add","path":"/status/conditions/-","value":{"type":"Ready","status":"True"}}]`, "status")
			s.budget("guard", "app", "guarded", 1, 0)
			s.pod("urgent", class("high"), asking("cpu", "3"))
			s.bound("urgent")
		}, seconds: 4},
		{name: "a budget is violated if no other node is possible", run: func(s *stage) {
			s.node("n-1")
			s.pod("guarded", lowPriority, withLabel("app", "guarded"))
			s.bound("guarded")
			s.finish("guarded", v1.PodRunning)
			s.patchPod("guarded", `[{"op":"add","path":"/status/conditions/-","value":{"type":"Ready","status":"True"}}]`, "status")
			s.budget("guard", "app", "guarded", 1, 0)
			s.pod("urgent", class("high"), asking("cpu", "3"))
			s.bound("urgent")
		}, seconds: 4},
		{name: "of two pods with a budget only one may be evicted", run: func(s *stage) {
			s.node("n-1")
			for _, name := range []string{"guarded-1", "guarded-2"} {
				s.pod(name, atOnce, class("low"), asking("cpu", "1"), withLabel("app", "guarded"))
				s.bound(name)
				s.finish(name, v1.PodRunning)
				s.patchPod(name, `[{"op":"add","path":"/status/conditions/-","value":{"type":"Ready","status":"True"}}]`, "status")
			}
			s.pod("unguarded", atOnce, class("middle"), asking("cpu", "1"))
			s.bound("unguarded")
			s.budget("guard", "app", "guarded", 1, 1)
			s.pod("urgent", class("high"), asking("cpu", "3"))
			s.bound("urgent")
			s.pause(noticed)
			s.report("pods on nodes: %v", s.occupants())
		}, seconds: 4},
		{name: "three priorities, each preempting the one below", run: func(s *stage) {
			s.node("n-1")
			s.pod("humble", lowPriority)
			s.bound("humble")
			s.pod("better", atOnce, class("middle"), asking("cpu", "3"))
			s.bound("better")
			s.pod("urgent", class("high"), asking("cpu", "3"))
			s.bound("urgent")
		}, seconds: 5},
		{name: "a pod of higher priority arrives during a preemption", run: func(s *stage) {
			s.node("n-1")
			s.pod("slow", class("low"), asking("cpu", "3"))
			s.bound("slow")
			s.pod("better", class("middle"), asking("cpu", "3"))
			s.nominatedTo("better", "n-1")
			s.rest()
			s.pod("urgent", class("high"), asking("cpu", "3"))
			s.nominatedTo("urgent", "n-1")
			s.rest()
			s.deletePod("slow")
			s.bound("urgent")
			s.refused("better", "Insufficient cpu")
		}, seconds: 5},
		{name: "a victim terminates slowly", run: func(s *stage) {
			s.node("n-1")
			s.pod("slow", class("low"), asking("cpu", "3"), finalized)
			s.pod("small", class("low"))
			s.bound("slow", "small")
			s.pod("urgent", class("high"), asking("cpu", "3"))
			s.nominatedTo("urgent", "n-1")
			s.pause(2 * time.Second)
			// The deletion of another pod triggers another attempt; the victim still exists.
			s.deletePod("small")
			s.refused("urgent", "terminating pod on the nominated node")
			s.deletePod("slow")
			s.pause(time.Second)
			s.patchPod("slow", `[{"op":"remove","path":"/metadata/finalizers"}]`)
			s.bound("urgent")
		}, seconds: 7},
		{name: "the resources of a preemption are reserved against pods of lower priority", run: func(s *stage) {
			s.node("n-1")
			s.pod("slow", class("low"), asking("cpu", "3"))
			s.bound("slow")
			s.pod("urgent", class("high"), asking("cpu", "3"))
			s.nominatedTo("urgent", "n-1")
			s.rest()
			s.pod("humble", class("low"), asking("cpu", "2"))
			s.refused("humble", "Insufficient cpu")
			s.deletePod("slow")
			s.bound("urgent")
		}, seconds: 4},
		{name: "another scheduler uses the freed resources", run: func(s *stage) {
			s.node("n-1")
			s.pod("slow", class("low"), asking("cpu", "3"))
			s.bound("slow")
			s.pod("urgent", class("high"), asking("cpu", "3"))
			s.nominatedTo("urgent", "n-1")
			s.rest()
			s.pod("thief", gated, class("high"), asking("cpu", "3"))
			s.lane.stopScheduler()
			s.ungate("thief")
			s.bind("thief", "n-1")
			s.deletePod("slow")
			s.must(s.lane.startScheduler())
			s.refused("urgent", "No preemption victims found for incoming pod")
			s.pause(noticed)
			s.deletePod("thief")
			s.bound("urgent")
		}, seconds: 8},
		{name: "another node becomes feasible during a preemption", run: func(s *stage) {
			s.node("n-1")
			s.pod("slow", class("low"), asking("cpu", "3"))
			s.bound("slow")
			s.pod("urgent", class("high"), asking("cpu", "3"))
			s.nominatedTo("urgent", "n-1")
			s.rest()
			s.node("n-2")
			s.bound("urgent")
		}, seconds: 4},
		{name: "the nominated node is deleted during a preemption", run: func(s *stage) {
			s.node("n-1")
			s.pod("slow", class("low"), asking("cpu", "3"))
			s.bound("slow")
			s.pod("urgent", class("high"), asking("cpu", "3"))
			s.nominatedTo("urgent", "n-1")
			s.rest()
			s.deleteNode("n-1")
			// Before the victim ends, which causes an attempt: without nodes it would fail or not, depending on the time.
			s.node("n-2")
			s.bound("urgent")
			s.deletePod("slow")
		}, seconds: 5},
		{name: "the preempting pod is deleted", run: func(s *stage) {
			s.node("n-1")
			s.pod("slow", class("low"), asking("cpu", "3"))
			s.bound("slow")
			s.pod("urgent", class("high"), asking("cpu", "3"))
			s.nominatedTo("urgent", "n-1")
			s.rest()
			s.pod("next", class("low"), asking("cpu", "2"))
			s.refused("next", "Insufficient cpu")
			s.deletePod("urgent")
			s.deletePod("slow")
			s.bound("next")
		}, seconds: 4},
		{name: "a port of a pod of lower priority", run: func(s *stage) {
			s.node("n-1")
			s.pod("humble", atOnce, class("low"), hostPort("", 8080))
			s.bound("humble")
			s.pod("bystander", atOnce, class("low"))
			s.bound("bystander")
			s.pod("urgent", class("high"), hostPort("", 8080))
			s.bound("urgent")
			s.pause(noticed)
			s.report("pods on nodes: %v", s.occupants())
		}, seconds: 3},
		{name: "a pod that violates anti-affinity is evicted", run: func(s *stage) {
			s.node("n-1")
			s.pod("loud", atOnce, class("low"), withLabel("app", "loud"))
			s.bound("loud")
			s.pod("quiet", class("high"), withAntiAffinity("loud", "kubernetes.io/hostname"))
			s.bound("quiet")
		}, seconds: 3},
		{name: "a pod is evicted because of topology spread", run: func(s *stage) {
			s.node("n-1", labelled("zone", "a"))
			s.node("n-2", labelled("zone", "b"), allocatable("cpu", "0"))
			s.pod("web-1", atOnce, class("low"), withLabel("app", "web"), onlyOn("n-1"))
			s.bound("web-1")
			s.pod("web-2", class("high"), withLabel("app", "web"), spreading("web", "zone", v1.DoNotSchedule))
			s.bound("web-2")
		}, seconds: 3},
		{name: "the API server rejects the victim's deletion, then accepts it", run: func(s *stage) {
			s.node("n-1")
			s.pod("humble", lowPriority)
			s.bound("humble")
			s.lane.proxy.once("/pods/humble", answering(403, "Forbidden", "not today"))
			s.pod("urgent", class("high"), asking("cpu", "3"))
			s.bound("urgent")
		}, uncounted: true},
	}
}
