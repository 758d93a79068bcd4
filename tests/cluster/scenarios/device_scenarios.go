package main

import (
	"errors"
	"fmt"
	"time"

	resourcev1 "k8s.io/api/resource/v1"

	"berth.test/cluster/controlplane"
)

// model is an expression about the attribute model of a device.
func model(name string) string {
	return fmt.Sprintf("device.attributes[%q].model == %q", gpuDriver, name)
}

// deviceScenarios contains scenarios about the choice of devices. The claim controller is the real one.
func deviceScenarios() []*scenario {
	return []*scenario{
		{name: "a claim gets a device", run: func(s *stage) {
			s.node("n-1")
			s.node("n-2")
			s.deviceClass("gpu")
			s.slice("n-2-gpus", ofNode("n-2"), with("gpu-0"), with("gpu-1"))
			s.deviceClaim("one", request("r", "gpu"))
			s.pod("first", claiming("one"))
			s.bound("first")
			s.reportAttempts("first")
		}},
		{name: "a claim from a template gets a device", run: func(s *stage) {
			s.node("n-1")
			s.deviceClass("gpu")
			s.slice("gpus", ofNode("n-1"), with("gpu-0"), with("gpu-1"))
			s.claimTemplate("made", request("r", "gpu"))
			s.pod("first", claimingFrom("made"))
			s.bound("first")
			s.pod("second", claimingFrom("made"))
			s.bound("second")
			s.pod("third", claimingFrom("made"))
			s.refused("third", "cannot allocate all claims")
		}},
		{name: "several claims of a pod", run: func(s *stage) {
			s.node("n-1")
			s.deviceClass("gpu")
			s.slice("gpus", ofNode("n-1"), with("gpu-0", attribute("model", "small")), with("gpu-1", attribute("model", "large")), with("gpu-2", attribute("model", "small")))
			s.deviceClaim("second", request("any", "gpu"))
			s.deviceClaim("first", request("small", "gpu", matching(model("small"))), request("large", "gpu", matching(model("large"))))
			s.pod("both", claiming("second", "first"))
			s.bound("both")
		}},
		{name: "two pods share a claim", run: func(s *stage) {
			s.node("n-1")
			s.node("n-2")
			s.deviceClass("gpu")
			s.slice("gpus", ofNode("n-2"), with("gpu-0"))
			s.deviceClaim("common", request("r", "gpu"))
			s.pod("first", claiming("common"))
			s.bound("first")
			s.pod("second", claiming("common"))
			s.bound("second")
			s.pod("elsewhere", claiming("common"), onlyOn("n-1"))
			s.refused("elsewhere", "resourceclaim not available on the node")
		}},
		{name: "two devices for one request", run: func(s *stage) {
			s.node("n-1")
			s.deviceClass("gpu")
			s.slice("gpus", ofNode("n-1"), with("gpu-0"), with("gpu-1"), with("gpu-2"))
			s.deviceClaim("pair", request("r", "gpu", count(2)))
			s.deviceClaim("other-pair", request("r", "gpu", count(2)))
			s.pod("first", claiming("pair"))
			s.bound("first")
			s.pod("second", claiming("other-pair"))
			s.refused("second", "cannot allocate all claims")
		}},
		{name: "all devices of a class", run: func(s *stage) {
			s.node("n-1", labelled("place", "1"))
			s.node("n-2", labelled("place", "2"))
			s.deviceClass("gpu")
			s.deviceClass("large", model("large"))
			s.slice("n-1-gpus", ofNode("n-1"), with("gpu-0", attribute("model", "large")), with("gpu-1", attribute("model", "small")), with("gpu-2", attribute("model", "large")))
			s.slice("n-2-gpus", ofNode("n-2"), with("gpu-0", attribute("model", "small")))
			s.deviceClaim("everything-large", request("r", "large", allDevices))
			s.deviceClaim("everything", request("r", "gpu", allDevices))
			s.pod("first", claiming("everything-large"))
			s.bound("first")
			s.pod("second", claiming("everything"), selecting("place", "1"))
			s.refused("second", "cannot allocate all claims")
		}},
		{name: "the first available alternative", run: func(s *stage) {
			s.node("n-1")
			s.deviceClass("gpu")
			s.slice("gpus", ofNode("n-1"), with("gpu-0", attribute("model", "small")), with("gpu-1", attribute("model", "small")), with("gpu-2", attribute("model", "large")))
			for _, name := range []string{"first", "second", "third"} {
				s.deviceClaim(name, alternatives("r", request("large", "gpu", matching(model("large"))), request("small", "gpu", matching(model("small")), count(2))))
				s.pod(name, claiming(name))
				if name != "third" {
					s.bound(name)
				}
			}
			s.refused("third", "cannot allocate all claims")
		}},
		{name: "the better alternative determines the node", run: func(s *stage) {
			s.deviceClass("gpu")
			for i, name := range []string{"small", "large", "small"} {
				node := fmt.Sprint("n-", i+1)
				s.node(node)
				s.slice(node+"-gpus", ofNode(node), with("gpu-0", attribute("model", name)))
			}
			s.deviceClaim("choice", alternatives("r", request("large", "gpu", matching(model("large"))), request("small", "gpu", matching(model("small")))))
			s.pod("choosy", claiming("choice"))
			s.bound("choosy")
		}},
		{name: "devices with equal attributes", run: func(s *stage) {
			s.node("n-1")
			s.deviceClass("gpu")
			s.slice("gpus", ofNode("n-1"), with("gpu-0", attribute("numa", "a")), with("gpu-1", attribute("numa", "b")), with("gpu-2", attribute("numa", "b")), with("gpu-3"))
			s.deviceClaim("near", request("x", "gpu"), request("y", "gpu"), sameAttribute("numa"))
			s.pod("near", claiming("near"))
			s.bound("near")
			s.deviceClaim("nearer", request("x", "gpu", count(2)), sameAttribute("numa", "x"))
			s.pod("nearer", claiming("nearer"))
			s.refused("nearer", "cannot allocate all claims")
		}},
		{name: "devices with distinct attributes", needs: []requirement{sharedDevices}, run: func(s *stage) {
			s.node("n-1")
			s.deviceClass("gpu")
			s.slice("gpus", ofNode("n-1"), with("gpu-0", attribute("numa", "a")), with("gpu-1", attribute("numa", "a")), with("gpu-2", attribute("numa", "b")))
			s.deviceClaim("far", request("x", "gpu", count(2)), distinctAttribute("numa"))
			s.pod("far", claiming("far"))
			s.bound("far")
		}},
		{name: "admin access to a device in use", run: func(s *stage) {
			s.node("n-1")
			s.deviceClass("gpu")
			s.admitAdmins()
			s.slice("gpus", ofNode("n-1"), with("gpu-0"))
			s.deviceClaim("used", request("r", "gpu"))
			s.pod("user", claiming("used"))
			s.bound("user")
			s.deviceClaim("watched", request("r", "gpu", asAdmin))
			s.pod("admin", claiming("watched"))
			s.bound("admin")
			s.deviceClaim("all", request("r", "gpu", asAdmin, allDevices))
			s.pod("other-admin", claiming("all"))
			s.bound("other-admin")
		}},
		{name: "tainted devices", needs: []requirement{deviceTaints}, run: func(s *stage) {
			s.node("n-1")
			s.deviceClass("gpu")
			s.slice("gpus", ofNode("n-1"), with("gpu-0", deviceTaint("broken", resourcev1.DeviceTaintEffectNoSchedule)), with("gpu-1", deviceTaint("odd", resourcev1.DeviceTaintEffectNone)))
			s.deviceClaim("sound", request("r", "gpu"))
			s.deviceClaim("also-sound", request("r", "gpu"))
			s.deviceClaim("broken", request("r", "gpu", toleratingTaint("broken")))
			s.pod("first", claiming("sound"))
			s.bound("first")
			s.pod("second", claiming("also-sound"))
			s.refused("second", "cannot allocate all claims")
			s.pod("tolerant", claiming("broken"))
			s.bound("tolerant")
		}},
		{name: "a taint rule excludes a device until it is deleted", needs: []requirement{deviceTaintRules}, run: func(s *stage) {
			s.node("n-1")
			s.deviceClass("gpu")
			s.slice("gpus", ofNode("n-1"), with("gpu-0"))
			s.taintRule("maintenance", "gpu-0", "maintenance", resourcev1.DeviceTaintEffectNoSchedule)
			s.deviceClaim("one", request("r", "gpu"))
			s.pod("first", claiming("one"))
			s.refused("first", "cannot allocate all claims")
			s.deleteTaintRule("maintenance")
			// Rules requeue no pods themselves; slices do.
			s.pause(1500 * time.Millisecond)
			s.reportAttempts("first")
			s.slice("more-gpus", ofNode("n-1"))
			s.bound("first")
		}, seconds: 4},
		{name: "partitions of a device", needs: []requirement{devicePartitions}, run: func(s *stage) {
			s.node("n-1")
			s.deviceClass("gpu")
			s.slice("counters", ofNode("n-1"), inPool("pool", 1, 2), counters("gpu-0", "memory", "40Gi"))
			s.slice("gpus", ofNode("n-1"), inPool("pool", 1, 2),
				with("gpu-0", attribute("size", "whole"), consuming("gpu-0", "memory", "40Gi")),
				with("gpu-0-a", attribute("size", "half"), consuming("gpu-0", "memory", "20Gi")),
				with("gpu-0-b", attribute("size", "half"), consuming("gpu-0", "memory", "20Gi")))
			size := func(name string) requestOption {
				return matching(fmt.Sprintf("device.attributes[%q].size == %q", gpuDriver, name))
			}
			s.deviceClaim("half", request("r", "gpu", size("half")))
			s.pod("half", claiming("half"))
			s.bound("half")
			s.deviceClaim("whole", request("r", "gpu", size("whole")))
			s.pod("whole", claiming("whole"))
			s.refused("whole", "cannot allocate all claims")
			s.deviceClaim("other-half", request("r", "gpu"))
			s.pod("other-half", claiming("other-half"))
			s.bound("other-half")
		}},
		{name: "claims share the memory of a device", needs: []requirement{sharedDevices}, run: func(s *stage) {
			s.node("n-1")
			s.deviceClass("gpu")
			s.slice("gpus", ofNode("n-1"), with("gpu-0", shared("40Gi", "2Gi")))
			for _, amount := range []string{"31Gi", "7Gi", "1Gi", "0"} {
				name := "takes-" + map[string]string{"31Gi": "much", "7Gi": "little", "1Gi": "too-much", "0": "default"}[amount]
				if amount == "0" {
					s.deviceClaim(name, request("r", "gpu"))
				} else {
					s.deviceClaim(name, request("r", "gpu", consumingMemory(amount)))
				}
				s.pod(name, claiming(name))
				if name == "takes-too-much" || name == "takes-default" {
					s.refused(name, "cannot allocate all claims")
				} else {
					s.bound(name)
				}
			}
		}},
		{name: "two requests of a claim share a device", needs: []requirement{sharedDevices}, run: func(s *stage) {
			s.node("n-1")
			s.deviceClass("gpu")
			s.slice("gpus", ofNode("n-1"), with("gpu-0", shared("40Gi", "2Gi")), with("gpu-1", shared("8Gi", "2Gi")))
			s.deviceClaim("shares", request("x", "gpu", consumingMemory("30Gi")), request("y", "gpu", consumingMemory("9Gi")))
			s.pod("first", claiming("shares"))
			s.bound("first")
			s.deviceClaim("more", request("x", "gpu", consumingMemory("3Gi")), request("y", "gpu", consumingMemory("4Gi")))
			s.pod("second", claiming("more"))
			s.bound("second")
		}},
		{name: "capacity of a device that is not shared", needs: []requirement{sharedDevices}, run: func(s *stage) {
			s.node("n-1")
			s.deviceClass("gpu")
			s.slice("gpus", ofNode("n-1"), with("gpu-0", capacity("memory", "8Gi")), with("gpu-1", capacity("memory", "16Gi")))
			s.deviceClaim("roomy", request("r", "gpu", consumingMemory("12Gi")))
			s.pod("roomy", claiming("roomy"))
			s.bound("roomy")
		}},
		{name: "devices select their nodes", needs: []requirement{devicePartitions}, run: func(s *stage) {
			s.node("n-1", labelled("rack", "a"))
			s.node("n-2", labelled("rack", "b"))
			s.deviceClass("gpu")
			s.slice("fabric", nodesPerDevice, with("gpu-0", deviceOnNode("n-1")), with("gpu-1", deviceOnNodesWith("rack", "b")))
			s.deviceClaim("b", request("r", "gpu"))
			s.pod("b", claiming("b"), selecting("rack", "b"))
			s.bound("b")
			s.deviceClaim("a", request("r", "gpu"))
			s.pod("a", claiming("a"))
			s.bound("a")
		}},
		{name: "devices of all nodes and of nodes with a label", needs: []requirement{deviceConditions}, run: func(s *stage) {
			s.node("n-1", labelled("rack", "a"))
			s.deviceClass("gpu")
			s.slice("global", ofAllNodes, with("gpu-0"))
			s.slice("racks", ofNodesWith("rack", "a"), with("gpu-0"), with("gpu-1", deviceBindsToNode))
			for _, name := range []string{"first", "second", "third", "fourth"} {
				s.deviceClaim(name, request("r", "gpu"))
				s.pod(name, claiming(name))
				if name != "fourth" {
					s.bound(name)
				}
			}
			s.refused("fourth", "cannot allocate all claims")
		}},
		{name: "a selector fails at run time", run: func(s *stage) {
			s.node("n-1")
			s.deviceClass("gpu")
			s.slice("gpus", ofNode("n-1"), with("gpu-0"))
			s.deviceClaim("wrong", request("r", "gpu", matching(model("small"))))
			s.pod("wrong", claiming("wrong"))
			s.refused("wrong", "CEL runtime error")
			s.report("%v", s.doubleAllocations())
		}},
		{name: "fifty pods for forty devices", anyNode: true, uncounted: true, run: func(s *stage) {
			s.deviceClass("gpu")
			for i := range 5 {
				node := fmt.Sprint("n-", i)
				s.node(node)
				var gpus []sliceOption
				for j := range 8 {
					gpus = append(gpus, with(fmt.Sprint("gpu-", j)))
				}
				s.slice(node+"-gpus", append(gpus, ofNode(node))...)
			}
			s.claimTemplate("made", request("r", "gpu"))
			for i := range 50 {
				s.create(fmt.Sprintf("pod-%02d", i), claimingFrom("made"))
			}
			bound := func() (count int) {
				for _, pods := range s.occupants() {
					count += pods
				}
				return count
			}
			s.until("40 pods are bound", func() bool { return bound() == 40 })
			s.pause(2 * time.Second)
			if found := s.doubleAllocations(); len(found) > 0 || bound() != 40 {
				controlplane.Must(fmt.Errorf("%d pods are bound, %v", bound(), found))
			}
			for node, pods := range s.occupants() {
				if pods != 8 {
					controlplane.Must(errors.New(node + " has not 8 pods"))
				}
			}
			// Which pods wait depends on the order in which the controller makes claims.
			s.forget()
		}, seconds: 8},
	}
}
