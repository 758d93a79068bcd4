package main

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"berth.test/cluster/controlplane"
)

const (
	// neverProvisioned is the provisioner name of classes without provisioning.
	neverProvisioned = "kubernetes.io/no-provisioner"
	provisioner      = "csi.example.org"
)

// volumeScenarios contains scenarios with volumes. The volume controller is the real one.
func volumeScenarios() []*scenario {
	return []*scenario{
		{name: "two pods get local volumes and their nodes", run: func(s *stage) {
			s.storageClass("local", neverProvisioned)
			for i := 1; i <= 2; i++ {
				s.node(fmt.Sprint("n-", i), labelled("place", fmt.Sprint(i)))
				s.volume(fmt.Sprint("volume-", i), "local", "10Gi", localTo(fmt.Sprint("n-", i)))
				s.claim(fmt.Sprint("claim-", i), "local", "10Gi")
			}
			s.pod("second", using("claim-1"), selecting("place", "2"))
			s.bound("second")
			s.pod("first", using("claim-2"))
			s.bound("first")
			s.report("claim-1 has %s, claim-2 has %s", s.boundVolumeOf("claim-1"), s.boundVolumeOf("claim-2"))
			s.pod("third", using("claim-2"), selecting("place", "2"))
			s.refused("third", "didn't match PersistentVolume's node affinity")
		}, seconds: 5},
		{name: "the smallest volume that is large enough", run: func(s *stage) {
			s.storageClass("local", neverProvisioned)
			s.node("n-1")
			s.volume("small", "local", "5Gi", localTo("n-1"))
			s.volume("large", "local", "50Gi", localTo("n-1"))
			s.volume("right", "local", "12Gi", localTo("n-1"))
			s.claim("data", "local", "10Gi")
			s.claim("more", "local", "10Gi")
			s.pod("second", using("more", "data"))
			s.bound("second")
			s.report("data has %s, more has %s", s.boundVolumeOf("data"), s.boundVolumeOf("more"))
		}, seconds: 4},
		{name: "no volume fits until one is created", run: func(s *stage) {
			s.storageClass("local", neverProvisioned)
			s.node("n-1")
			s.volume("small", "local", "5Gi", localTo("n-1"))
			s.claim("data", "local", "10Gi")
			s.pod("patient", using("data"))
			s.refused("patient", "didn't find available persistent volumes to bind")
			s.volume("right", "local", "10Gi", localTo("n-1"))
			s.bound("patient")
			// An attempt between the creation of the volume and the controller's Available fails once more.
		}, seconds: 5, uncounted: true},
		{name: "a claim is created later, and its volume after that", run: func(s *stage) {
			s.node("n-1")
			s.pod("early", using("data"))
			s.refused("early", `"data" not found`)
			s.claim("data", "", "10Gi")
			s.refused("early", "unbound immediate")
			s.volume("any", "", "10Gi")
			s.bound("early")
			s.report("data has %s", s.boundVolumeOf("data"))
		}, seconds: 4},
		{name: "a claim from the pod's ephemeral volume template", run: func(s *stage) {
			s.storageClass("local", neverProvisioned)
			s.node("n-1")
			s.volume("scratch", "local", "10Gi", localTo("n-1"))
			s.pod("fleeting", ephemeral("scratch", "local", "1Gi"), gated)
			s.until("the claim is made", func() bool { return s.claimExists("fleeting-scratch") })
			s.pause(noticed)
			s.ungate("fleeting")
			s.bound("fleeting")
			s.report("the claim has %s", s.boundVolumeOf("fleeting-scratch"))
		}, seconds: 4},
		{name: "a foreign claim with the name of the pod's ephemeral claim", run: func(s *stage) {
			s.storageClass("local", neverProvisioned)
			s.node("n-1")
			s.claim("fleeting-scratch", "local", "1Gi")
			s.pod("fleeting", ephemeral("scratch", "local", "1Gi"))
			s.refused("fleeting", "pod is not owner")
		}},
		{name: "a provisioner creates a volume for the node", run: func(s *stage) {
			s.storageClass("made", provisioner)
			s.node("n-1")
			s.node("n-2", labelled("disk", "ssd"))
			s.claim("data", "made", "10Gi")
			s.pod("patient", using("data"), selecting("disk", "ssd"))
			s.provision("data", "made-to-measure", "made", "10Gi")
			s.bound("patient")
			s.expectAttempts("patient", 1)
		}, seconds: 4},
		{name: "a provisioner never answers", run: func(s *stage) {
			s.storageClass("made", provisioner)
			s.node("n-1")
			s.claim("data", "made", "10Gi")
			s.pod("patient", using("data"))
			s.refused("patient", "binding volumes: context deadline exceeded")
		}, seconds: controlplane.BindTimeoutSeconds + 3},
		{name: "a provisioner rejects a node", run: func(s *stage) {
			s.storageClass("made", provisioner)
			s.node("n-1")
			s.claim("data", "made", "10Gi")
			s.pod("patient", using("data"))
			s.until("a node is selected", func() bool { return s.annotation("data", "volume.kubernetes.io/selected-node") != "" })
			s.until("the provisioner is called", func() bool { return s.annotation("data", "volume.kubernetes.io/storage-provisioner") != "" })
			s.patchClaim("data", `[{"op":"remove","path":"/metadata/annotations/volume.kubernetes.io~1selected-node"}]`)
			s.refused("patient", "provisioning failed for PVC")
			s.provision("data", "made-after-all", "made", "10Gi")
			s.bound("patient")
		}, seconds: 6},
		{name: "too little storage capacity until it grows", run: func(s *stage) {
			s.csiDriver(provisioner)
			s.storageClass("made", provisioner)
			s.node("n-1", labelled("rack", "1"))
			s.storageCapacity("rack-1", "made", "5Gi", "rack", "1")
			s.claim("data", "made", "10Gi")
			s.pod("patient", using("data"))
			s.refused("patient", "did not have enough free storage")
			s.node("n-2", labelled("rack", "2"))
			s.storageCapacity("rack-2", "made", "50Gi", "rack", "2")
			s.provision("data", "made-to-measure", "made", "10Gi")
			s.bound("patient")
		}, seconds: 6},
		{name: "the larger storage capacity determines the node", run: func(s *stage) {
			s.csiDriver(provisioner)
			s.storageClass("made", provisioner)
			for i, size := range []string{"20Gi", "100Gi", "15Gi"} {
				rack := fmt.Sprint(i + 1)
				s.node("n-"+rack, labelled("rack", rack))
				s.storageCapacity("rack-"+rack, "made", size, "rack", rack)
			}
			s.claim("data", "made", "10Gi")
			s.pod("roomy", using("data"))
			s.provision("data", "made-to-measure", "made", "10Gi")
			s.bound("roomy")
		}, seconds: 4},
		{name: "a node's volume limit is reached until a pod is deleted", run: func(s *stage) {
			s.node("n-1")
			s.csiNode("n-1", 1)
			for _, name := range []string{"one", "two"} {
				s.volume("volume-"+name, "", "1Gi")
				s.claim("claim-"+name, "", "1Gi")
				s.claimBound("claim-" + name)
			}
			s.pod("first", using("claim-one"))
			s.bound("first")
			s.pod("same", using("claim-one"))
			s.bound("same")
			s.pod("second", using("claim-two"))
			s.refused("second", "exceed max volume count")
			s.deletePod("same")
			s.deletePod("first")
			s.bound("second")
		}, seconds: 5},
		{name: "a volume of another zone until the node's label changes", run: func(s *stage) {
			s.node("n-1", labelled("topology.kubernetes.io/zone", "c"))
			s.volume("volume", "", "1Gi", volumeLabelled("topology.kubernetes.io/zone", "a__b"))
			s.claim("data", "", "1Gi")
			s.claimBound("data")
			s.pod("bound-to-a", using("data"))
			s.refused("bound-to-a", "no available volume zone")
			s.labelNode("n-1", "topology.kubernetes.io~1zone", "b")
			s.bound("bound-to-a")
			s.reportAttempts("bound-to-a")
		}, seconds: 3},
		{name: "a claim with ReadWriteOncePod", run: func(s *stage) {
			s.node("n-1")
			s.node("n-2")
			s.volume("volume", "", "1Gi", forOnePod)
			s.claim("data", "", "1Gi", v1.ReadWriteOncePod)
			s.claimBound("data")
			s.pod("first", using("data"), onlyOn("n-1"))
			s.bound("first")
			s.pod("second", using("data"))
			s.refused("second", "ReadWriteOncePod")
			s.pause(2 * time.Second)
			s.pod("other-pod", onlyOn("n-1"))
			s.bound("other-pod")
			s.deletePod("other-pod")
			s.pause(time.Second)
			s.deletePod("first")
			s.until("the second one is bound", func() bool { return s.history("second").node != "" })
			s.reportAttempts("second")
		}, anyNode: true, seconds: 6},
		{name: "a claim with ReadWriteOncePod is taken by preemption", run: func(s *stage) {
			s.node("n-1")
			s.volume("volume", "", "1Gi", forOnePod)
			s.claim("data", "", "1Gi", v1.ReadWriteOncePod)
			s.claimBound("data")
			s.pod("humble", using("data"), class("low"), atOnce)
			s.bound("humble")
			s.pod("urgent", using("data"), class("high"))
			s.bound("urgent")
		}, seconds: 4},
		{name: "a disk that another pod writes to", run: func(s *stage) {
			s.node("n-1")
			s.pod("writer", disk("shared", false))
			s.bound("writer")
			s.pod("reader", disk("shared", true))
			s.refused("reader", "no available disk")
			s.node("n-2")
			s.bound("reader")
			s.pod("other", disk("shared", true), onlyOn("n-2"))
			s.bound("other")
		}},
	}
}
