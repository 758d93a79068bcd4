package controlplane

import (
	"context"

	v1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Resources creates a list from alternating names and amounts.
func Resources(pairs ...string) v1.ResourceList {
	list := make(v1.ResourceList)
	for i := 0; i < len(pairs); i += 2 {
		list[v1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

// ReadyNode is a node with a kubelet's usual status, its host name label and further labels (alternating keys
// and values).
func ReadyNode(name string, room v1.ResourceList, labels ...string) *v1.Node {
	node := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelHostname: name}},
		Status: v1.NodeStatus{Allocatable: room, Capacity: room.DeepCopy(),
			Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}},
	}
	for i := 0; i < len(labels); i += 2 {
		node.Labels[labels[i]] = labels[i+1]
	}
	return node
}

// CreateGang creates a PodGroup whose members are scheduled together, at least minCount of them.
func CreateGang(ctx context.Context, client kubernetes.Interface, namespace, name string, minCount int32) error {
	_, err := client.SchedulingV1beta1().PodGroups(namespace).Create(ctx, &schedulingv1beta1.PodGroup{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: schedulingv1beta1.PodGroupSpec{SchedulingPolicy: schedulingv1beta1.PodGroupSchedulingPolicy{
			Gang: &schedulingv1beta1.GangSchedulingPolicy{MinCount: minCount}}},
	}, metav1.CreateOptions{})
	return err
}

// JoinGroup makes the pod a member of the group.
func JoinGroup(pod *v1.Pod, group string) {
	pod.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &group}
}
