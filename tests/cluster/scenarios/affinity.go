package main

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func withLabel(key, value string) podOption {
	return func(p *v1.Pod) {
		if p.Labels == nil {
			p.Labels = make(map[string]string)
		}
		p.Labels[key] = value
	}
}

func app(name string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
}

func spreading(name, key string, otherwise v1.UnsatisfiableConstraintAction) podOption {
	return func(p *v1.Pod) {
		p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, v1.TopologySpreadConstraint{
			MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: otherwise, LabelSelector: app(name)})
	}
}

func affinityOf(p *v1.Pod) *v1.Affinity {
	if p.Spec.Affinity == nil {
		p.Spec.Affinity = new(v1.Affinity)
	}
	return p.Spec.Affinity
}

// withAffinity adds required affinity to pods of an app.
func withAffinity(name, key string) podOption {
	return func(p *v1.Pod) {
		affinityOf(p).PodAffinity = &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{LabelSelector: app(name), TopologyKey: key}}}
	}
}

// preferringApp adds preferred affinity to pods of an app.
func preferringApp(name, key string) podOption {
	return func(p *v1.Pod) {
		affinityOf(p).PodAffinity = &v1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{
			Weight: 100, PodAffinityTerm: v1.PodAffinityTerm{LabelSelector: app(name), TopologyKey: key}}}}
	}
}

// withAntiAffinity adds required anti-affinity to pods of an app.
func withAntiAffinity(name, key string) podOption {
	return func(p *v1.Pod) {
		affinityOf(p).PodAntiAffinity = &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{LabelSelector: app(name), TopologyKey: key}}}
	}
}

// affinityScenarios contains scenarios with affinity, anti-affinity and topology spread.
func affinityScenarios() []*scenario {
	return []*scenario{
		{name: "pods spread over zones", run: func(s *stage) {
			s.node("n-1", labelled("zone", "a"))
			s.node("n-2", labelled("zone", "b"), unschedulable)
			web := []podOption{withLabel("app", "web"), spreading("web", "zone", v1.DoNotSchedule)}
			s.pod("web-1", web...)
			s.bound("web-1")
			s.pod("web-2", web...)
			s.refused("web-2", "didn't match pod topology spread constraints")
			s.cordon("n-2", false)
			s.bound("web-2")
			s.pod("elsewhere", append(web, spreading("web", "rack", v1.DoNotSchedule))...)
			s.refused("elsewhere", "missing required label")
		}},
		{name: "a deletion reduces the skew", run: func(s *stage) {
			s.node("n-1", labelled("zone", "a"))
			s.node("n-2", labelled("zone", "b"), allocatable("cpu", "0"))
			web := []podOption{withLabel("app", "web"), spreading("web", "zone", v1.DoNotSchedule)}
			s.pod("web-1", web...)
			s.bound("web-1")
			s.pod("other-pod", withLabel("app", "other"))
			s.bound("other-pod")
			s.pod("web-2", web...)
			s.refused("web-2", "didn't match pod topology spread constraints")
			s.pause(2 * time.Second)
			s.deletePod("other-pod")
			s.pause(time.Second)
			s.deletePod("web-1")
			s.bound("web-2")
			s.reportAttempts("web-2")
		}, seconds: 5},
		{name: "a label change reduces the skew", run: func(s *stage) {
			s.node("n-1", labelled("zone", "a"))
			s.node("n-2", labelled("zone", "b"), allocatable("cpu", "0"))
			web := []podOption{withLabel("app", "web"), spreading("web", "zone", v1.DoNotSchedule)}
			s.pod("web-1", web...)
			s.bound("web-1")
			s.pod("web-2", web...)
			s.refused("web-2", "didn't match pod topology spread constraints")
			s.pause(2 * time.Second)
			s.patchPod("web-1", `[{"op":"add","path":"/metadata/labels/version","value":"2"}]`)
			s.pause(time.Second)
			s.reportAttempts("web-2")
			s.labelPod("web-1", "app", "retired")
			s.bound("web-2")
		}, seconds: 5},
		{name: "topology spread waits for a node's label", run: func(s *stage) {
			s.node("n-1")
			s.pod("web-1", withLabel("app", "web"), spreading("web", "zone", v1.DoNotSchedule))
			s.refused("web-1", "missing required label")
			s.pause(2 * time.Second)
			s.labelNode("n-1", "colour", "blue")
			s.pause(time.Second)
			s.labelNode("n-1", "zone", "a")
			s.bound("web-1")
			s.reportAttempts("web-1")
		}, seconds: 4},
		{name: "the zone with fewer pods is preferred", run: func(s *stage) {
			for i, zone := range []string{"a", "b", "c"} {
				s.node(fmt.Sprint("n-", i+1), labelled("zone", zone))
			}
			for i, node := range []string{"n-1", "n-1", "n-3"} {
				s.pod(fmt.Sprint("web-", i), withLabel("app", "web"), onlyOn(node))
				s.bound(fmt.Sprint("web-", i))
			}
			s.pod("late", withLabel("app", "web"), spreading("web", "zone", v1.ScheduleAnyway))
			s.bound("late")
		}},
		{name: "pods of a service are spread by default", run: func(s *stage) {
			_, err := s.client.CoreV1().Services(s.ns).Create(s.ctx, &v1.Service{
				ObjectMeta: metav1.ObjectMeta{Name: "web"},
				Spec:       v1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []v1.ServicePort{{Port: 80}}}}, metav1.CreateOptions{})
			s.must(err)
			s.node("n-1")
			s.node("n-2")
			// The requests are equal on both nodes; only the web pods differ.
			for i, name := range []string{"web", "web", "other", "other"} {
				s.pod(fmt.Sprint("there-", i), withLabel("app", name), onlyOn(fmt.Sprint("n-", 1+i/2)))
				s.bound(fmt.Sprint("there-", i))
			}
			s.pod("late", withLabel("app", "web"))
			s.bound("late")
		}},
		{name: "a pod waits for a pod that satisfies its affinity", run: func(s *stage) {
			s.node("n-1", labelled("zone", "a"))
			s.node("n-2", labelled("zone", "b"))
			s.pod("follower", withAffinity("leader", "zone"))
			s.refused("follower", "didn't match pod affinity rules")
			s.pause(2 * time.Second)
			s.pod("other-pod", withLabel("app", "other"))
			s.bound("other-pod")
			s.pause(time.Second)
			s.pod("leader", withLabel("app", "leader"), onlyOn("n-2"))
			s.bound("leader", "follower")
			s.reportAttempts("follower")
		}, seconds: 5, anyNode: true},
		{name: "a label change satisfies a pod's affinity", run: func(s *stage) {
			s.node("n-1")
			s.pod("other", withLabel("app", "other"))
			s.bound("other")
			s.pod("follower", withAffinity("leader", "kubernetes.io/hostname"))
			s.refused("follower", "didn't match pod affinity rules")
			s.pause(2 * time.Second)
			s.labelPod("other", "app", "new-app")
			s.pause(time.Second)
			s.labelPod("other", "app", "leader")
			s.bound("follower")
			s.reportAttempts("follower")
		}, seconds: 4},
		{name: "a pod may satisfy its own affinity", run: func(s *stage) {
			s.node("n-1", labelled("zone", "a"))
			s.node("n-2", labelled("zone", "b"))
			kind := []podOption{withLabel("app", "flock"), withAffinity("flock", "zone")}
			s.pod("first", append(kind, onlyOn("n-2"))...)
			s.bound("first")
			s.pod("second", append(kind, func(p *v1.Pod) { p.Spec.Affinity.NodeAffinity = nil })...)
			s.bound("second")
		}},
		{name: "preferred affinity scores higher", run: func(s *stage) {
			for i, zone := range []string{"a", "b", "c"} {
				s.node(fmt.Sprint("n-", i+1), labelled("zone", zone))
			}
			s.pod("leader", withLabel("app", "leader"), onlyOn("n-2"))
			s.bound("leader")
			s.pod("follower", preferringApp("leader", "zone"))
			s.bound("follower")
		}},
		{name: "a pod with anti-affinity", run: func(s *stage) {
			s.node("n-1")
			s.pod("loud", withLabel("app", "loud"))
			s.bound("loud")
			s.pod("quiet", withAntiAffinity("loud", "kubernetes.io/hostname"))
			s.refused("quiet", "didn't match pod anti-affinity rules")
			s.pause(2 * time.Second)
			s.pod("other-pod", withLabel("app", "other"))
			s.bound("other-pod")
			s.deletePod("other-pod")
			s.pause(time.Second)
			s.deletePod("loud")
			s.bound("quiet")
			s.reportAttempts("quiet")
		}, seconds: 5},
		{name: "a pod with anti-affinity excludes others", run: func(s *stage) {
			s.node("n-1")
			s.pod("quiet", withAntiAffinity("loud", "kubernetes.io/hostname"))
			s.bound("quiet")
			s.pod("loud", withLabel("app", "loud"))
			s.refused("loud", "didn't satisfy existing pods anti-affinity rules")
			s.pause(2 * time.Second)
			s.deletePod("quiet")
			s.bound("loud")
			s.reportAttempts("loud")
		}, seconds: 4},
		{name: "a pod changes the label of an anti-affinity term", run: func(s *stage) {
			s.node("n-1")
			s.pod("loud", withLabel("app", "loud"))
			s.bound("loud")
			s.pod("quiet", withAntiAffinity("loud", "kubernetes.io/hostname"))
			s.refused("quiet", "didn't match pod anti-affinity rules")
			s.pause(2 * time.Second)
			s.patchPod("loud", `[{"op":"add","path":"/metadata/labels/version","value":"2"}]`)
			s.pause(time.Second)
			s.labelPod("loud", "app", "silenced")
			s.bound("quiet")
			s.reportAttempts("quiet")
		}, seconds: 4},
		{name: "a node moves to another zone", run: func(s *stage) {
			s.node("n-1", labelled("zone", "a"))
			s.node("n-2", labelled("zone", "a"))
			s.pod("loud", withLabel("app", "loud"), onlyOn("n-1"))
			s.bound("loud")
			s.pod("quiet", withAntiAffinity("loud", "zone"))
			s.refused("quiet", "didn't match pod anti-affinity rules")
			s.pause(2 * time.Second)
			s.labelNode("n-2", "zone", "b")
			s.bound("quiet")
			s.reportAttempts("quiet")
		}, seconds: 4},
		{name: "a pending pod changes its own label", run: func(s *stage) {
			s.node("n-1")
			s.pod("quiet", withAntiAffinity("loud", "kubernetes.io/hostname"))
			s.bound("quiet")
			s.pod("loud", withLabel("app", "loud"))
			s.refused("loud", "didn't satisfy existing pods anti-affinity rules")
			s.pause(2 * time.Second)
			s.labelPod("loud", "app", "silent")
			s.bound("loud")
			s.reportAttempts("loud")
		}, seconds: 4},
		{name: "affinity and anti-affinity exclude each other", run: func(s *stage) {
			s.node("n-1")
			s.node("n-2")
			s.pod("leader", withLabel("app", "leader"))
			s.bound("leader")
			s.pod("torn", withAffinity("leader", "kubernetes.io/hostname"), withAntiAffinity("leader", "kubernetes.io/hostname"))
			s.refused("torn", "didn't match pod anti-affinity rules")
		}, anyNode: true},
		{name: "a node declares a feature later", needs: []requirement{declaredFeatures}, run: func(s *stage) {
			s.node("n-1")
			s.pod("modern", func(p *v1.Pod) {
				always := v1.ContainerRestartPolicyNever
				p.Spec.Containers[0].RestartPolicy = &always
				p.Spec.Containers[0].RestartPolicyRules = []v1.ContainerRestartRule{{Action: v1.ContainerRestartRuleActionRestartAllContainers,
					ExitCodes: &v1.ContainerRestartRuleOnExitCodes{Operator: v1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{42}}}}
			})
			s.refused("modern", "didn't match Pod's required features")
			s.pause(2 * time.Second)
			s.patchNode("n-1", `[{"op":"add","path":"/status/declaredFeatures","value":["RestartAllContainersOnContainerExits"]}]`, "status")
			s.bound("modern")
			s.reportAttempts("modern")
		}, seconds: 4},
	}
}
