package main

import (
	"fmt"
	"time"

	"berth.test/cluster/controlplane"
)

// retryScenarios contains scenarios with repeated attempts and restarts of the scheduler.
func retryScenarios() []*scenario {
	return []*scenario{
		{name: "the backoff after errors is one, two and four seconds", run: func(s *stage) {
			s.pod("early")
			s.attempted("early", 4)
			times := s.lane.attempts(s.ns + "/early")
			for i := 1; i < 4; i++ {
				// kube-scheduler rounds to whole seconds, so up to one more may pass, and the interval of the
				// flush.
				gap, least := times[i].Sub(times[i-1]), time.Duration(1<<(i-1))*time.Second
				if gap < least-50*time.Millisecond || gap > least+2500*time.Millisecond {
					controlplane.Must(fmt.Errorf("%s between attempts %d and %d", gap, i, i+1))
				}
			}
		}, seconds: 12},
		{name: "a new scheduler finds pending pods", run: func(s *stage) {
			s.node("n-1")
			s.lane.stopScheduler()
			s.pod("early")
			s.pod("large", asking("cpu", "5"))
			s.pod("gated", gated)
			s.must(s.lane.startScheduler())
			s.bound("early")
			s.refused("large", "Insufficient cpu")
			s.ungate("gated")
			s.bound("gated")
		}, seconds: 5},
		{name: "a restart during scheduling", run: func(s *stage) {
			s.node("n-1")
			s.pod("first", asking("cpu", "3"))
			s.bound("first")
			s.pod("large", asking("cpu", "3"))
			s.refused("large", "Insufficient cpu")
			s.rest()
			s.lane.stopScheduler()
			s.must(s.lane.startScheduler())
			s.attempted("large", 2)
			s.rest()
			s.deletePod("first")
			s.bound("large")
			s.reportAttempts("large")
		}, seconds: 5},
		{name: "a repeated failure message is not written again", run: func(s *stage) {
			s.node("n-1")
			for i := range 4 {
				s.pod(fmt.Sprint("small-", i))
				s.bound(fmt.Sprint("small-", i))
			}
			s.pod("large", asking("cpu", "5"))
			s.refused("large", "Insufficient cpu")
			for i := range 4 {
				// The deletion of a pod triggers another attempt after the backoff.
				s.deletePod(fmt.Sprint("small-", i))
				s.attempted("large", 2+i)
				s.pause(noticed)
			}
			s.rest()
			numbers := s.lane.proxy.written(s.ns)
			s.report("%d events, %d of them bindings; %d patches of events; %d of conditions",
				numbers["events"], numbers["bindings"], numbers["event patches"], numbers["status patches"])
		}, seconds: 14},
		{name: "a nomination reserves resources after a restart", run: func(s *stage) {
			s.node("n-1")
			s.pod("urgent", gated, class("high"), asking("cpu", "3"))
			s.nominate("urgent", "n-1")
			s.lane.stopScheduler()
			s.must(s.lane.startScheduler())
			s.pod("humble", class("low"), asking("cpu", "3"))
			s.refused("humble", "Insufficient cpu")
			s.ungate("urgent")
			s.bound("urgent")
		}, seconds: 4},
	}
}
