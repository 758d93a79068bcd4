package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// pod is a manifest of a pod of the namespace with one container, whose requests are its limits; `requests` and `spec`
// are in YAML's flow style.
func pod(namespace, name, requests string, spec ...string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: %s}
spec: {%s, containers: [{name: c, image: registry.example/c, resources: {requests: {%s}, limits: {%s}}}]}`,
		name, namespace, strings.Join(append(spec, "terminationGracePeriodSeconds: 0"), ", "), requests, requests)
}

// pods of the namespace that request a CPU each: "a1", "a2", ...
func pods(namespace string, count int, spec ...string) (manifests []string) {
	for i := range count {
		manifests = append(manifests, pod(namespace, fmt.Sprintf("%s%d", namespace, i+1), "cpu: 1", spec...))
	}
	return manifests
}

func quota(namespace, min, max string) string {
	return fmt.Sprintf(`apiVersion: scheduling.x-k8s.io/v1alpha1
kind: ElasticQuota
metadata: {name: quota, namespace: %s}
spec: {min: {%s}, max: {%s}}`, namespace, min, max)
}

type counts = map[string]int

// scenarios are those that every scheduler must pass.
func scenarios() []scenario {
	return []scenario{
		{"a namespace gets no more than its maximum", func(s *stage) {
			s.node("n", "cpu", "20")
			s.create(quota("a", "cpu: 2", "cpu: 3"), quota("b", "cpu: 6", "cpu: 6"))
			s.create(pods("a", 4)...)
			s.bound(counts{"a": 3})
		}},
		{"a namespace borrows what others leave idle", func(s *stage) {
			s.node("n", "cpu", "20")
			s.create(quota("a", "cpu: 2", "cpu: 8"), quota("b", "cpu: 3", "cpu: 8"))
			s.create(pods("a", 6)...)
			s.bound(counts{"a": 5})
		}},
		{"a minimum is reclaimed from a borrower of higher priority", func(s *stage) {
			s.node("n", "cpu", "20")
			s.create(quota("a", "cpu: 2", "cpu: 8"), quota("b", "cpu: 3", "cpu: 8"))
			s.create(pods("a", 5, "priorityClassName: high")...)
			s.bound(counts{"a": 5})
			s.create(pods("b", 3)...)
			s.bound(counts{"a": 2, "b": 3})
		}},
		{"a minimum is reclaimed on a full node", func(s *stage) {
			s.node("n", "cpu", "5")
			s.create(quota("a", "cpu: 3", "cpu: 8"), quota("b", "cpu: 3", "cpu: 8"))
			s.create(pods("a", 5)...)
			s.bound(counts{"a": 5})
			s.create(pods("b", 3)...)
			s.bound(counts{"a": 3, "b": 2})
		}},
		{"a higher maximum lets a waiting pod in", func(s *stage) {
			s.node("n", "cpu", "20")
			s.create(quota("a", "cpu: 2", "cpu: 2"), quota("b", "cpu: 6", "cpu: 6"))
			s.create(pods("a", 3)...)
			s.bound(counts{"a": 2})
			s.create(quota("a", "cpu: 2", "cpu: 3"))
			s.bound(counts{"a": 3})
		}},
		{"a deleted pod makes room for another one", func(s *stage) {
			s.node("n", "cpu", "20")
			s.create(quota("a", "cpu: 2", "cpu: 2"))
			s.create(pods("a", 2)...)
			s.bound(counts{}, "a/a1", "a/a2")
			s.create(pod("a", "late", "cpu: 1"))
			s.bound(counts{}, "a/a1", "a/a2")
			s.delete("a", "a1")
			s.bound(counts{}, "a/a2", "a/late")
		}},
		{"beyond its minimum a namespace evicts its own less important pod", func(s *stage) {
			s.node("n", "cpu", "20")
			s.create(quota("a", "cpu: 2", "cpu: 2"), quota("b", "cpu: 6", "cpu: 6"))
			s.create(pods("a", 2)...)
			s.bound(counts{"a": 2})
			s.create(pod("a", "important", "cpu: 1", "priorityClassName: high"))
			s.bound(counts{"a": 1}, "a/important")
		}},
		{"a pod with a quota evicts no pod without one", func(s *stage) {
			s.node("n", "cpu", "2")
			s.create(pods("c", 2)...)
			s.bound(counts{"c": 2})
			s.create(quota("a", "cpu: 2", "cpu: 2"), pod("a", "important", "cpu: 1", "priorityClassName: high"))
			s.bound(counts{"c": 2})
		}},
	}
}

// ofBerth are the scenarios with what only berth has.
func ofBerth() []scenario {
	return []scenario{
		{"the guide: the maximum", func(s *stage) {
			s.node("gpu-0", "cpu", "90", "memory", "400Gi", "nvidia.com/gpu", "8")
			s.node("gpu-1", "cpu", "90", "memory", "400Gi", "nvidia.com/gpu", "8")
			s.create(quota("products", guideMin, guideMax), researchQuota(),
				pod("research", "train-0", "nvidia.com/gpu: 8"), pod("research", "train-1", "nvidia.com/gpu: 8"))
			s.bound(counts{}, "research/train-0", "research/train-1")
			s.create(pod("research", "train-2", "nvidia.com/gpu: 2"))
			s.explained("Pod research/train-2 is rejected in PreFilter because ElasticQuota research is more than Max "+
				"[CapacityScheduling]",
				"namespace research has used 16 of 16 nvidia.com/gpu (maximum of ElasticQuota research); the pod requests 2")
		}},
		{"the guide: all minimums", func(s *stage) {
			s.node("gpu-0", "cpu", "90", "memory", "400Gi", "nvidia.com/gpu", "14")
			s.node("gpu-1", "cpu", "90", "memory", "400Gi", "nvidia.com/gpu", "14")
			s.create(quota("products", guideMin, guideMax), researchQuota(), pod("research", "train-0", "nvidia.com/gpu: 4"),
				pod("products", "serve-0", "nvidia.com/gpu: 4"), pod("products", "serve-1", "nvidia.com/gpu: 8"))
			s.bound(counts{}, "products/serve-0", "products/serve-1", "research/train-0")
			// No preemption, so that the pod stays pending.
			s.create(pod("research", "train-2", "nvidia.com/gpu: 2", "priorityClassName: never"))
			s.explained("Pod research/train-2 is rejected in PreFilter because total ElasticQuota used is more than min "+
				"[CapacityScheduling]",
				"namespaces with a quota use 16 of 16 nvidia.com/gpu (sum of all minimums), research 4 of its minimum of 8; "+
					"the pod requests 2; beyond their minimum: products 4")
		}},
		{"metrics", func(s *stage) {
			s.node("n", "cpu", "5")
			s.create(quota("a", "cpu: 3", "cpu: 8"), quota("b", "cpu: 2500m, memory: 1Gi", "cpu: 8, memory: 2Gi"))
			s.create(pods("a", 5)...)
			s.bound(counts{"a": 5})
			s.has(`berth_quota_used{namespace="a",resource="cpu"} 5`, `berth_quota_min{namespace="a",resource="cpu"} 3`,
				`berth_quota_max{namespace="a",resource="cpu"} 8`, `berth_quota_min{namespace="b",resource="cpu"} 2.5`,
				`berth_quota_max{namespace="b",resource="memory"} 2.147483648e+09`,
				`berth_quota_used{namespace="b",resource="memory"} 0`, `berth_quota_reclaimed_pods_total{namespace="a"} 0`)
			s.create(pods("b", 1)...)
			s.bound(counts{"a": 4, "b": 1})
			s.has(`berth_quota_used{namespace="a",resource="cpu"} 4`, `berth_quota_used{namespace="b",resource="cpu"} 1`,
				`berth_quota_reclaimed_pods_total{namespace="a"} 1`)
		}},
	}
}

// The amounts of the quota in the guide.
const (
	guideMin = "cpu: 40, memory: 160Gi, nvidia.com/gpu: 8"
	guideMax = "cpu: 80, memory: 320Gi, nvidia.com/gpu: 16"
)

// researchQuota is the manifest of the guide.
func researchQuota() string {
	return strings.Replace(quota("research", guideMin, guideMax), "name: quota", "name: research", 1)
}

// explained checks that the guide contains the sentences, and that berth explain and berth why print them of train-2.
func (s *stage) explained(sentences ...string) {
	text, err := os.ReadFile(filepath.Join(s.options.guide, "quotas.md"))
	s.check(err)
	s.rejected("research", "train-2")
	evaluated := s.berth("explain", "pod/train-2", "--namespace=research", "--config="+s.config)
	running := s.berth("why", "pod/train-2", "--namespace=research", "--insecure-skip-tls-verify",
		fmt.Sprintf("--server=https://127.0.0.1:%d", s.port))
	for _, sentence := range sentences {
		for place, output := range map[string]string{"the guide": folded(string(text)), "berth explain": evaluated, "berth why": running} {
			if !strings.Contains(output, sentence) {
				s.check(fmt.Errorf("%s does not contain %q: %s", place, sentence, output))
			}
		}
	}
}
