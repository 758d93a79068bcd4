package main

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"

	"berth.test/cluster/controlplane"
)

// allScenarios returns them in the order of the report.
func allScenarios() []*scenario {
	var all []*scenario
	all = append(all, placing()...)
	all = append(all, waiting()...)
	all = append(all, nodeEventScenarios()...)
	all = append(all, nominated()...)
	all = append(all, binding()...)
	all = append(all, retryScenarios()...)
	all = append(all, affinityScenarios()...)
	all = append(all, preempting()...)
	all = append(all, volumeScenarios()...)
	all = append(all, needing(claimsV1, deviceScenarios())...)
	all = append(all, needing(claimsV1, deviceWaiting())...)
	all = append(all, needing(claimsV1, deviceBinding())...)
	return all
}

// placing contains scenarios about the choice of the node.
func placing() []*scenario {
	return []*scenario{
		{name: "a plain pod", run: func(s *stage) {
			s.node("n-1")
			s.pod("plain")
			s.bound("plain")
			s.reportAttempts("plain")
		}},
		{name: "preferred affinity determines the node", run: func(s *stage) {
			s.node("n-1")
			s.node("n-2", labelled("disk", "ssd"))
			s.node("n-3")
			s.pod("choosy", preferring("disk", "ssd"))
			s.bound("choosy")
		}},
		{name: "a PreferNoSchedule taint determines the node", run: func(s *stage) {
			s.node("n-1", tainted("slow", v1.TaintEffectPreferNoSchedule))
			s.node("n-2")
			s.node("n-3", tainted("slow", v1.TaintEffectPreferNoSchedule))
			s.pod("quick")
			s.bound("quick")
		}},
		{name: "a present image determines the node", run: func(s *stage) {
			s.node("n-1")
			s.node("n-2")
			s.node("n-3", image("example.org/large:1", 900<<20))
			s.pod("loaded", running("example.org/large:1"))
			s.bound("loaded")
		}},
		{name: "the number of pods of a node is limited", run: func(s *stage) {
			s.node("n-1", allocatable("pods", "110"))
			for i := range 110 {
				s.pod(fmt.Sprint("small-", i), asking("cpu", "10m"))
			}
			for i := range 110 {
				s.bound(fmt.Sprint("small-", i))
			}
			s.pod("last", asking("cpu", "10m"))
			s.refused("last", "Too many pods")
			s.deletePod("small-50")
			s.bound("last")
			s.reportAttempts("last")
		}, seconds: 4},
		{name: "200 pods fill 10 nodes completely", anyNode: true, run: func(s *stage) {
			s.nodes(10, func(i int) string { return fmt.Sprint("n-", i) })
			var created sync.WaitGroup
			for worker := range 4 {
				created.Go(func() {
					for i := range 50 {
						s.create(fmt.Sprint("burst-", worker, "-", i), asking("cpu", "200m"))
					}
				})
			}
			created.Wait()
			for i := range 200 {
				s.bound(fmt.Sprint("burst-", i/50, "-", i%50))
			}
			for node, pods := range s.occupants() {
				if pods != 20 {
					controlplane.Must(fmt.Errorf("%d pods on node %s, which takes 20", pods, node))
				}
			}
		}, seconds: 5},
		{name: "two of three nodes have equal scores", anyNode: true, run: func(s *stage) {
			s.node("n-1")
			s.node("n-2", labelled("disk", "ssd"))
			s.node("n-3", labelled("disk", "ssd"))
			s.pod("choosy", preferring("disk", "ssd"))
			s.bound("choosy")
			if s.history("choosy").node == "n-1" {
				controlplane.Must(errors.New("n-1 is not as good as the others"))
			}
		}},
		{name: "of two pods for one place the one of higher priority is scheduled", run: func(s *stage) {
			s.pod("humble", asking("cpu", "3"), class("low"))
			s.pod("urgent", asking("cpu", "3"), class("high"))
			s.refused("humble", "no nodes")
			s.refused("urgent", "no nodes")
			// Both leave backoff before the node exists, also if an event of an earlier scenario has retried one of them.
			s.pause(5 * time.Second)
			s.node("n-1")
			s.bound("urgent")
			s.refused("humble", "Insufficient cpu")
		}, seconds: 6},
		{name: "the queue is ordered by priority before arrival", run: func(s *stage) {
			s.node("n-1", unschedulable)
			s.pod("humble", asking("cpu", "3"), class("low"))
			s.pod("urgent", asking("cpu", "3"), class("high"))
			s.refused("humble", "unschedulable")
			s.refused("urgent", "unschedulable")
			s.pause(2 * time.Second)
			s.cordon("n-1", false)
			s.bound("urgent")
			s.refused("humble", "Insufficient cpu")
		}, seconds: 3},
		{name: "each profile by its own name", run: func(s *stage) {
			s.node("n-1")
			s.pod("ours")
			s.pod("other", schedulerName("second-scheduler"))
			s.pod("large", schedulerName("second-scheduler"), asking("cpu", "5"))
			s.bound("ours", "other")
			s.refused("large", "Insufficient cpu")
		}},
		{name: "a pod of another scheduler is ignored", run: func(s *stage) {
			s.node("n-1")
			s.pod("foreign", schedulerName("unknown"))
			s.pod("ours")
			s.bound("ours")
			s.pause(time.Second)
			s.reportAttempts("foreign")
		}},
		{name: "a pod on a node that is added later uses its resources", run: func(s *stage) {
			s.pod("ahead", asking("cpu", "3"), on("ghost"))
			s.node("ghost")
			s.pod("late", asking("cpu", "2"))
			s.refused("late", "Insufficient cpu")
			s.deletePod("ahead")
			s.bound("late")
		}},
		{name: "a node is deleted and created again under its name, with its pods", run: func(s *stage) {
			s.node("n-1")
			s.pod("stays", asking("cpu", "3"))
			s.bound("stays")
			s.deleteNode("n-1")
			s.pod("late", asking("cpu", "2"))
			s.refused("late", "no nodes")
			s.node("n-1")
			s.refused("late", "Insufficient cpu")
			s.deletePod("stays")
			s.bound("late")
		}},
		{name: "a finished pod releases its resources", run: func(s *stage) {
			s.node("n-1")
			s.pod("job", asking("cpu", "3"))
			s.bound("job")
			s.pod("next", asking("cpu", "3"))
			s.refused("next", "Insufficient cpu")
			s.finish("job", v1.PodSucceeded)
			s.bound("next")
			s.reportAttempts("next")
		}},
		{name: "a pod that is resized in place releases resources", needs: []requirement{resizeInPlace}, run: func(s *stage) {
			s.node("n-1")
			s.pod("shrinking", asking("cpu", "3"))
			s.bound("shrinking")
			s.pod("next", asking("cpu", "2"))
			s.refused("next", "Insufficient cpu")
			s.resize("shrinking", "cpu", "1")
			s.bound("next")
			s.reportAttempts("next")
		}},
		{name: "devices that are added later", run: func(s *stage) {
			s.node("n-1")
			s.pod("learner", devices("example.com/gpu", "2"))
			s.refused("learner", "Insufficient example.com/gpu")
			s.announce("n-1", "example.com~1gpu", "1")
			s.pause(noticed)
			s.announce("n-1", "example.com~1gpu", "2")
			s.bound("learner")
		}},
		{name: "a failure message of more than 1024 bytes", run: func(s *stage) {
			s.node("n-1")
			s.node("n-2", unschedulable)
			var wanted []podOption
			for i := range 50 {
				wanted = append(wanted, devices(fmt.Sprintf("example.com/device-%02d", i), "1"))
			}
			s.pod("demanding", wanted...)
			s.refused("demanding", "example.com/device-49")
		}},
		{name: "a name of 253 characters", run: func(s *stage) {
			s.node("n-1")
			long := strings.Repeat("abcdefgh.", 28) + "z"
			s.pod(long)
			s.bound(long)
		}},
	}
}
