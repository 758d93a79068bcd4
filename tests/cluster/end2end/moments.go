package main

import (
	"fmt"
	"math/rand/v2"

	v1 "k8s.io/api/core/v1"
)

// partOfGang is the moment at which the first members of a gang are bound, and the bindings of the others are sent and did
// not arrive.
type partOfGang struct {
	gangs          map[string]string // by pod
	skip           int               // number of gangs that are bound before
	skipped        map[string]bool
	gang           string          // the first one after these
	most           int             // number of members that are bound
	forwarded, not map[string]bool // members
}

// newPartOfGang chooses one of the gangs whose members are all among these pods, which do not exist yet, and the number of
// members that are bound.
func newPartOfGang(pods []*v1.Pod, random *rand.Rand) moment {
	m := &partOfGang{gangs: make(map[string]string), skipped: make(map[string]bool), forwarded: make(map[string]bool), not: make(map[string]bool)}
	members := make(map[string]int)
	for _, pod := range pods {
		members[gangOf(pod)]++
	}
	gangs := 0
	for _, pod := range pods {
		if gang := gangOf(pod); gang != "" && members[gang] == gangSize {
			m.gangs[pod.Name] = gang
			gangs++
		}
	}
	m.skip, m.most = random.IntN(max(1, gangs/gangSize/2)), 1+random.IntN(gangSize-1)
	return m
}

func gangOf(pod *v1.Pod) string {
	if pod.Spec.SchedulingGroup == nil {
		return ""
	}
	return *pod.Spec.SchedulingGroup.PodGroupName
}

func (m *partOfGang) holds(pod string) bool {
	gang := m.gangs[pod]
	if m.gang == "" && gang != "" && !m.skipped[gang] {
		if len(m.skipped) < m.skip {
			m.skipped[gang] = true
		} else {
			m.gang = gang
		}
	}
	switch {
	case gang == "" || gang != m.gang || m.forwarded[pod]:
		return false
	case len(m.forwarded) < m.most:
		m.forwarded[pod] = true
		return false
	}
	m.not[pod] = true
	return true
}

func (m *partOfGang) reached(r *reader) (bool, string) {
	if len(m.not) == 0 {
		return false, ""
	}
	for pod := range m.forwarded {
		if !r.boundName(pod) {
			return false, ""
		}
	}
	return true, fmt.Sprintf("%d of %d members of %s bound", len(m.forwarded), gangSize, m.gang)
}

// allocatedClaim is the moment at which the claim of a pod is allocated, and its binding is sent and did not arrive.
type allocatedClaim struct {
	pods map[string]bool // with claims
	skip int             // number of bindings that are forwarded before
	pod  string          // the first one after these
}

// newAllocatedClaim chooses one of these pods, which do not exist yet.
func newAllocatedClaim(pods []*v1.Pod, random *rand.Rand) moment {
	m := &allocatedClaim{pods: make(map[string]bool)}
	for _, pod := range pods {
		if len(pod.Spec.ResourceClaims) > 0 {
			m.pods[pod.Name] = true
		}
	}
	m.skip = random.IntN(max(1, len(m.pods)/2))
	return m
}

func (m *allocatedClaim) holds(pod string) bool {
	switch {
	case !m.pods[pod]:
		return false
	case m.pod == "" && m.skip > 0:
		m.skip--
		return false
	case m.pod == "":
		m.pod = pod
	}
	return m.pod == pod
}

func (m *allocatedClaim) reached(r *reader) (bool, string) {
	if m.pod == "" || !r.claimInFlight(m.pod) {
		return false, ""
	}
	return true, fmt.Sprintf("the claim of %s allocated and the pod not bound", m.pod)
}
