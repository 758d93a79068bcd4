// Command karpenter runs scenarios of Karpenter with kube-scheduler and with berth on a real API server, and compares what
// becomes of pods, nodes and NodeClaims.
//
// Karpenter decides by what a scheduler writes: the condition PodScheduled with the reason Unschedulable, nominations, and
// bindings. Its provider KWOK creates Node objects; this program makes them ready, as kubelets do.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"berth.test/cluster/controlplane"
)

type options struct {
	controlplane.Common
	karpenter string
	only      string
}

func parse(args []string) (*options, error) {
	var o options
	flags := o.Flags("karpenter", "--berth PATH --karpenter PATH [--only WORDS]",
		"Runs scenarios of Karpenter with kube-scheduler and with berth, and compares the outcomes.")
	flags.StringVar(&o.karpenter, "karpenter", "", "the `PATH` of tests/karpenter, built")
	flags.StringVar(&o.only, "only", "", "only the scenarios with these `WORDS` in their name")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if o.karpenter == "" {
		return nil, errors.New("give --karpenter")
	}
	path, err := filepath.Abs(o.karpenter)
	if err != nil {
		return nil, err
	}
	o.karpenter = path
	return &o, o.CompleteWithBerth()
}

func main() { controlplane.Main("karpenter", parse, run) }

// run plays each scenario on a control plane of its own, so that no node of another one is left.
func run(ctx context.Context, o *options, directory string) error {
	var compared []controlplane.Compared
	for _, one := range scenarios {
		compared = append(compared, controlplane.Compared{Name: one.name, Play: func(ctx context.Context, scheduler controlplane.Scheduler, directory string) ([]string, error) {
			return o.play(ctx, one, scheduler, directory)
		}})
	}
	return o.CompareSchedulers(ctx, o.only, directory, compared)
}

func (o *options) play(ctx context.Context, one scenario, scheduler controlplane.Scheduler, directory string) ([]string, error) {
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return nil, err
	}
	children := &controlplane.Children{Directory: directory}
	defer children.StopAll()
	control, err := controlplane.Start(ctx, o.Real, directory, children)
	if err != nil {
		return nil, err
	}
	// Karpenter's pods that a deleted node had are removed by this controller.
	if _, err := control.StartControllers("pod-garbage-collector-controller", "disruption-controller"); err != nil {
		return nil, err
	}
	if err := o.install(ctx, control); err != nil {
		return nil, err
	}
	if _, err := control.StartScheduler(children, scheduler.Name, scheduler.Command, "default-scheduler", "token"); err != nil {
		return nil, err
	}
	karpenter, err := o.startKarpenter(control, children)
	if err != nil {
		return nil, err
	}
	s := newStage(ctx, control, karpenter)
	defer s.close()
	err = controlplane.Played(func() { one.run(s) })
	return s.lines, err
}

// install creates Karpenter's definitions, one NodePool and its class.
func (o *options) install(ctx context.Context, control *controlplane.ControlPlane) error {
	module, err := controlplane.ModuleDirectory("sigs.k8s.io/karpenter@v1.15.0")
	if err != nil {
		return err
	}
	for _, directory := range []string{"pkg/apis/crds", "kwok/apis/crds"} {
		if _, err := control.Kubectl(ctx, nil, "apply", "--server-side", "-f", filepath.Join(module, directory)); err != nil {
			return err
		}
	}
	if _, err := control.Kubectl(ctx, nil, "wait", "--for=condition=Established", "--timeout=30s", "crd", "--all"); err != nil {
		return err
	}
	return control.Apply(ctx, nodePool)
}

func (o *options) startKarpenter(control *controlplane.ControlPlane, children *controlplane.Children) (*controlplane.Child, error) {
	types := control.File("instance-types.json")
	if err := os.WriteFile(types, []byte(instanceTypes()), 0o600); err != nil {
		return nil, err
	}
	ports, err := controlplane.FreePorts(2)
	if err != nil {
		return nil, err
	}
	return children.StartWith("karpenter", []string{o.karpenter}, "KUBECONFIG="+control.AdminKubeconfig,
		"DISABLE_LEADER_ELECTION=true", "KARPENTER_SERVICE=karpenter", "LOG_LEVEL=debug", "INSTANCE_TYPES_FILE_PATH="+types,
		fmt.Sprintf("METRICS_PORT=%d", ports[0]), fmt.Sprintf("HEALTH_PROBE_PORT=%d", ports[1]))
}

const nodePool = `
{apiVersion: karpenter.kwok.sh/v1alpha1, kind: KWOKNodeClass, metadata: {name: default}}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}]
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
      expireAfter: Never
  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 1s}
`

// instanceTypes has two sizes in three zones.
func instanceTypes() string {
	var types []string
	for _, size := range []struct {
		name, cpu, memory string
		price             float64
	}{{"small", "4", "16Gi", 0.1}, {"large", "16", "64Gi", 0.4}} {
		var offerings []string
		for _, zone := range []string{"zone-a", "zone-b", "zone-c"} {
			offerings = append(offerings, fmt.Sprintf(`{"Price": %g, "Available": true, "Requirements": [
				{"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]},
				{"key": "topology.kubernetes.io/zone", "operator": "In", "values": [%q]}]}`, size.price, zone))
		}
		types = append(types, fmt.Sprintf(`{"name": %q, "architecture": "amd64", "operatingSystems": ["linux"],
			"resources": {"cpu": %q, "memory": %q}, "offerings": [%s]}`, size.name, size.cpu, size.memory, strings.Join(offerings, ",")))
	}
	return "[" + strings.Join(types, ",") + "]"
}
