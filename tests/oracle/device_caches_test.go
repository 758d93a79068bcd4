package main

import (
	"fmt"
	"strings"
	"testing"
)

// The caches are filled by goroutines, so a cluster that does not wait for them fails only in some of the rounds.
func TestAClusterHasAllDevicesBeforeTheFirstEvaluation(t *testing.T) {
	const slices, rounds = 60, 10
	var cluster strings.Builder
	cluster.WriteString(`{"apiVersion": "v1", "kind": "List", "items": [
		{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}}},
		{"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {"extendedResourceName": "example.com/gpu"}}`)
	for i := range slices {
		fmt.Fprintf(&cluster, `,
		{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "s%[1]d"}, "spec": {"driver": "d", "nodeName": "n",
			"pool": {"name": "p%[1]d", "resourceSliceCount": 1}, "devices": [{"name": "g"}]}},
		{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "c%[1]d", "namespace": "default", "uid": "u%[1]d"},
			"spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}},
			"status": {"allocation": {"devices": {"results": [{"request": "r", "driver": "d", "pool": "p%[1]d", "device": "g"}]}}}}`, i)
	}
	cluster.WriteString("]}")
	// Without DynamicResources.
	scenario := Scenario{Cluster: []byte(cluster.String()), Config: []byte(`
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    multiPoint:
      disabled: [{name: "*"}]
      enabled: [{name: PrioritySort}, {name: NodeResourcesFit}, {name: DefaultBinder}]
`)}
	for round := range rounds {
		built, _, err := scenario.cluster(silence())
		if err != nil {
			t.Fatal(err)
		}
		manager := built.draManager()
		known, err := manager.ResourceSlices().ListWithDeviceTaintRules()
		if err != nil {
			t.Fatal(err)
		}
		allocated, err := manager.ResourceClaims().ListAllAllocatedDevices()
		if err != nil {
			t.Fatal(err)
		}
		if len(known) != slices || len(allocated) != slices {
			t.Fatalf("round %d: %d of %d slices, %d of %d allocated devices", round, len(known), slices, len(allocated), slices)
		}
		built.close()
	}
}
