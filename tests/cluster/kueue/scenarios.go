package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type scenario struct {
	name string
	// configuration is appended to Kueue's.
	configuration string
	jobset        bool // JobSet runs, too
	run           func(s *stage)
}

const priorityLabel = "kueue.x-k8s.io/priority-class"

var scenarios = []scenario{
	{name: "a Job beyond the quota waits until another one has finished", run: func(s *stage) {
		s.node("n", "8")
		s.queue("main", "4")
		s.job("a", 2, "2")
		s.runs("a", 2)
		s.job("b", 2, "2")
		s.waits("b", ofJob("b"))
		s.finish(ofJob("a"))
		s.finished("a")
		s.runs("b", 2)
	}},
	{name: "a pod stays gated until the queue has quota", run: func(s *stage) {
		s.node("n", "8")
		s.queue("main", "4")
		s.pod("a", "4")
		s.bound("a")
		s.pod("b", "2")
		s.gated("b")
		s.deletePod("a")
		s.bound("b")
	}},
	{name: "a group of pods is admitted when it is complete", run: func(s *stage) {
		s.node("n", "8")
		s.queue("main", "4")
		member := func(pod *v1.Pod) {
			pod.Labels["kueue.x-k8s.io/pod-group-name"] = "g"
			pod.Annotations = map[string]string{"kueue.x-k8s.io/pod-group-total-count": "3"}
		}
		s.pod("a", "1", member)
		s.pod("b", "1", member)
		s.gated("a")
		s.gated("b")
		s.pod("c", "1", member)
		s.bound("a", "b", "c")
	}},
	{name: "Kueue evicts a Job for one of higher priority", run: func(s *stage) {
		s.node("n", "4")
		s.apply(priorities)
		s.queue("main", "4", "preemption: {withinClusterQueue: LowerPriority}")
		s.job("low", 2, "2", withLabel(priorityLabel, "low"))
		s.runs("low", 2)
		s.job("high", 2, "2", withLabel(priorityLabel, "high"))
		s.runs("high", 2)
		s.waits("low", ofJob("low"))
		s.finish(ofJob("high"))
		s.finished("high")
		s.runs("low", 2)
	}},
	{name: "Kueue evicts a group of pods for one of higher priority", run: func(s *stage) {
		s.node("n", "4")
		s.apply(priorities)
		s.queue("main", "4", "preemption: {withinClusterQueue: LowerPriority}")
		for _, group := range []string{"low", "high"} {
			member := func(pod *v1.Pod) {
				pod.Labels["kueue.x-k8s.io/pod-group-name"] = group
				pod.Labels[priorityLabel] = group
				pod.Annotations = map[string]string{"kueue.x-k8s.io/pod-group-total-count": "2"}
			}
			s.pod(group+"-a", "2", member)
			s.pod(group+"-b", "2", member)
			s.bound(group+"-a", group+"-b")
		}
		s.say("%d pods of low", len(s.podsOf("kueue.x-k8s.io/pod-group-name=low")))
	}},
	{name: "a pod outside of Kueue preempts one of an admitted Job", run: func(s *stage) {
		s.node("n", "4")
		s.queue("main", "4")
		_, err := s.control.Client.SchedulingV1().PriorityClasses().Create(s.ctx,
			&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "urgent"}, Value: 1000}, metav1.CreateOptions{})
		s.must(err)
		s.must(s.control.AwaitPriorityClass(s.ctx, "urgent"))
		s.job("a", 2, "2")
		s.runs("a", 2)
		s.pod("urgent", "2", func(pod *v1.Pod) {
			pod.Labels = nil
			pod.Spec.PriorityClassName = "urgent"
		})
		s.bound("urgent")
		s.runs("a", 1)
		s.deletePod("urgent")
		s.runs("a", 2)
	}},
	{name: "a queue takes lent quota back", run: func(s *stage) {
		s.node("n", "4")
		s.queue("main", "2", "cohortName: all", "preemption: {reclaimWithinCohort: Any}")
		s.queue("other", "2", "cohortName: all")
		s.job("borrower", 4, "1", withLabel(queueLabel, "other"))
		s.runs("borrower", 4)
		s.job("owner", 2, "1")
		s.runs("owner", 2)
		s.waits("borrower", ofJob("borrower"))
	}},
	{name: "flavors are nodes with labels and taints", run: func(s *stage) {
		s.node("own", "2", "kind", "own")
		s.node("spot", "2", "kind", "spot")
		s.taint("spot", v1.Taint{Key: "spot", Value: "true", Effect: v1.TaintEffectNoSchedule})
		s.apply(`apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: spot}
spec: {nodeLabels: {kind: spot}, tolerations: [{key: spot, operator: Exists, effect: NoSchedule}]}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: own}, spec: {nodeLabels: {kind: own}}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: main}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - {name: spot, resources: [{name: cpu, nominalQuota: 2}]}
    - {name: own, resources: [{name: cpu, nominalQuota: 2}]}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: main, namespace: default}, spec: {clusterQueue: main}}`)
		s.job("a", 2, "1")
		s.runsOn("a", 2)
		s.job("b", 2, "1")
		s.runsOn("b", 2)
		s.job("c", 1, "1")
		s.waits("c", ofJob("c"))
	}},
	{
		name: "a Job whose pods do not all fit is evicted, and the next one starts",
		configuration: `waitForPodsReady: {timeout: 20s, blockAdmission: true, requeuingStrategy: {backoffLimitCount: 0}}
`, run: func(s *stage) {
			s.node("n", "6")
			s.queue("main", "100")
			s.job("large", 4, "2")
			s.runs("large", 3)
			s.job("small", 1, "2")
			s.waits("small", ofJob("small"))
			s.evicted("large")
			s.runs("small", 1)
		}},
	{name: "a Job gets one rack, by Kueue's topologies", run: func(s *stage) {
		for _, name := range []string{"a1", "a2", "b1", "b2"} {
			s.node(name, "4", "pool", "racks", "rack", name[:1])
		}
		// Kueue counts this pod, which has no queue: rack a lacks the room for four others.
		s.pod("other", "3", func(pod *v1.Pod) {
			pod.Labels = nil
			pod.Spec.NodeSelector = map[string]string{v1.LabelHostname: "a1"}
		})
		s.bound("other")
		s.apply(racks)
		s.queueOfRacks("16")
		required := func(job *batchv1.Job) {
			job.Spec.Template.Annotations = map[string]string{"kueue.x-k8s.io/podset-required-topology": "rack"}
		}
		s.job("large", 4, "2", required)
		s.runsOn("large", 4)
		s.onAssignedNodes("large")
		s.job("small", 2, "2", required)
		s.runsOn("small", 2)
		s.onAssignedNodes("small")
	}},
	{name: "a JobSet beyond the quota waits until another one has finished", jobset: true, run: func(s *stage) {
		s.node("n", "8")
		s.queue("main", "3")
		s.apply(fmt.Sprintf(twoRoles, "a"))
		s.started(ofJobSet("a"), 3)
		s.say("a: 3 running")
		s.apply(fmt.Sprintf(twoRoles, "b"))
		s.waits("b", ofJobSet("b"))
		s.finish(ofJobSet("a"))
		s.started(ofJobSet("b"), 3)
		s.say("b: 3 running")
	}},
	{name: "each job of a JobSet gets a rack of its own", jobset: true, run: func(s *stage) {
		// Both jobs would fit into rack a, and its nodes have the better scores.
		for _, name := range []string{"a1", "a2"} {
			s.node(name, "32", "rack", "a")
		}
		for _, name := range []string{"b1", "b2"} {
			s.node(name, "4", "rack", "b")
		}
		s.apply(exclusive)
		s.racksOfJobs("x", 6)
	}},
	{name: "twenty Jobs through a queue for four", run: func(s *stage) {
		s.brief.Store(true)
		for _, name := range []string{"n1", "n2"} {
			s.node(name, "4")
		}
		s.queue("main", "8")
		var names []string
		for i := range 20 {
			names = append(names, fmt.Sprintf("j-%02d", i))
			s.job(names[i], 2, "1")
		}
		s.finished(names...)
		s.say("all finished")
	}},
}

const priorities = `{apiVersion: kueue.x-k8s.io/v1beta2, kind: WorkloadPriorityClass, metadata: {name: low}, value: 10}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: WorkloadPriorityClass, metadata: {name: high}, value: 1000}`

const racks = `apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {name: racks}
spec: {levels: [{nodeLabel: rack}, {nodeLabel: kubernetes.io/hostname}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: racks}
spec: {nodeLabels: {pool: racks}, topologyName: racks}`

// twoRoles is a JobSet of the queue "main" with a leader and two workers.
const twoRoles = `apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: %s, namespace: default, labels: {kueue.x-k8s.io/queue-name: main}}
spec:
  replicatedJobs:
  - name: leader
    template: {spec: {template: {spec: {containers: [{name: c, image: none, resources: {requests: {cpu: "1"}}}]}}}}
  - name: workers
    template: {spec: {parallelism: 2, completions: 2, template: {spec: {containers: [{name: c, image: none, resources: {requests: {cpu: "1"}}}]}}}}`

// exclusive is a JobSet without a queue, two jobs with three pods each.
const exclusive = `apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: x, namespace: default, annotations: {alpha.jobset.sigs.k8s.io/exclusive-topology: rack}}
spec:
  replicatedJobs:
  - name: workers
    replicas: 2
    template: {spec: {parallelism: 3, completions: 3, template: {spec: {containers: [{name: c, image: none, resources: {requests: {cpu: "2"}}}]}}}}`

func (s *stage) taint(node string, taint v1.Taint) {
	object, err := s.control.Client.CoreV1().Nodes().Get(s.ctx, node, metav1.GetOptions{})
	s.must(err)
	object.Spec.Taints = append(object.Spec.Taints, taint)
	_, err = s.control.Client.CoreV1().Nodes().Update(s.ctx, object, metav1.UpdateOptions{})
	s.must(err)
}

// queueOfRacks creates the queue "main" with this quota of CPUs of the flavor "racks".
func (s *stage) queueOfRacks(quota string) {
	s.apply(fmt.Sprintf(`apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: main}
spec:
  namespaceSelector: {}
  resourceGroups: [{coveredResources: [cpu], flavors: [{name: racks, resources: [{name: cpu, nominalQuota: %q}]}]}]
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: main, namespace: default}, spec: {clusterQueue: main}}`, quota))
}

// onAssignedNodes fails if a pod of a Job is not on the node that Kueue assigned.
func (s *stage) onAssignedNodes(name string) {
	for _, pod := range s.podsOf(ofJob(name)) {
		if assigned := pod.Spec.NodeSelector[v1.LabelHostname]; assigned == "" || assigned != pod.Spec.NodeName {
			s.must(fmt.Errorf("%s is on node %s, Kueue assigned %q", pod.Name, pod.Spec.NodeName, assigned))
		}
	}
	s.say("%s: as assigned", name)
}

// racksOfJobs notes how many racks each job of a JobSet has, and whether they are different.
func (s *stage) racksOfJobs(name string, count int) {
	jobs, owners := map[string]map[string]bool{}, map[string]map[string]bool{}
	for _, pod := range s.started(ofJobSet(name), count) {
		job, rack := pod.Labels[batchv1.JobNameLabel], pod.Spec.NodeName[:1]
		if jobs[job] == nil {
			jobs[job] = map[string]bool{}
		}
		if owners[rack] == nil {
			owners[rack] = map[string]bool{}
		}
		jobs[job][rack], owners[rack][job] = true, true
	}
	var lines []string
	for _, job := range slices.Sorted(maps.Keys(jobs)) {
		lines = append(lines, fmt.Sprintf("%s in racks: %d", job, len(jobs[job])))
	}
	s.say("%s; racks in use: %d", strings.Join(lines, ", "), len(owners))
}
