package main

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"berth.test/cluster/controlplane"
)

const gangSize = 6

// gangFlags let the API server and schedulers know pod groups.
var gangFlags = []string{"--feature-gates=GenericWorkload=true"}

// addGangs makes gangs of a third of the pods, and adds one that never fits: two of its three members find a node at
// every attempt.
func (w *workload) addGangs() {
	var members []*v1.Pod
	for i, pod := range w.fitting {
		if i%10 < 3 {
			members = append(members, pod)
		}
	}
	for i, pod := range members[:len(members)/gangSize*gangSize] {
		gang := fmt.Sprint("gang-", i/gangSize)
		controlplane.JoinGroup(pod, gang)
		w.gangs[gang] = gangSize
	}
	const large = "gang-that-never-fits"
	w.gangs[large] = 3
	for i := range w.gangs[large] {
		pod := plainPod(fmt.Sprint(large, "-", i), controlplane.Resources("cpu", "3"))
		pod.Spec.NodeSelector = map[string]string{v1.LabelHostname: w.nodes[0].Name}
		controlplane.JoinGroup(pod, large)
		w.refused = append(w.refused, pod)
	}
}

func (w *workload) prepareGangs(ctx context.Context, client kubernetes.Interface) error {
	for gang, size := range w.gangs {
		if err := controlplane.CreateGang(ctx, client, "default", gang, size); err != nil {
			return err
		}
	}
	return nil
}
