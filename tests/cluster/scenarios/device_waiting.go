package main

import (
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"berth.test/cluster/controlplane"
)

// deviceWaiting contains scenarios with pods that wait for classes, claims, slices or devices.
func deviceWaiting() []*scenario {
	return []*scenario{
		{name: "a missing device class", run: func(s *stage) {
			s.node("n-1")
			s.slice("gpus", ofNode("n-1"), with("gpu-0"))
			s.deviceClaim("one", request("r", "gpu"))
			s.pod("early", claiming("one"))
			s.refused("early", "device class gpu does not exist")
			s.deviceClass("other")
			s.pause(1500 * time.Millisecond)
			s.deviceClass("gpu")
			s.bound("early")
		}, seconds: 3},
		{name: "a missing claim", run: func(s *stage) {
			s.node("n-1")
			s.deviceClass("gpu")
			s.slice("gpus", ofNode("n-1"), with("gpu-0"))
			s.pod("early", claiming("one"))
			s.pause(time.Second)
			s.expectAttempts("early", 0)
			s.deviceClaim("one", request("r", "gpu"))
			s.bound("early")
			s.reportAttempts("early")
		}},
		{name: "a missing claim template", run: func(s *stage) {
			s.node("n-1")
			s.deviceClass("gpu")
			s.slice("gpus", ofNode("n-1"), with("gpu-0"))
			s.pod("early", claimingFrom("made"))
			s.pause(time.Second)
			s.expectAttempts("early", 0)
			s.claimTemplate("made", request("r", "gpu"))
			s.bound("early")
			s.reportAttempts("early")
		}, seconds: 4},
		{name: "a claim is deleted and created again while its pod waits", run: func(s *stage) {
			s.node("n-1")
			s.deviceClass("gpu")
			s.deviceClaim("one", request("r", "gpu"))
			s.pod("patient", claiming("one"))
			s.refused("patient", "cannot allocate all claims")
			s.pause(1500 * time.Millisecond)
			s.deleteDeviceClaim("one")
			s.claimGone("one")
			s.slice("gpus", ofNode("n-1"), with("gpu-0"))
			s.pause(time.Second)
			s.reportAttempts("patient")
			s.deviceClaim("one", request("r", "gpu"))
			s.bound("patient")
		}, seconds: 4},
		{name: "a pod waits until a slice appears", run: func(s *stage) {
			s.node("n-1")
			s.deviceClass("gpu")
			s.deviceClaim("one", request("r", "gpu"))
			s.pod("patient", claiming("one"))
			s.refused("patient", "cannot allocate all claims")
			s.pause(1500 * time.Millisecond)
			s.slice("gpus", ofNode("n-1"), with("gpu-0"))
			s.bound("patient")
			s.reportAttempts("patient")
		}, seconds: 3},
		{name: "a pod waits until its pool is complete", run: func(s *stage) {
			s.node("n-1")
			s.deviceClass("gpu")
			s.slice("gpus-a", ofNode("n-1"), inPool("pool", 1, 2), with("gpu-0"))
			s.deviceClaim("one", request("r", "gpu"))
			s.deviceClaim("all", request("r", "gpu", allDevices))
			s.pod("patient", claiming("one"))
			s.refused("patient", "cannot allocate all claims")
			s.pause(1500 * time.Millisecond)
			// An error is retried after a second: the pod has to be gone by then.
			s.pod("greedy", claiming("all"))
			s.refused("greedy", "is currently being updated")
			s.deletePod("greedy")
			s.slice("gpus-b", ofNode("n-1"), inPool("pool", 1, 2), with("gpu-1"))
			s.bound("patient")
		}, seconds: 4},
		{name: "a newer generation of a pool", run: func(s *stage) {
			s.node("n-1")
			s.deviceClass("gpu")
			s.slice("gpus-old", ofNode("n-1"), inPool("pool", 1, 1), with("gpu-0"))
			s.slice("gpus-new", ofNode("n-1"), inPool("pool", 2, 1), with("gpu-1"))
			s.deviceClaim("one", request("r", "gpu"))
			s.pod("first", claiming("one"))
			s.bound("first")
			s.deviceClaim("two", request("r", "gpu"))
			s.pod("second", claiming("two"))
			s.refused("second", "cannot allocate all claims")
			s.pause(1500 * time.Millisecond)
			s.changeSlice("gpus-new", withoutDevices, with("gpu-1"), with("gpu-2"))
			s.bound("second")
		}, seconds: 4},
		{name: "a pool with two devices of one name", run: func(s *stage) {
			s.node("n-1")
			s.deviceClass("gpu")
			s.slice("gpus-a", ofNode("n-1"), inPool("pool", 1, 2), with("gpu-0"))
			s.slice("gpus-b", ofNode("n-1"), inPool("pool", 1, 2), with("gpu-0"))
			s.deviceClaim("one", request("r", "gpu"))
			s.pod("patient", claiming("one"))
			s.refused("patient", "invalid resource pools were encountered")
		}},
		{name: "the devices of a deleted pod are given to the next", run: func(s *stage) {
			s.node("n-1")
			s.deviceClass("gpu")
			s.slice("gpus", ofNode("n-1"), with("gpu-0"))
			s.deviceClaim("one", request("r", "gpu"))
			s.deviceClaim("two", request("r", "gpu"))
			s.pod("first", claiming("one"))
			s.bound("first")
			s.pod("second", claiming("two"))
			s.refused("second", "cannot allocate all claims")
			s.pause(1500 * time.Millisecond)
			s.deletePod("first")
			s.bound("second")
			s.released("one")
		}, seconds: 4},
		{name: "the devices of a finished pod are given to the next", run: func(s *stage) {
			s.node("n-1")
			s.deviceClass("gpu")
			s.slice("gpus", ofNode("n-1"), with("gpu-0"))
			s.claimTemplate("made", request("r", "gpu"))
			s.pod("first", claimingFrom("made"))
			s.bound("first")
			s.pod("second", claimingFrom("made"))
			s.refused("second", "cannot allocate all claims")
			s.pause(1500 * time.Millisecond)
			s.finish("first", "Succeeded")
			s.bound("second")
			s.claimGone(s.claimNamed("CLAIM-made-OF-first"))
		}, seconds: 4},
		{name: "an allocation that fits no node any more is removed", run: func(s *stage) {
			s.node("n-1", labelled("place", "1"))
			s.node("n-2", labelled("place", "2"))
			s.deviceClass("gpu")
			s.slice("n-1-gpus", ofNode("n-1"), with("gpu-0"))
			s.slice("n-2-gpus", ofNode("n-2"), with("gpu-0"))
			s.deviceClaim("one", request("r", "gpu"))
			// The scheduler announces the node by a nomination, which a binding may overtake.
			s.announced("one", "unlucky", "n-1")
			s.announced("one", "unlucky", "n-2")
			// The claim is allocated on n-1, but its pod cannot run there any more.
			s.lane.proxy.once("/pods/unlucky/binding", func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				s.cordon("n-1", true)
				s.pause(noticed)
				answering(http.StatusForbidden, "Forbidden", "not today")(w, r, next)
			})
			s.pod("unlucky", claiming("one"), preferring("place", "1"))
			s.bound("unlucky")
			s.reportAttempts("unlucky")
		}, seconds: 5},
		{name: "a claim that another pod uses is not deallocated", run: func(s *stage) {
			s.node("n-1")
			s.node("n-2")
			s.deviceClass("gpu")
			s.slice("n-1-gpus", ofNode("n-1"), with("gpu-0"))
			s.slice("n-2-gpus", ofNode("n-2"), with("gpu-0"))
			s.deviceClaim("common", request("r", "gpu"))
			s.pod("first", claiming("common"), onlyOn("n-1"))
			s.bound("first")
			s.pod("second", claiming("common"), onlyOn("n-2"))
			s.refused("second", "resourceclaim not available on the node")
			s.pause(2 * time.Second)
			s.reportAttempts("second")
			s.deletePod("first")
			s.bound("second")
		}, finalClaims: true, seconds: 6},
		{name: "a claim is being deleted", run: func(s *stage) {
			s.node("n-1")
			s.deviceClass("gpu")
			s.slice("gpus", ofNode("n-1"), with("gpu-0"))
			s.deviceClaim("one", request("r", "gpu"))
			s.pod("first", claiming("one"))
			s.bound("first")
			s.deleteDeviceClaim("one")
			s.pod("second", claiming("one"))
			s.pause(time.Second)
			s.expectAttempts("second", 0)
			s.deletePod("first")
			s.claimGone("one")
		}, seconds: 3},
		{name: "a claim template's claim belongs to another pod", needs: []requirement{foreignClaims}, run: func(s *stage) {
			s.node("n-1")
			s.deviceClass("gpu")
			s.slice("gpus", ofNode("n-1"), with("gpu-0"))
			s.claimTemplate("made", request("r", "gpu"))
			s.pod("first", claimingFrom("made"), gated)
			claim := s.claimOf("first", "made")
			s.patchDeviceClaim(claim, `[{"op":"replace","path":"/metadata/ownerReferences/0/uid","value":"00000000-0000-0000-0000-000000000000"}]`)
			s.pause(noticed)
			s.ungate("first")
			// The controller makes another claim.
			s.bound("first")
			s.reportAttempts("first")
		}, seconds: 3},
	}
}

// deviceBinding contains scenarios about the writes of claims.
func deviceBinding() []*scenario {
	return []*scenario{
		{name: "a device becomes ready", needs: []requirement{deviceConditions}, run: func(s *stage) {
			s.node("n-1")
			s.deviceClass("gpu")
			s.slice("fabric", ofAllNodes, with("gpu-0", becomingReady))
			s.deviceClaim("one", request("r", "gpu"))
			s.pod("patient", claiming("one"))
			s.allocated("one")
			s.setCondition("one", "example.com/attached", metav1.ConditionTrue, "Attached", "")
			s.bound("patient")
			s.reportAttempts("patient")
		}, seconds: 8},
		{name: "a device fails to become ready", needs: []requirement{deviceConditions}, anyNomination: true, run: func(s *stage) {
			s.node("n-1")
			s.deviceClass("gpu")
			s.slice("fabric", ofAllNodes, with("gpu-0", becomingReady))
			s.deviceClaim("one", request("r", "gpu"))
			s.pod("unlucky", claiming("one"))
			s.allocated("one")
			s.changeSlice("fabric", withoutDevices, with("gpu-1"))
			s.setCondition("one", "example.com/broken", metav1.ConditionTrue, "Broken", `the "cable" is cut`)
			s.refused("unlucky", "device binding failed")
			s.bound("unlucky")
			s.reportAttempts("unlucky")
		}, seconds: 12},
		{name: "a device is never ready", needs: []requirement{deviceConditions}, run: func(s *stage) {
			s.node("n-1")
			s.deviceClass("gpu")
			s.slice("fabric", ofAllNodes, with("gpu-0", becomingReady))
			s.deviceClaim("one", request("r", "gpu"))
			s.pod("unlucky", claiming("one"))
			s.refused("unlucky", "device binding timeout")
			s.reportAttempts("unlucky")
		}, seconds: 10},
		{name: "devices that are ready at once are preferred", needs: []requirement{deviceConditions}, run: func(s *stage) {
			s.node("n-1")
			s.deviceClass("gpu")
			s.slice("a-fabric", ofAllNodes, with("gpu-0", becomingReady))
			s.slice("b-local", ofNode("n-1"), with("gpu-0"))
			s.deviceClaim("one", request("r", "gpu"))
			s.pod("quick", claiming("one"))
			s.bound("quick")
		}},
		{name: "the API server rejects an allocation, then accepts it", anyNomination: true, run: func(s *stage) {
			s.node("n-1")
			s.deviceClass("gpu")
			s.slice("gpus", ofNode("n-1"), with("gpu-0"))
			s.deviceClaim("one", request("r", "gpu"))
			s.lane.proxy.once("/resourceclaims/one/status", answering(http.StatusForbidden, "Forbidden", "not today"))
			s.pod("refused", claiming("one"))
			s.bound("refused")
			s.reportAttempts("refused")
		}},
		{name: "the API server rejects a finalizer, then accepts it", anyNomination: true, run: func(s *stage) {
			s.node("n-1")
			s.deviceClass("gpu")
			s.slice("gpus", ofNode("n-1"), with("gpu-0"))
			s.deviceClaim("one", request("r", "gpu"))
			nominated := func() { s.expected("refused", "n-1") }
			s.lane.proxy.once("/resourceclaims/one", after(nominated, answering(http.StatusForbidden, "Forbidden", "not today")))
			s.lane.proxy.once("/resourceclaims/one", carryAfter(nominated))
			s.pod("refused", claiming("one"))
			s.bound("refused")
			s.reportAttempts("refused")
		}},
		{name: "the response to an allocation is lost", run: func(s *stage) {
			s.node("n-1")
			s.deviceClass("gpu")
			s.slice("gpus", ofNode("n-1"), with("gpu-0"), with("gpu-1"))
			s.deviceClaim("one", request("r", "gpu"))
			s.deviceClaim("two", request("r", "gpu"))
			s.lane.proxy.once("/resourceclaims/one/status", controlplane.LoseAnswer)
			s.pod("unheard", claiming("one"))
			s.attempted("unheard", 1)
			s.pod("next", claiming("two"))
			s.bound("unheard", "next")
			s.report("%v", s.doubleAllocations())
		}, finalClaims: true, anyNomination: true, seconds: 4, differs: &difference{
			why:           "an allocation whose answer was lost counts if it took effect",
			onlyReference: []string{"pod unheard: event Warning FailedScheduling", "pod unheard: condition False"},
		}},
		{name: "a claim changes before its allocation is written", run: func(s *stage) {
			s.node("n-1")
			s.deviceClass("gpu")
			s.slice("gpus", ofNode("n-1"), with("gpu-0"))
			s.deviceClaim("one", request("r", "gpu"))
			s.beforeAllocation("one", func() {
				s.patchDeviceClaim("one", `[{"op":"add","path":"/metadata/annotations","value":{"example.org/note":"x"}}]`)
				s.pause(noticed)
			})
			s.pod("first", claiming("one"))
			s.bound("first")
			s.reportAttempts("first")
		}},
		{name: "a claim is deleted before its allocation is written", run: func(s *stage) {
			s.node("n-1")
			s.deviceClass("gpu")
			s.slice("gpus", ofNode("n-1"), with("gpu-0"))
			s.deviceClaim("one", request("r", "gpu"))
			s.beforeAllocation("one", func() {
				s.deleteDeviceClaim("one")
			})
			s.pod("first", claiming("one"))
			s.attempted("first", 1)
			s.pause(2 * time.Second)
			s.deviceClaim("two", request("r", "gpu"))
			s.pod("second", claiming("two"))
			s.bound("second")
		}, seconds: 4},
		{name: "another scheduler allocates a claim first", run: func(s *stage) {
			s.node("n-1")
			s.deviceClass("gpu")
			s.slice("gpus", ofNode("n-1"), with("gpu-0"), with("gpu-1"))
			s.deviceClaim("one", request("r", "gpu"))
			s.beforeAllocation("one", func() {
				s.allocate("one", "gpus", "gpu-1")
				s.pause(noticed)
			})
			s.pod("first", claiming("one"))
			s.bound("first")
			s.reportAttempts("first")
		}, seconds: 3},
		{name: "a binding fails and the claim stays allocated", anyNomination: true, run: func(s *stage) {
			s.node("n-1")
			s.deviceClass("gpu")
			s.slice("gpus", ofNode("n-1"), with("gpu-0"))
			s.deviceClaim("one", request("r", "gpu"))
			s.lane.proxy.once("/pods/refused/binding", answering(http.StatusForbidden, "Forbidden", "not today"))
			s.pod("refused", claiming("one"))
			s.bound("refused")
			s.reportAttempts("refused")
		}, seconds: 3},
		{name: "a pod with a claim is deleted before its binding", run: func(s *stage) {
			s.node("n-1")
			s.deviceClass("gpu")
			s.slice("gpus", ofNode("n-1"), with("gpu-0"))
			s.deviceClaim("one", request("r", "gpu"))
			s.deviceClaim("two", request("r", "gpu"))
			s.before("unlucky", func() { s.deletePod("unlucky"); s.pause(noticed) })
			s.create("unlucky", claiming("one"))
			s.attempted("unlucky", 1)
			s.pause(time.Second)
			s.released("one")
			s.pod("next", claiming("two"))
			s.bound("next")
		}, differs: &difference{
			why:           "nothing is written about a pod that is gone",
			onlyReference: []string{"pod unlucky: event Warning FailedScheduling"},
		}, seconds: 4},
		{name: "the scheduler is killed between a claim's allocation and the binding", run: func(s *stage) {
			s.node("n-1")
			s.deviceClass("gpu")
			s.slice("gpus", ofNode("n-1"), with("gpu-0"), with("gpu-1"))
			s.deviceClaim("one", request("r", "gpu"))
			received := make(chan struct{})
			s.lane.proxy.once("/pods/orphan/binding", func(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
				close(received)
				<-r.Context().Done()
			})
			s.pod("orphan", claiming("one"))
			<-received
			s.lane.scheduler.Kill()
			s.must(s.lane.startScheduler())
			s.bound("orphan")
			s.expectAttempts("orphan", 2)
		}, seconds: 4},
	}
}
