package main

import (
	"fmt"
	"strings"
	"time"
)

// fault is the way in which the leader is stopped.
type fault string

const (
	killed     fault = "SIGKILL"
	terminated fault = "SIGTERM"
	cutOff     fault = "cut off" // connections are reset, and new ones rejected
	silenced   fault = "silence" // connections stay open without data
	frozen     fault = "frozen"  // SIGSTOP, and SIGCONT when another one leads
	broken     fault = "broken"  // an invariant of the leader is violated
)

// scenario is one change of leader: replicas[0] leads, the others stand by.
type scenario struct {
	replicas []string // "berth", "kube", or "breaking" (tests/invariant)
	fault    fault
}

func (s scenario) name() string {
	return fmt.Sprintf("%s > %s, %s", s.replicas[0], strings.Join(s.replicas[1:], "+"), s.fault)
}

func scenarios(o *options) []scenario {
	pair := func(leader, follower string) []string { return []string{leader, follower} }
	if o.long {
		return []scenario{
			{pair("kube", "kube"), killed}, {pair("kube", "kube"), terminated},
			{pair("berth", "berth"), killed}, {pair("berth", "berth"), terminated},
			{pair("kube", "berth"), terminated}, {pair("berth", "kube"), terminated},
		}
	}
	return []scenario{
		{pair("kube", "kube"), killed},
		{pair("kube", "kube"), terminated},
		{pair("berth", "berth"), killed},
		{pair("berth", "berth"), terminated},
		{pair("berth", "berth"), cutOff},
		{pair("berth", "berth"), silenced},
		{pair("berth", "berth"), frozen},
		{pair("breaking", "berth"), broken},
		{[]string{"berth", "berth", "berth"}, killed},
		{pair("kube", "berth"), killed},
		{pair("kube", "berth"), terminated},
		{pair("kube", "berth"), frozen},
		{pair("berth", "kube"), killed},
		{pair("berth", "kube"), terminated},
		{pair("berth", "kube"), frozen},
	}
}

// limit is berth's maximum time from the end of the lease, or its release, to the first binding.
func (s scenario) limit() time.Duration {
	if s.fault == terminated {
		return 500 * time.Millisecond
	}
	return time.Second
}

// leaderEnds returns the expected exit code of the old leader, and whether it must exit.
func (s scenario) leaderEnds() (code int, must bool) {
	switch s.fault {
	case terminated:
		return 0, true
	case killed:
		return -1, true
	case broken:
		return 70, true
	default:
		return 1, true
	}
}
