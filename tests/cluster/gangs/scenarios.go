package main

import (
	"fmt"
	"strings"
)

// pod is a manifest of a pod that needs more than a half of a node.
func pod(name, metadata string, spec ...string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: default, %s}
spec: {%s, containers: [{name: c, image: registry.example/c, resources: {requests: {cpu: 1500m}}}]}`,
		name, metadata, strings.Join(append(spec, "terminationGracePeriodSeconds: 0"), ", "))
}

func member(group, name string, spec ...string) string {
	return pod(name, fmt.Sprintf("labels: {scheduling.x-k8s.io/pod-group: %s}", group), spec...)
}

func members(group string, names ...string) (manifests string) {
	for _, name := range names {
		manifests += member(group, name) + "\n---\n"
	}
	return manifests
}

func podGroup(name, spec string) string {
	return fmt.Sprintf(`apiVersion: scheduling.x-k8s.io/v1alpha1
kind: PodGroup
metadata: {name: %s, namespace: default}
spec: {%s}`, name, spec)
}

// coscheduling are the scenarios with PodGroups of scheduler-plugins; every scheduler must pass them.
func coscheduling() []scenario {
	return []scenario{
		{"a group whose members all fit", func(s *stage) {
			s.nodes("n1", "n2", "n3")
			s.create(podGroup("g", "minMember: 3"), members("g", "a", "b", "c"))
			s.bound("a", "b", "c")
		}},
		{"a group waits for its members", func(s *stage) {
			s.nodes("n1", "n2")
			s.create(podGroup("g", "minMember: 2"), member("g", "a"))
			s.bound()
			s.create(member("g", "b"))
			s.bound("a", "b")
		}},
		{"members that exist before their group", func(s *stage) {
			s.nodes("n1", "n2")
			s.create(members("g", "a", "b"))
			s.bound()
			s.create(podGroup("g", "minMember: 2"))
			s.bound("a", "b")
		}},
		{"a group that does not fit leaves the nodes to others", func(s *stage) {
			s.nodes("n1", "n2")
			s.create(podGroup("g", "minMember: 3"), members("g", "a", "b", "c"))
			s.bound()
			s.create(pod("single", "labels: {}"))
			s.bound("single")
		}},
		{"a group that fits after nodes were added", func(s *stage) {
			s.nodes("n1")
			s.create(podGroup("g", "minMember: 3"), members("g", "a", "b", "c"))
			s.bound()
			s.nodes("n2", "n3")
			s.bound("a", "b", "c")
		}},
		{"two groups of which one fits", func(s *stage) {
			s.nodes("n1", "n2", "n3")
			s.create(podGroup("g", "minMember: 2"), members("g", "a", "b"))
			s.bound("a", "b")
			s.create(podGroup("h", "minMember: 2"), members("h", "c", "d"))
			s.bound("a", "b")
			s.delete("pod", "a")
			s.bound("b", "c", "d")
		}},
		{"more members than minMember", func(s *stage) {
			s.nodes("n1", "n2")
			s.create(podGroup("g", "minMember: 2"), members("g", "a", "b", "c"))
			s.boundCount(2)
			s.nodes("n3")
			s.bound("a", "b", "c")
		}},
		{"a member that arrives after the others", func(s *stage) {
			s.nodes("n1", "n2", "n3")
			s.create(podGroup("g", "minMember: 2"), members("g", "a", "b"))
			s.bound("a", "b")
			s.create(member("g", "c"))
			s.bound("a", "b", "c")
		}},
		{"a lower minMember", func(s *stage) {
			s.nodes("n1", "n2")
			s.create(podGroup("g", "minMember: 3"), members("g", "a", "b"))
			s.bound()
			s.create(podGroup("g", "minMember: 2"))
			s.bound("a", "b")
		}},
		{"minResources that are not free", func(s *stage) {
			s.nodes("n1", "n2")
			s.create(podGroup("g", "minMember: 1, minResources: {cpu: 5}"), member("g", "a"))
			s.bound()
			s.nodes("n3")
			s.create(member("g", "b")) // an event for both
			s.bound("a", "b")
		}},
		{"minResources of a resource that no node has", func(s *stage) {
			s.nodes("n1")
			s.create(podGroup("g", "minMember: 1, minResources: {example.com/gpu: 1}"), member("g", "a"))
			s.bound()
		}},
		{"the group of higher priority comes first", func(s *stage) {
			s.create(podGroup("low", "minMember: 2"), podGroup("high", "minMember: 2"),
				members("low", "a", "b"), member("high", "c", "priorityClassName: high"), member("high", "d", "priorityClassName: high"))
			s.bound()
			s.nodes("n1", "n2")
			s.bound("c", "d")
		}},
		{"a pod without a group is not affected", func(s *stage) {
			s.nodes("n1")
			s.create(pod("single", "labels: {}"))
			s.bound("single")
		}},
	}
}

func volcanoMember(name, task string) string {
	return pod(name, fmt.Sprintf("annotations: {scheduling.k8s.io/group-name: mpi, volcano.sh/task-spec: %s}", task))
}

// others are the scenarios with groups of other projects, and with the manifests of the guide.
func (o *options) others() []scenario {
	return []scenario{
		{"a group of Volcano", func(s *stage) {
			s.nodes("n1", "n2")
			s.create(`apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: mpi, namespace: default}
spec: {minMember: 2, queue: any, minTaskMember: {launcher: 1, worker: 1}}`,
				volcanoMember("w1", "worker"), volcanoMember("w2", "worker"))
			s.bound()
			s.delete("pod", "w2")
			s.create(volcanoMember("l", "launcher"))
			s.bound("l", "w1")
		}},
		{"the guide: PodGroup of scheduler-plugins", func(s *stage) { s.guided("coscheduling.yaml", 3) }},
		{"the guide: PodGroup of Volcano", func(s *stage) { s.guided("volcano.yaml", 3) }},
		{"the guide: Job", func(s *stage) { s.guided("job.yaml", 3) }},
		{"the guide: indexed Job", func(s *stage) { s.guided("indexed-job.yaml", 3) }},
		{"the guide: executors of Spark", func(s *stage) { s.guided("spark.yaml", 4) }},
		{"the guide: TaskManagers of Flink", func(s *stage) { s.guided("flink.yaml", 4) }},
		{"the guide: annotation", func(s *stage) { s.guided("annotation.yaml", 3) }},
	}
}

// guided runs a manifest with `count` pods, whose group needs one node more than there is at first.
func (s *stage) guided(file string, count int) {
	for i := range count - 1 {
		s.nodes(fmt.Sprintf("n%d", i))
	}
	s.guide(file)
	alone := count - 3 // a driver or JobManager
	s.boundCount(alone)
	s.nodes("last")
	s.boundCount(count)
}

const priorities = `apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 100
preemptionPolicy: Never`

// volcanoDefinition declares the fields that Berth reads; Volcano's own definition has more.
const volcanoDefinition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: podgroups.scheduling.volcano.sh}
spec:
  group: scheduling.volcano.sh
  scope: Namespaced
  names: {kind: PodGroup, plural: podgroups, singular: podgroup, listKind: PodGroupList}
  versions:
  - name: v1beta1
    served: true
    storage: true
    schema:
      openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}`
