// Command versions runs berth on API servers that have the API group resource.k8s.io only in a beta version, or replaces
// the API server by one of another release while berth runs.
//
// For each beta version of the release a real API server serves only this one. A pod with a claim and, where the release has
// them, a pod with an extended resource of a DeviceClass must be bound, and the status of their claims must be complete.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"berth.test/cluster/controlplane"
)

type options struct {
	controlplane.Common
	upgradeFrom string
}

func parse(args []string) (*options, error) {
	var o options
	flags := o.Flags("versions", "--berth PATH [--upgrade-from PROGRAM]", "Allocates devices on API servers with beta versions of resource.k8s.io only.")
	flags.StringVar(&o.upgradeFrom, "upgrade-from", "", "instead: upgrade the API server of this control `PROGRAM` (as tests/cluster/versions/build prints it) to --real and back while pods arrive")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	return &o, o.CompleteWithBerth()
}

func main() { controlplane.Main("versions", parse, run) }

func run(ctx context.Context, o *options, directory string) error {
	if o.upgradeFrom != "" {
		return upgrade(ctx, o, directory)
	}
	release, err := controlplane.ReleaseOf(o.Real)
	if err != nil {
		return err
	}
	versions := betaVersions(release)
	if len(versions) == 0 {
		fmt.Printf("not applicable: %s has no version of resource.k8s.io that berth reads\n", release.Name)
	}
	for _, version := range versions {
		if err := allocate(ctx, o, filepath.Join(directory, version), release, version); err != nil {
			return fmt.Errorf("%s: %w", version, err)
		}
		fmt.Printf("resource.k8s.io/%s of %s: the pods are bound, their claims are allocated and reserved\n", version, release.Name)
	}
	return nil
}

// betaVersions are those of resource.k8s.io that the release has, and berth reads.
func betaVersions(release controlplane.Release) (versions []string) {
	if release.Minor >= 33 {
		versions = append(versions, "v1beta2")
	}
	if release.Minor >= 32 {
		versions = append(versions, "v1beta1")
	}
	return versions
}

// flagsFor make the API server serve only this version of resource.k8s.io.
func flagsFor(release controlplane.Release, version string) []string {
	if release.Minor < 34 {
		return []string{"--feature-gates=DynamicResourceAllocation=true", "--runtime-config=resource.k8s.io/" + version + "=true"}
	}
	return []string{fmt.Sprintf("--runtime-config=resource.k8s.io/v1=false,resource.k8s.io/%s=true", version)}
}

func allocate(ctx context.Context, o *options, directory string, release controlplane.Release, version string) error {
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return err
	}
	children := &controlplane.Children{Directory: directory}
	defer children.StopAll()
	control, err := controlplane.Start(ctx, o.Real, directory, children, flagsFor(release, version)...)
	if err != nil {
		return err
	}
	node := controlplane.ReadyNode("n-1", controlplane.Resources("cpu", "4", "memory", "8Gi", "pods", "10"))
	if _, err := control.Client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
		return err
	}
	if _, err := control.StartScheduler(children, "berth", []string{o.Berth, "scheduler"}, "default-scheduler", "admin"); err != nil {
		return err
	}
	if err := control.Apply(ctx, objects(version, release.HasExtendedResources())); err != nil {
		return err
	}
	pods := []string{"claiming"}
	if release.HasExtendedResources() {
		pods = append(pods, "requesting")
	}
	for _, pod := range pods {
		if _, err := control.NodeOf(ctx, 30*time.Second, pod); err != nil {
			return err
		}
	}
	return check(ctx, control, len(pods))
}

// objects are the manifests in this version. Only v1beta1 has other members: those of a device are in `basic`, those of
// a request are not in `exactly`.
func objects(version string, extended bool) string {
	device, request := "{name: %s}", "{name: gpu, exactly: {deviceClassName: gpu}}"
	if version == "v1beta1" {
		device, request = "{name: %s, basic: {}}", "{name: gpu, deviceClassName: gpu}"
	}
	group := "resource.k8s.io/" + version
	name, more := "", ""
	if extended {
		name, more = "extendedResourceName: example.com/gpu,", `---
apiVersion: v1
kind: Pod
metadata: {name: requesting}
spec: {containers: [{name: c, image: i, resources: {limits: {example.com/gpu: "1"}}}]}
`
	}
	// kubectl 1.32 takes a document that begins with a brace for JSON.
	return fmt.Sprintf(`
apiVersion: %[1]s
kind: DeviceClass
metadata: {name: gpu}
spec: {%[5]s selectors: [{cel: {expression: device.driver == "gpu.example.com"}}]}
---
apiVersion: %[1]s
kind: ResourceSlice
metadata: {name: s}
spec: {driver: gpu.example.com, nodeName: n-1, pool: {name: p, resourceSliceCount: 1}, devices: [%[2]s, %[3]s]}
---
apiVersion: %[1]s
kind: ResourceClaim
metadata: {name: one}
spec: {devices: {requests: [%[4]s]}}
---
apiVersion: v1
kind: Pod
metadata: {name: claiming}
spec: {containers: [{name: c, image: i}], resourceClaims: [{name: gpu, resourceClaimName: one}]}
%[6]s`, group, fmt.Sprintf(device, "g0"), fmt.Sprintf(device, "g1"), request, name, more)
}

// check requires this number of claims, each with one device, the finalizer and a reservation, and the devices to differ.
func check(ctx context.Context, control *controlplane.ControlPlane, count int) error {
	text, err := control.Kubectl(ctx, nil, "get", "resourceclaims", "-o", "json")
	if err != nil {
		return err
	}
	var list struct {
		Items []struct {
			Metadata metav1.ObjectMeta
			Status   struct {
				Allocation struct {
					Devices struct{ Results []struct{ Device string } }
				}
				ReservedFor []struct{ Name string }
			}
		}
	}
	// Before it kubectl warns that the version is deprecated.
	if err := json.Unmarshal([]byte(text[max(0, strings.Index(text, "{")):]), &list); err != nil {
		return err
	}
	devices := map[string]bool{}
	for _, claim := range list.Items {
		results := claim.Status.Allocation.Devices.Results
		if len(results) != 1 || len(claim.Status.ReservedFor) != 1 || len(claim.Metadata.Finalizers) != 1 {
			return fmt.Errorf("claim %s is incomplete: %+v", claim.Metadata.Name, claim)
		}
		devices[results[0].Device] = true
	}
	if len(list.Items) != count || len(devices) != count {
		return fmt.Errorf("%d claims with %d devices instead of %d", len(list.Items), len(devices), count)
	}
	return nil
}
