package main

import (
	v1 "k8s.io/api/core/v1"
)

// allScenarios in the order in which they are reported.
func allScenarios() []*scenario {
	var all []*scenario
	all = append(all, placing()...)
	all = append(all, waiting()...)
	return all
}

// placing is about where pods go.
func placing() []*scenario {
	return []*scenario{
		{name: "a plain pod", run: func(s *stage) {
			s.node("n-1")
			s.pod("plain")
			s.bound("plain")
			s.tellAttempts("plain")
		}},
		{name: "preferred affinity decides", run: func(s *stage) {
			s.node("n-1")
			s.node("n-2", labelled("disk", "ssd"))
			s.node("n-3")
			s.pod("choosy", preferring("disk", "ssd"))
			s.bound("choosy")
		}},
		{name: "a taint that is better avoided decides", run: func(s *stage) {
			s.node("n-1", tainted("slow", v1.TaintEffectPreferNoSchedule))
			s.node("n-2")
			s.node("n-3", tainted("slow", v1.TaintEffectPreferNoSchedule))
			s.pod("quick")
			s.bound("quick")
		}},
		{name: "an image that is there decides", run: func(s *stage) {
			s.node("n-1")
			s.node("n-2")
			s.node("n-3", image("example.org/large:1", 900<<20))
			s.pod("loaded", running("example.org/large:1"))
			s.bound("loaded")
		}},
	}
}
