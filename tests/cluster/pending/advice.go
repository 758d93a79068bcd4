package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"berth.test/cluster/controlplane"
)

// advice is what berth explain proposes, and the nodes on which the pod fits then, as it says.
type advice struct {
	steps []string
	nodes []string
}

var (
	fits   = regexp.MustCompile(`^      \d+ nodes? fits? then: (.*)$`)
	evicts = regexp.MustCompile(`^      .* would be evicted from (\S+) then, and the pod fits there$`)
)

// adviceIn reads the text form of an explanation.
func adviceIn(text string) (all []advice) {
	_, rest, _ := strings.Cut(text, "  what would help, each evaluated\n")
	var steps []string
	for line := range strings.Lines(rest) {
		line = strings.TrimRight(line, "\n")
		if found := fits.FindStringSubmatch(line); found != nil {
			all = append(all, advice{steps, strings.Split(found[1], ", ")})
		} else if found := evicts.FindStringSubmatch(line); found != nil {
			all = append(all, advice{steps, []string{found[1]}})
		} else if !strings.HasPrefix(line, "    ") {
			return all
		}
		steps = strings.Split(strings.TrimSpace(line), "; and ")
	}
	return all
}

// step applies one kind of advice to the cluster; the words are the groups of the pattern.
type step struct {
	pattern *regexp.Regexp
	apply   func(s *stage, pod string, words []string)
}

func on(pattern string, apply func(s *stage, pod string, words []string)) step {
	return step{regexp.MustCompile("^" + pattern + "$"), apply}
}

// steps are all kinds of advice, as an administrator would apply them.
var steps = []step{
	on(`add a toleration for (\S+?)(?:=(\S*))?:(\S+)`, func(s *stage, pod string, words []string) {
		s.replace(pod, func(p *v1.Pod) {
			toleration := v1.Toleration{Key: words[0], Operator: v1.TolerationOpExists, Effect: v1.TaintEffect(words[2])}
			if words[1] != "" {
				toleration.Operator, toleration.Value = v1.TolerationOpEqual, words[1]
			}
			p.Spec.Tolerations = append(p.Spec.Tolerations, toleration)
		})
	}),
	on(`repair node (\S+), so that its taints? (.*) (?:is|are) removed`, func(s *stage, _ string, words []string) {
		s.changeNode(words[0], func(n *v1.Node) { n.Spec.Taints = nil })
	}),
	on(`uncordon node (\S+) \(kubectl (.*)\)`, func(s *stage, _ string, words []string) { s.run(words[1]) }),
	on(`label node (\S+) with (\S+) \(kubectl (.*)\)`, func(s *stage, _ string, words []string) { s.run(words[2]) }),
	on(`require (\S+)=(\S+) instead of (\S+)=(\S+)`, func(s *stage, pod string, words []string) {
		s.replace(pod, func(p *v1.Pod) {
			delete(p.Spec.NodeSelector, words[2])
			p.Spec.NodeSelector[words[0]] = words[1]
		})
	}),
	on(`no longer require (\S+)=(\S+)`, func(s *stage, pod string, words []string) {
		s.replace(pod, func(p *v1.Pod) { delete(p.Spec.NodeSelector, words[0]) })
	}),
	on(`lower the (\S+) request from \S+ to (\S+)`, func(s *stage, pod string, words []string) {
		s.replace(pod, func(p *v1.Pod) {
			amount := resource.MustParse(words[1])
			resources := p.Spec.Containers[0].Resources
			resources.Requests[v1.ResourceName(words[0])] = amount
			if _, limited := resources.Limits[v1.ResourceName(words[0])]; limited {
				resources.Limits[v1.ResourceName(words[0])] = amount
			}
		})
	}),
	on(`(?:free the host port: )?wait until (.*) (?:has|have) ended, or delete (?:it|them)`, func(s *stage, _ string, words []string) {
		for _, key := range strings.Split(words[0], ", ") {
			namespace, name, _ := strings.Cut(key, "/")
			s.deletePod(namespace, name)
		}
	}),
	on(`raise maxSkew for (\S+) from \d+ to (\d+)`, func(s *stage, pod string, words []string) {
		s.replace(pod, func(p *v1.Pod) {
			for i := range p.Spec.TopologySpreadConstraints {
				if constraint := &p.Spec.TopologySpreadConstraints[i]; constraint.TopologyKey == words[0] {
					constraint.MaxSkew = int32(number(words[1]))
				}
			}
		})
	}),
	on(`no longer require the pod's affinity to other pods`, func(s *stage, pod string, _ []string) {
		s.replace(pod, func(p *v1.Pod) { p.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution = nil })
	}),
	on(`prefer the pod's anti-affinity instead of requiring it`, func(s *stage, pod string, _ []string) {
		s.replace(pod, func(p *v1.Pod) {
			rules := p.Spec.Affinity.PodAntiAffinity
			for _, term := range rules.RequiredDuringSchedulingIgnoredDuringExecution {
				rules.PreferredDuringSchedulingIgnoredDuringExecution = append(rules.PreferredDuringSchedulingIgnoredDuringExecution,
					v1.WeightedPodAffinityTerm{Weight: 100, PodAffinityTerm: term})
			}
			rules.RequiredDuringSchedulingIgnoredDuringExecution = nil
		})
	}),
	on(`use claim (\S+) instead of (\S+)`, func(s *stage, pod string, words []string) {
		s.replace(pod, func(p *v1.Pod) {
			for _, volume := range p.Spec.Volumes {
				if claim := volume.PersistentVolumeClaim; claim != nil && claim.ClaimName == words[1] {
					claim.ClaimName = words[0]
				}
			}
		})
	}),
	on(`add a node like (\S+?)(?: with (.*))?`, func(s *stage, _ string, words []string) { s.copyNode(words[0], words[1]) }),
	on(`use a priority class with a value of at least (\d+) \(now -?\d+\)`, func(s *stage, pod string, words []string) {
		s.replace(pod, func(p *v1.Pod) { s.useClass(p, int32(number(words[0]))) })
	}),
	on(`set preemptionPolicy to PreemptLowerPriority`, func(s *stage, pod string, _ []string) {
		s.replace(pod, func(p *v1.Pod) { s.useClass(p, *p.Spec.Priority) })
	}),
	on(`remove the scheduling gates? (.*)`, func(s *stage, pod string, words []string) {
		changed, err := s.Client.CoreV1().Pods("default").Get(s.ctx, pod, metav1.GetOptions{})
		s.check(err)
		changed.Spec.SchedulingGates = nil
		_, err = s.Client.CoreV1().Pods("default").Update(s.ctx, changed, metav1.UpdateOptions{})
		s.check(err)
	}),
	on(`create (\d+) more pods? of \S+`, func(s *stage, _ string, words []string) {
		for i := range number(words[0]) {
			s.create(member(fmt.Sprint("member-", i)))
		}
	}),
	on(`set schedulerName to (\S+), unless a scheduler named \S+ runs`, func(s *stage, pod string, words []string) {
		s.replace(pod, func(p *v1.Pod) { p.Spec.SchedulerName = words[0] })
	}),
}

// apply applies a step to the cluster.
func (s *stage) apply(pod, text string) {
	for _, one := range steps {
		if words := one.pattern.FindStringSubmatch(text); words != nil {
			one.apply(s, pod, words[1:])
			return
		}
	}
	s.check(fmt.Errorf("advice of an unknown kind: %q", text))
}

func number(text string) int64 {
	value, _ := strconv.ParseInt(text, 10, 32)
	return value
}

// useClass sets a new priority class, with the default preemption policy.
func (s *stage) useClass(pod *v1.Pod, value int32) {
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{GenerateName: "advised-"}, Value: value}
	created, err := s.Client.SchedulingV1().PriorityClasses().Create(s.ctx, class, metav1.CreateOptions{})
	s.check(err)
	s.check(s.AwaitPriorityClass(s.ctx, created.Name))
	pod.Spec.PriorityClassName, pod.Spec.Priority, pod.Spec.PreemptionPolicy = created.Name, nil, nil
}

// run executes a command of kubectl that an advice contains.
func (s *stage) run(command string) {
	_, err := s.Kubectl(s.ctx, nil, strings.Fields(command)...)
	s.check(err)
}

// replace deletes a pod and creates it again with the change: most of a pod's spec is immutable.
func (s *stage) replace(name string, change func(*v1.Pod)) {
	pods := s.Client.CoreV1().Pods("default")
	old, err := pods.Get(s.ctx, name, metav1.GetOptions{})
	s.check(err)
	s.deletePod("default", name)
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: old.Labels, Annotations: old.Annotations}, Spec: old.Spec}
	change(pod)
	_, err = pods.Create(s.ctx, pod, metav1.CreateOptions{})
	s.check(err)
}

func (s *stage) deletePod(namespace, name string) {
	now := int64(0)
	s.check(s.Client.CoreV1().Pods(namespace).Delete(s.ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &now}))
	s.check(controlplane.Until(s.ctx, 5*time.Second, "the end of "+name, func() (bool, error) {
		list, err := s.Client.CoreV1().Pods(namespace).List(s.ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
		return err == nil && len(list.Items) == 0, err
	}))
}

func (s *stage) changeNode(name string, change func(*v1.Node)) {
	node, err := s.Client.CoreV1().Nodes().Get(s.ctx, name, metav1.GetOptions{})
	s.check(err)
	change(node)
	_, err = s.Client.CoreV1().Nodes().Update(s.ctx, node, metav1.UpdateOptions{})
	s.check(err)
}

// copyNode adds a node with the properties and the devices of another one, and further labels ("a=b, c=d").
func (s *stage) copyNode(model, labels string) {
	old, err := s.Client.CoreV1().Nodes().Get(s.ctx, model, metav1.GetOptions{})
	s.check(err)
	name := model + "-new"
	slices, err := s.Client.ResourceV1().ResourceSlices().List(s.ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + model})
	s.check(err)
	for _, slice := range slices.Items {
		slice.ObjectMeta = metav1.ObjectMeta{Name: slice.Name + "-of-" + name}
		slice.Spec.NodeName, slice.Spec.Pool.Name = &name, name
		_, err := s.Client.ResourceV1().ResourceSlices().Create(s.ctx, &slice, metav1.CreateOptions{})
		s.check(err)
	}
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: old.Labels}, Spec: v1.NodeSpec{Taints: old.Spec.Taints}, Status: old.Status}
	node.Labels[v1.LabelHostname] = name
	if labels != "" {
		for _, pair := range strings.Split(labels, ", ") {
			key, value, _ := strings.Cut(pair, "=")
			node.Labels[key] = value
		}
	}
	s.addNode(node)
	// Volume drivers are registered after the node, as by a kubelet.
	if drivers, err := s.Client.StorageV1().CSINodes().Get(s.ctx, model, metav1.GetOptions{}); err == nil {
		drivers.ObjectMeta = metav1.ObjectMeta{Name: name}
		_, err := s.Client.StorageV1().CSINodes().Create(s.ctx, drivers, metav1.CreateOptions{})
		s.check(err)
	}
}
