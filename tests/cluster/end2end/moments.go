package main

import (
	"fmt"
	"math/rand/v2"

	v1 "k8s.io/api/core/v1"
)

// partOfGang is the moment at which the first members of a gang are bound, and the bindings of the others are sent and did
// not arrive.
type partOfGang struct {
	gangs          map[string]string // by pod; gangs of which no binding was sent before
	gang           string            // the first one that is bound
	most           int               // number of members that are bound
	forwarded, not map[string]bool   // members
}

// newPartOfGang chooses the number of members that are bound.
func newPartOfGang(w *workload, random *rand.Rand) func(sent map[string][]binding) moment {
	most := 1 + random.IntN(gangSize-1)
	return func(sent map[string][]binding) moment {
		m := &partOfGang{gangs: make(map[string]string), most: most, forwarded: make(map[string]bool), not: make(map[string]bool)}
		begun := make(map[string]bool)
		for _, pod := range w.fitting {
			if len(sent[pod.Name]) > 0 {
				begun[gangOf(pod)] = true
			}
		}
		for _, pod := range w.fitting {
			if gang := gangOf(pod); gang != "" && !begun[gang] {
				m.gangs[pod.Name] = gang
			}
		}
		return m
	}
}

func gangOf(pod *v1.Pod) string {
	if pod.Spec.SchedulingGroup == nil {
		return ""
	}
	return *pod.Spec.SchedulingGroup.PodGroupName
}

func (m *partOfGang) holds(pod string) bool {
	gang := m.gangs[pod]
	if m.gang == "" {
		m.gang = gang
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

// newAllocatedClaim chooses the number of pods with claims that are bound before.
func newAllocatedClaim(w *workload, random *rand.Rand) func(sent map[string][]binding) moment {
	m := &allocatedClaim{pods: make(map[string]bool), skip: random.IntN(10)}
	for _, pod := range w.fitting {
		m.pods[pod.Name] = len(pod.Spec.ResourceClaims) > 0
	}
	return func(map[string][]binding) moment { return m }
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
