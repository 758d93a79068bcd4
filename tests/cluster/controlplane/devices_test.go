package controlplane

import (
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// Provokes each violation once: otherwise a checker without findings would prove nothing.
func TestDeviceStateFindsViolations(t *testing.T) {
	claim := func(name, device, pod string) *resourcev1.ResourceClaim {
		c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)}}
		if device != "" {
			c.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{
				Results: []resourcev1.DeviceRequestAllocationResult{{Request: "r", Driver: "d", Pool: "n-1", Device: device}}}}
		}
		if pod != "" {
			c.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: pod, UID: types.UID("uid-" + pod)}}
		}
		return c
	}
	pod := func(name, node, claim string) *v1.Pod {
		return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)},
			Spec: v1.PodSpec{NodeName: node, ResourceClaims: []v1.PodResourceClaim{{Name: "c", ResourceClaimName: &claim}}}}
	}
	tests := []struct {
		name    string
		changes []any
		want    string
	}{
		{"in order", []any{pod("p", "", "a"), claim("a", "", ""), claim("a", "g0", "p"), pod("p", "n-1", "a")}, ""},
		{"free again", []any{claim("a", "g0", ""), claim("a", "", ""), claim("b", "g0", "p"), pod("p", "n-1", "b")}, ""},
		{"twice", []any{claim("a", "g0", ""), claim("b", "g0", "")}, "device d/n-1/g0 is allocated to a and to b"},
		{"another allocation", []any{claim("a", "g0", ""), claim("a", "g1", "")}, "went from"},
		{"no claim", []any{pod("p", "n-1", "a")}, "bound without its claim"},
		{"not allocated", []any{claim("a", "", "p"), pod("p", "n-1", "a")}, "is not allocated"},
		{"not reserved", []any{claim("a", "g0", ""), pod("p", "n-1", "a")}, "is not reserved for it"},
		{"another node", []any{claim("a", "g0", "p"), pod("p", "n-2", "a")}, "was bound to n-2"},
		{"leaked", []any{claim("a", "g0", "p"), pod("p", "", "a")}, "without a bound pod"},
		{"left to the next pod", []any{claim("a", "g0", "p"), claim("a", "g0", "")}, ""},
		{"leaked without a pod", []any{claim("a", "g0", "p")}, "without a bound pod"},
	}
	for _, test := range tests {
		state := NewDeviceState()
		var found []string
		for _, change := range test.changes {
			switch object := change.(type) {
			case *v1.Pod:
				found = append(found, state.Pod(watch.Modified, object)...)
			case *resourcev1.ResourceClaim:
				found = append(found, state.Claim(watch.Modified, object)...)
			}
		}
		found = append(found, state.Leaked()...)
		if test.want == "" && len(found) > 0 || test.want != "" && !slices.ContainsFunc(found, func(text string) bool { return strings.Contains(text, test.want) }) {
			t.Errorf("%s: %q, want %q", test.name, found, test.want)
		}
	}
}
