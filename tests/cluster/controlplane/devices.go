package controlplane

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// DeviceState is the state of all claims and pods of a namespace at one time, for tests of the rules that must hold at
// any time: no device is allocated to two claims, and no allocation changes. The pool of a device has the name of its
// node.
type DeviceState struct {
	claims map[types.UID]*resourcev1.ResourceClaim
	byName map[string]types.UID
	pods   map[types.UID]*v1.Pod
	users  map[string]map[types.UID]string // by device: names of claims by UID
}

// NewDeviceState is the state without claims and pods.
func NewDeviceState() *DeviceState {
	return &DeviceState{make(map[types.UID]*resourcev1.ResourceClaim), make(map[string]types.UID), make(map[types.UID]*v1.Pod), make(map[string]map[types.UID]string)}
}

func devicesOf(claim *resourcev1.ResourceClaim) (names []string) {
	if claim == nil || claim.Status.Allocation == nil {
		return nil
	}
	for _, result := range claim.Status.Allocation.Devices.Results {
		names = append(names, strings.Join([]string{result.Driver, result.Pool, result.Device}, "/"))
	}
	return names
}

// Claim updates the state after a change of a claim, and returns the violations.
func (s *DeviceState) Claim(kind watch.EventType, claim *resourcev1.ResourceClaim) (violations []string) {
	before := s.claims[claim.UID]
	for _, device := range devicesOf(before) {
		delete(s.users[device], claim.UID)
	}
	if kind == watch.Deleted {
		delete(s.claims, claim.UID)
		delete(s.byName, claim.Name)
		return nil
	}
	s.claims[claim.UID], s.byName[claim.Name] = claim, claim.UID
	had, has := devicesOf(before), devicesOf(claim)
	if len(had) > 0 && len(has) > 0 && !slices.Equal(had, has) {
		violations = append(violations, fmt.Sprintf("claim %s went from %v to %v", claim.Name, had, has))
	}
	for _, device := range has {
		if s.users[device] == nil {
			s.users[device] = make(map[types.UID]string)
		}
		for _, other := range s.users[device] {
			violations = append(violations, fmt.Sprintf("device %s is allocated to %s and to %s", device, other, claim.Name))
		}
		s.users[device][claim.UID] = claim.Name
	}
	return violations
}

// The ends of the violations of a pod that was bound without a reservation, or without an allocation.
const (
	NotReserved  = "is not reserved for it"
	NotAllocated = "is not allocated"
)

// Pod updates the state after a change of a pod, and returns the violations: when a pod is bound, its claims must be
// allocated on its node and reserved for it.
func (s *DeviceState) Pod(kind watch.EventType, pod *v1.Pod) (violations []string) {
	before := s.pods[pod.UID]
	if kind == watch.Deleted {
		delete(s.pods, pod.UID)
		return nil
	}
	s.pods[pod.UID] = pod
	if pod.Spec.NodeName == "" || before != nil && before.Spec.NodeName != "" {
		return nil
	}
	for _, reference := range pod.Spec.ResourceClaims {
		claim := s.claims[s.byName[claimName(pod, reference)]]
		if claim == nil {
			violations = append(violations, fmt.Sprintf("pod %s was bound without its claim %s", pod.Name, reference.Name))
			continue
		}
		if len(devicesOf(claim)) == 0 {
			violations = append(violations, fmt.Sprintf("pod %s was bound, its claim %s %s", pod.Name, claim.Name, NotAllocated))
		}
		if !reservedFor(claim, pod.UID) {
			violations = append(violations, fmt.Sprintf("pod %s was bound, its claim %s %s", pod.Name, claim.Name, NotReserved))
		}
		for _, device := range devicesOf(claim) {
			if !strings.Contains(device, "/"+pod.Spec.NodeName+"/") {
				violations = append(violations, fmt.Sprintf("pod %s was bound to %s, its claim has %s", pod.Name, pod.Spec.NodeName, device))
			}
		}
	}
	return violations
}

// claimName is empty if the controller has made no claim yet.
func claimName(pod *v1.Pod, reference v1.PodResourceClaim) string {
	if reference.ResourceClaimName != nil {
		return *reference.ResourceClaimName
	}
	for _, status := range pod.Status.ResourceClaimStatuses {
		if status.Name == reference.Name && status.ResourceClaimName != nil {
			return *status.ResourceClaimName
		}
	}
	return ""
}

func reservedFor(claim *resourcev1.ResourceClaim, pod types.UID) bool {
	return slices.ContainsFunc(claim.Status.ReservedFor, func(c resourcev1.ResourceClaimConsumerReference) bool { return c.UID == pod })
}

// InFlight returns the pods, by claim, for which a claim is allocated, and which are not bound yet.
func (s *DeviceState) InFlight() (pods []string) {
	for _, claim := range s.claims {
		for _, consumer := range claim.Status.ReservedFor {
			if pod := s.pods[consumer.UID]; pod != nil && pod.Spec.NodeName == "" {
				pods = append(pods, pod.Name)
			}
		}
	}
	return pods
}

// Leaked lists the claims whose devices are reserved, and none of the pods is bound. An allocated claim that is reserved
// for no pod is none of them: a scheduler that gives up a pod leaves the allocation to the next pod of the claim.
func (s *DeviceState) Leaked() (violations []string) {
	for _, uid := range slices.Sorted(maps.Keys(s.claims)) {
		claim := s.claims[uid]
		if len(devicesOf(claim)) == 0 || len(claim.Status.ReservedFor) == 0 {
			continue
		}
		used := slices.ContainsFunc(claim.Status.ReservedFor, func(c resourcev1.ResourceClaimConsumerReference) bool {
			pod := s.pods[c.UID]
			return pod != nil && pod.Spec.NodeName != ""
		})
		if !used {
			violations = append(violations, fmt.Sprintf("claim %s has %v without a bound pod", claim.Name, devicesOf(claim)))
		}
	}
	return violations
}
