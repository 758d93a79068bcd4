package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"berth.test/cluster/controlplane"
)

// check checks the histories. It returns a line with the times.
func (s *stage) check(ctx context.Context) string {
	if s.watcher.err != nil {
		s.addError("%v", s.watcher.err)
	}
	s.checkPods()
	groups := s.checkGroups()
	devices := s.checkDevices()
	s.checkExit()
	end, taken := s.checkLease()
	s.checkEvents(ctx)
	s.checkThawed()

	since := "expiry"
	if s.scenario.fault == terminated {
		since = "release"
	}
	if taken.IsZero() {
		return fmt.Sprintf("%-34s no other leader", s.scenario.name())
	}
	var first time.Time
	for _, at := range firstBound(s.watcher.podsOf(s.id)) {
		if at.After(taken) && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	took := first.Sub(end)
	if s.scenario.replicas[1] == "berth" && took > s.scenario.limit() {
		s.addError("%s from the %s of the lease to the first binding, at most %s are allowed", took, since, s.scenario.limit())
	}
	return fmt.Sprintf("%-34s %6d ms from %s to lease, %6d ms to the first binding; %d pods, %d with devices, %d groups%s%s", s.scenario.name(),
		taken.Sub(end).Milliseconds(), since, took.Milliseconds(), len(s.names), devices, groups, s.barrier, s.quiet+s.reportedText())
}

func (s *stage) reportedText() string {
	if s.reported == 0 {
		return ""
	}
	return fmt.Sprintf(", %.0f over-commitments reported", s.reported)
}

// checkPods checks for pods that are lost or bound twice, and for overcommitted nodes.
func (s *stage) checkPods() {
	nodeOf := make(map[string]string)
	held := make(map[string]int)
	exceeded := 0
	for _, seen := range s.watcher.podsOf(s.id) {
		name, node := seen.pod.Name, seen.pod.Spec.NodeName
		before := nodeOf[name]
		switch {
		case seen.kind == watch.Deleted:
			s.addError("pod %s was deleted", name)
		case before == node:
		case before != "":
			s.addError("pod %s went from node %s to %q", name, before, node)
		default:
			nodeOf[name] = node
			held[node]++
			if !s.long && held[node] > podsPerNode {
				exceeded++
			}
		}
	}
	for _, name := range s.names {
		if nodeOf[name] == "" {
			s.addError("pod %s was never bound", name)
		}
	}
	if float64(exceeded) > s.reported {
		s.addError("%d pods were bound beyond what their node has, %.0f of them were reported", exceeded, s.reported)
	}
}

func (s *stage) checkExit() {
	leader := s.replicas[0]
	code, _ := s.scenario.leaderEnds()
	if !s.left {
		// kube-scheduler continues for renewDeadline, which has passed by now.
		s.addError("%s did not leave after %s", leader.name, s.scenario.fault)
	} else if s.code != code {
		s.addError("%s exited with %d, not with %d", leader.name, s.code, code)
	}
	if s.scenario.fault != broken {
		return
	}
	log := leader.child.Log()
	for _, part := range []string{`"Invariant violated" check=`, `name="` + breakingPod + `"`, "node_count()=", "Defective::Filter"} {
		if !strings.Contains(log, part) {
			s.addError("the log of %s has no %s", leader.name, part)
		}
	}
}

// checkLease checks the lease's record, and returns when the old lease ended and when the new one was
// observed.
func (s *stage) checkLease() (end, taken time.Time) {
	var state controlplane.LeaseState
	for i, seen := range s.watcher.leasesOf(s.id) {
		before := state.Holder()
		for _, wrong := range state.Lease(seen.lease) {
			s.addError("%s", wrong)
		}
		now := state.Holder()
		if now != "" && state.Duration() != s.election.Lease {
			s.addError("the lease lasts %s", state.Duration())
		}
		if taken.IsZero() {
			switch {
			case now == "":
				end = seen.at
			case i > 0 && now != before:
				taken = seen.at
			default:
				end = seen.at.Add(s.election.Lease)
			}
		}
	}
	return end, taken
}

// checkEvents checks for an event of each leader.
func (s *stage) checkEvents(ctx context.Context) {
	holders := make(map[string]bool)
	for _, seen := range s.watcher.leasesOf(s.id) {
		if seen.lease.Spec.HolderIdentity != nil && *seen.lease.Spec.HolderIdentity != "" {
			holders[*seen.lease.Spec.HolderIdentity] = true
		}
	}
	events := make(map[string]v1.Event)
	_ = controlplane.Until(ctx, 3*time.Second, "events", func() (bool, error) {
		list, err := s.control.Client.CoreV1().Events("kube-system").List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=" + s.id})
		if err != nil {
			return false, err
		}
		for _, event := range list.Items {
			events[event.Message] = event
		}
		for holder := range holders {
			if _, reported := events[holder+" became leader"]; !reported {
				return false, nil
			}
		}
		return true, nil
	})
	for holder := range holders {
		event, reported := events[holder+" became leader"]
		if !reported {
			s.addError("no event reports that %s became leader", holder)
			continue
		}
		if event.Reason != "LeaderElection" || event.Type != "Normal" || event.Source.Component != s.id || event.ReportingController != s.id ||
			event.InvolvedObject.Kind != "Lease" || event.InvolvedObject.APIVersion != "coordination.k8s.io/v1" || event.InvolvedObject.UID == "" || event.Count != 1 {
			s.addError("the event of %s is not like the original's: %+v", holder, event)
		}
	}
}

var attempt = regexp.MustCompile(`(?m)^I\d{4} (\d\d:\d\d:\d\d\.\d+) .*"Attempting to schedule pod"`)

// checkThawed checks for attempts that a frozen leader started after the end of its lease.
func (s *stage) checkThawed() {
	if s.thawedAt.IsZero() || s.replicas[0].kind != "berth" {
		return
	}
	log := s.replicas[0].child.Log()
	for _, found := range attempt.FindAllStringSubmatch(log, -1) {
		if found[1] > s.thawedAt.Format("15:04:05.000000") {
			s.addError("an attempt began at %s, after the thaw at %s", found[1], s.thawedAt.Format("15:04:05.000000"))
			return
		}
	}
	if !strings.Contains(log, `"`+controlplane.LogsLost+`"`) {
		s.addError("the thawed leader does not say that it lost the lease")
	}
}
