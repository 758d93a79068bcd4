package main

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
)

// deviceWrites are the claims that DynamicResources writes. The API accepts them without an effect: one evaluation must
// not change the next one.
type deviceWrites struct {
	// Claims are the claims with their new status, by name.
	claims  map[string]*resourcev1.ResourceClaim
	created *resourcev1.ResourceClaim
	// status is the patch of the pod, the last write of a PreBind with a special claim.
	status json.RawMessage
	done   context.CancelFunc
	// failure is an error of PreBind.
	failure string
}

func keepClaims(client *fake.Clientset) *deviceWrites {
	w := &deviceWrites{}
	client.PrependReactor("*", "resourceclaims", func(action clienttesting.Action) (bool, runtime.Object, error) {
		switch action.GetVerb() {
		case "create":
			claim := action.(clienttesting.CreateAction).GetObject().(*resourcev1.ResourceClaim).DeepCopy()
			w.created = claim.DeepCopy()
			claim.Name, claim.UID = "created-1", "uid-created-1"
			return true, claim, nil
		case "update":
			claim := action.(clienttesting.UpdateAction).GetObject().(*resourcev1.ResourceClaim)
			if action.GetSubresource() == "status" && w.claims != nil {
				w.claims[claim.Name] = claim.DeepCopy()
			}
			return true, claim, nil
		case "patch":
			return true, &resourcev1.ResourceClaim{}, nil
		case "delete":
			return true, nil, nil
		}
		return false, nil, nil
	})
	client.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if w.done == nil {
			return false, nil, nil
		}
		w.status = action.(clienttesting.PatchAction).GetPatch()
		// DynamicResources now waits for the watch to deliver the new claim.
		w.done()
		return true, &v1.Pod{}, nil
	})
	return w
}

// place lets DynamicResources reserve the devices of the last evaluated pod on a node, write its claims, and release
// everything. It returns what it has written, and the error of Reserve. An error of PreBind is in writes.failure.
func (c *Cluster) place(pod *v1.Pod, node string) (*deviceWrites, string) {
	plugin := c.devicesOf(pod.Spec.SchedulerName)
	if plugin == nil {
		return &deviceWrites{}, ""
	}
	// Devices with binding conditions are never ready.
	ctx, cancel := context.WithTimeout(c.ctx, 50*time.Millisecond)
	defer cancel()
	*c.writes = deviceWrites{claims: map[string]*resourcev1.ResourceClaim{}, done: cancel}
	failure := ""
	if status := plugin.Reserve(ctx, c.state, pod, node); !status.IsSuccess() {
		failure = status.Message()
	} else if status := plugin.PreBind(ctx, c.state, pod, node); !status.IsSuccess() && !strings.Contains(status.Message(), "context ") {
		c.writes.failure = status.Message()
	}
	written := *c.writes
	c.writes.claims, c.writes.done = nil, nil
	plugin.Unreserve(c.ctx, c.state, pod, node)
	tracker := c.scheduler.Profiles[pod.Spec.SchedulerName].SharedDRAManager().ResourceClaims()
	for name, claim := range written.claims {
		tracker.AssumedClaimRestore(claim.Namespace, name)
	}
	return &written, failure
}

func (c *Cluster) devicesOf(profile string) *dynamicresources.DynamicResources {
	for _, plugin := range c.scheduler.Profiles[profile].PreEnqueuePlugins() {
		if devices, ok := plugin.(*dynamicresources.DynamicResources); ok {
			return devices
		}
	}
	return nil
}
