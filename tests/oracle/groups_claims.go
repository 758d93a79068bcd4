package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"

	"berth.test/handlers"
)

// writeClaim accepts a write of a claim. Members of a group write a shared claim at the same time: as if each had seen the
// writes of the others, their reservations are united. kube-scheduler's own writes would conflict, and the members that come
// too late would fail (docs/differences.md).
func (r *groupRun) writeClaim(action clienttesting.Action) (bool, runtime.Object, error) {
	var name string
	var change func(claim *resourcev1.ResourceClaim) error
	switch action := action.(type) {
	case clienttesting.UpdateActionImpl:
		written := action.GetObject().(*resourcev1.ResourceClaim)
		name = written.Name
		change = func(claim *resourcev1.ResourceClaim) error {
			if action.GetSubresource() == "" {
				claim.Finalizers = written.Finalizers
			} else {
				unite(&claim.Status, written.Status.DeepCopy())
			}
			return nil
		}
	case clienttesting.PatchActionImpl:
		name = action.GetName()
		change = func(claim *resourcev1.ResourceClaim) error { return release(&claim.Status, action.GetPatch()) }
	default:
		return true, nil, errors.New("the test refuses the write")
	}
	key := "ResourceClaim " + action.GetNamespace() + "/" + name
	current := r.claims[key]
	if current == nil {
		current, _ = r.current[key].(*resourcev1.ResourceClaim)
	}
	if current == nil {
		return true, nil, fmt.Errorf("no claim %s", key)
	}
	after := current.DeepCopy()
	if err := change(after); err != nil {
		return true, nil, err
	}
	r.versions++
	after.ResourceVersion = fmt.Sprint(2_000_000 + r.versions)
	r.claims[key] = after
	return true, after.DeepCopy(), nil
}

func unite(status, written *resourcev1.ResourceClaimStatus) {
	if written.Allocation == nil {
		*status = resourcev1.ResourceClaimStatus{}
		return
	}
	if status.Allocation == nil {
		status.Allocation = written.Allocation
	}
	for _, consumer := range written.ReservedFor {
		if !slices.ContainsFunc(status.ReservedFor, func(c resourcev1.ResourceClaimConsumerReference) bool { return c.UID == consumer.UID }) {
			status.ReservedFor = append(status.ReservedFor, consumer)
		}
	}
}

// release applies a patch that removes a consumer.
func release(status *resourcev1.ResourceClaimStatus, patch []byte) error {
	var removed struct {
		Status struct {
			ReservedFor []struct{ UID types.UID }
		}
	}
	if err := json.Unmarshal(patch, &removed); err != nil {
		return err
	}
	status.ReservedFor = slices.DeleteFunc(status.ReservedFor, func(c resourcev1.ResourceClaimConsumerReference) bool {
		return c.UID == removed.Status.ReservedFor[0].UID
	})
	return nil
}

// deliverClaims lets the watch report the claims that were written. Writes that changed only finalizers or nothing are no
// result.
func (r *groupRun) deliverClaims() error {
	r.lock.Lock()
	written := r.claims
	r.claims = make(map[string]*resourcev1.ResourceClaim)
	r.lock.Unlock()
	for _, key := range slices.Sorted(maps.Keys(written)) {
		before, after := r.current[key].(*resourcev1.ResourceClaim), written[key]
		r.current[key] = after
		if text := claimText(after); text != claimText(before) {
			if r.result.Claims == nil {
				r.result.Claims = make(map[string]string)
			}
			r.result.Claims[strings.TrimPrefix(key, "ResourceClaim ")] = text
		}
		if err := handlers.Deliver(r.scheduler, r.factory, before, after); err != nil {
			return err
		}
	}
	return nil
}

// claimText are the devices and the consumers of a claim.
func claimText(claim *resourcev1.ResourceClaim) string {
	if claim.Status.Allocation == nil {
		return "not allocated"
	}
	var devices, consumers []string
	for _, device := range claim.Status.Allocation.Devices.Results {
		devices = append(devices, fmt.Sprintf("%s=%s/%s/%s", device.Request, device.Driver, device.Pool, device.Device))
	}
	for _, consumer := range claim.Status.ReservedFor {
		consumers = append(consumers, fmt.Sprintf("%s %s/%s %s", consumer.APIGroup, consumer.Resource, consumer.Name, consumer.UID))
	}
	slices.Sort(consumers)
	return strings.Join(devices, ", ") + " for " + strings.Join(consumers, ", ")
}
