package main

// nominated contains scenarios in which another client sets status.nominatedNodeName.
func nominated() []*scenario {
	return []*scenario{
		{name: "a feasible nominated node is used although another scores higher", run: func(s *stage) {
			s.node("n-1", labelled("disk", "ssd"))
			s.node("n-2")
			s.pod("hopeful", gated, preferring("disk", "ssd"))
			s.nominate("hopeful", "n-2")
			s.ungate("hopeful")
			s.bound("hopeful")
		}},
		{name: "the nominated node does not fit", run: func(s *stage) {
			s.node("n-1")
			s.node("n-2", unschedulable)
			s.pod("hopeful", gated)
			s.nominate("hopeful", "n-2")
			s.ungate("hopeful")
			s.bound("hopeful")
		}},
		{name: "the nominated node does not exist", run: func(s *stage) {
			s.node("n-1")
			s.pod("hopeful", gated)
			s.nominate("hopeful", "n-7")
			s.ungate("hopeful")
			s.bound("hopeful")
		}},
		{name: "no node fits, and the nomination is cleared", run: func(s *stage) {
			s.node("n-1")
			s.pod("hopeful", gated, asking("cpu", "5"))
			s.nominate("hopeful", "n-1")
			s.ungate("hopeful")
			s.refused("hopeful", "Insufficient cpu")
		}},
		{name: "there are no nodes, and the nomination is cleared", run: func(s *stage) {
			s.pod("hopeful", gated)
			s.nominate("hopeful", "n-1")
			s.ungate("hopeful")
			s.refused("hopeful", "no nodes")
		}},
		{name: "a nomination reserves resources against pods of lower priority", run: func(s *stage) {
			s.node("n-1")
			s.pod("urgent", gated, class("high"), asking("cpu", "3"))
			s.nominate("urgent", "n-1")
			s.pod("humble", class("low"), asking("cpu", "3"))
			s.refused("humble", "Insufficient cpu")
			s.ungate("urgent")
			s.bound("urgent")
		}},
		{name: "a nomination reserves nothing against pods of higher priority", run: func(s *stage) {
			s.node("n-1")
			s.pod("humble", gated, class("low"), asking("cpu", "3"))
			s.nominate("humble", "n-1")
			s.pod("urgent", class("high"), asking("cpu", "3"))
			s.bound("urgent")
			s.ungate("humble")
			s.refused("humble", "Insufficient cpu")
		}},
		{name: "a nominated pod is deleted, and its resources are free", run: func(s *stage) {
			s.node("n-1")
			s.pod("urgent", gated, class("high"), asking("cpu", "3"))
			s.nominate("urgent", "n-1")
			s.pod("humble", class("low"), asking("cpu", "3"))
			s.refused("humble", "Insufficient cpu")
			s.deletePod("urgent")
			s.bound("humble")
			s.reportAttempts("humble")
		}},
		{name: "a nomination is cleared, and its resources are free", run: func(s *stage) {
			s.node("n-1")
			s.pod("urgent", gated, class("high"), asking("cpu", "3"))
			s.nominate("urgent", "n-1")
			s.pod("humble", class("low"), asking("cpu", "3"))
			s.refused("humble", "Insufficient cpu")
			s.nominate("urgent", "")
			s.bound("humble")
			s.reportAttempts("humble")
		}},
	}
}
