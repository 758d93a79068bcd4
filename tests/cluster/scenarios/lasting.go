package main

import (
	"fmt"
	"time"
)

// lasting is about pods that are tried again and again, and about what is left when the scheduler is restarted.
func lasting() []*scenario {
	return []*scenario{
		{name: "attempts after errors are one, two and four seconds apart", run: func(s *stage) {
			s.pod("early")
			s.attempted("early", 4)
			times := s.lane.attempts(s.ns + "/early")
			for i := 1; i < 4; i++ {
				// Whole seconds of the clock decide, so that up to one more may go by, and the tick of a second.
				gap, least := times[i].Sub(times[i-1]), time.Duration(1<<(i-1))*time.Second
				if gap < least-50*time.Millisecond || gap > least+2500*time.Millisecond {
					panic(failure{fmt.Errorf("%s between attempts %d and %d", gap, i, i+1)})
				}
			}
		}, seconds: 12},
		{name: "a scheduler that starts finds pods that wait", run: func(s *stage) {
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
		{name: "a restart in the middle", run: func(s *stage) {
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
			s.tellAttempts("large")
		}, seconds: 5},
		{name: "the same refusal again is not written again", run: func(s *stage) {
			s.node("n-1")
			for i := range 4 {
				s.pod(fmt.Sprint("small-", i))
				s.bound(fmt.Sprint("small-", i))
			}
			s.pod("large", asking("cpu", "5"))
			s.refused("large", "Insufficient cpu")
			for i := range 4 {
				// A pod that leaves makes another attempt worth it, once the back-off is over.
				s.deletePod(fmt.Sprint("small-", i))
				s.attempted("large", 2+i)
				s.calm(noticed)
			}
			s.rest()
			numbers := s.lane.proxy.written(s.ns)
			s.tell("%d events, %d of them bindings; %d patches of events; %d of conditions",
				numbers["events"], numbers["bindings"], numbers["event patches"], numbers["status patches"])
		}, seconds: 14},
		{name: "after a restart a nomination still keeps room", run: func(s *stage) {
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
