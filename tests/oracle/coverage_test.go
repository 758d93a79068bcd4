package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// coverage counts what records contain: results, plugins that reject, their texts, plugins whose scores differ.
type coverage map[string]int

// blanked are the parts of a text that vary with the object.
var blanked = regexp.MustCompile(`"[^"]*"|[\w.-]+/[\w.-]+|(ebs|pd|disk)\.csi\.[\w.]+|csi\.[\w.]+|pxd\.[\w.]+|cinder\.[\w.]+|\bnode-\d+\b|\bworker-\d+[\w.]*|\b\d+\b`)

func blank(text string) string { return blanked.ReplaceAllString(text, "*") }

func (c coverage) add(t *testing.T, line string) {
	var r Record
	if err := json.Unmarshal([]byte(line), &r); err != nil {
		t.Fatal(err)
	}
	c["result "+r.Result]++
	if r.Result == resultError || r.Result == resultGated {
		c["message "+blank(r.Message)]++
	}
	if r.PreFilter != nil {
		for _, reason := range r.PreFilter.Reasons {
			c["PreFilter of "+r.PreFilter.Plugin+": "+blank(reason)]++
		}
	}
	if r.Nodes != nil {
		c.addNodes(*r.Nodes, r.PreFilter != nil)
	}
	if r.Nomination != nil {
		c["nomination"]++
		for _, node := range *r.Nodes {
			if node.Name == r.Nomination.Node {
				c["nomination against "+node.Plugin]++
			}
		}
		if len(r.Nomination.Choices) > 1 {
			c["nomination with choices"]++
		}
		if len(r.Nomination.Victims) > 1 {
			c["nomination with victims"]++
		}
	}
	if r.Message == "no nodes available to schedule pods" {
		c["no nodes"]++
	}
	// DynamicResources requires the result of its PreFilter, which did not run.
	if strings.HasSuffix(r.Message, ". not found") {
		c["PostFilter without state"]++
	}
	if part := preemptionPart(r.Message); part != "" {
		for _, text := range preemptionTexts {
			if text.MatchString(part) {
				c["preemption "+text.String()]++
			}
		}
	}
}

func (c coverage) addNodes(nodes []NodeVerdict, preFilter bool) {
	scores := make(map[string]map[int64]bool)
	for _, node := range nodes {
		if !preFilter {
			for _, reason := range node.Reasons {
				c["Filter of "+node.Plugin+": "+blank(reason)]++
			}
		}
		if node.Scores != nil {
			for plugin, score := range *node.Scores {
				if scores[plugin] == nil {
					scores[plugin] = make(map[int64]bool)
				}
				scores[plugin][score] = true
			}
		}
	}
	for plugin, values := range scores {
		c["scores of "+plugin]++
		if len(values) > 1 {
			c["different scores of "+plugin]++
		}
	}
}

var preemptionTexts = []*regexp.Regexp{
	regexp.MustCompile(`found a potential placement for pod on node .*, preempting \d+ victims`),
	regexp.MustCompile(`No preemption victims found for incoming pod`),
	regexp.MustCompile(`Preemption is not helpful for scheduling`),
	regexp.MustCompile(`not eligible due to preemptionPolicy=Never\.`),
	regexp.MustCompile(`not eligible due to a terminating pod on the nominated node\.`),
	regexp.MustCompile(`Insufficient`),
	regexp.MustCompile(`node\(s\) didn't`),
}

// expected lists what must occur.
func expected() []string {
	want := []string{
		"nomination", "nomination with choices", "nomination with victims",
	}
	for _, result := range []string{resultScheduled, resultUnschedulable, resultError, resultGated, resultIgnored} {
		want = append(want, "result "+result)
	}
	for _, plugin := range []string{"NodePorts", "NodeResourcesFit", "VolumeRestrictions", "NodeVolumeLimits", "PodTopologySpread", "InterPodAffinity"} {
		want = append(want, "nomination against "+plugin)
	}
	for _, text := range preemptionTexts {
		want = append(want, "preemption "+text.String())
	}
	for _, plugin := range scorePlugins {
		// DynamicResources scores only claims with alternatives.
		if plugin != "DynamicResources" {
			want = append(want, "different scores of "+plugin)
		}
	}
	want = append(want, "scores of DynamicResources")
	return append(want, expectedReasons...)
}

// expectedReasons are the possible texts of the default configuration, of DynamicResources only those of Filter.
var expectedReasons = []string{
	"Filter of NodeUnschedulable: node(s) were unschedulable",
	"Filter of TaintToleration: node(s) had untolerated taint(s)",
	"Filter of NodeAffinity: node(s) didn't match Pod's node *",
	"Filter of NodeAffinity: node(s) didn't match scheduler-enforced node affinity",
	"Filter of NodeAffinity: node(s) didn't satisfy plugin(s) [NodeAffinity]",
	"PreFilter of NodeAffinity: pod affinity terms conflict",
	"Filter of NodePorts: node(s) didn't have free ports for the requested pod ports",
	"Filter of NodeResourcesFit: Too many pods",
	"Filter of NodeResourcesFit: Insufficient cpu",
	"Filter of NodeResourcesFit: Insufficient memory",
	"Filter of NodeResourcesFit: Insufficient ephemeral-storage",
	"Filter of NodeResourcesFit: Insufficient hugepages-2Mi",
	"Filter of NodeResourcesFit: Insufficient *",
	"Filter of VolumeRestrictions: node(s) had no available disk",
	"Filter of VolumeRestrictions: node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod",
	"PreFilter of VolumeRestrictions: persistentvolumeclaim * not found",
	"Filter of NodeVolumeLimits: node(s) exceed max volume count",
	"Filter of NodeVolumeLimits: * CSI driver is not installed on the node",
	"PreFilter of VolumeBinding: pod has unbound immediate PersistentVolumeClaims",
	"PreFilter of VolumeBinding: waiting for ephemeral volume controller to create the persistentvolumeclaim *",
	"PreFilter of VolumeBinding: persistentvolumeclaim * bound to non-existent persistentvolume *",
	"PreFilter of VolumeBinding: persistentvolumeclaim * is being deleted",
	"PreFilter of VolumeBinding: persistentvolumeclaim * not found",
	"PreFilter of VolumeBinding: PVC * was not created for pod * (pod is not owner)",
	"Filter of VolumeBinding: node(s) didn't match PersistentVolume's node affinity",
	"Filter of VolumeBinding: node(s) didn't find available persistent volumes to bind",
	"Filter of VolumeBinding: node(s) did not have enough free storage",
	"Filter of VolumeBinding: node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
	"Filter of VolumeZone: node(s) had no available volume zone",
	"PreFilter of VolumeZone: persistentvolume * not found",
	"PreFilter of VolumeZone: PersistentVolume had no name",
	"PreFilter of VolumeZone: PersistentVolumeClaim had no pv name and storageClass name",
	"PreFilter of VolumeZone: storageclass.storage.k8s.io * not found",
	"Filter of PodTopologySpread: node(s) didn't match pod topology spread constraints",
	"Filter of PodTopologySpread: node(s) didn't match pod topology spread constraints (missing required label)",
	"Filter of InterPodAffinity: node(s) didn't match pod affinity rules",
	"Filter of InterPodAffinity: node(s) didn't match pod anti-affinity rules",
	"Filter of InterPodAffinity: node(s) didn't satisfy existing pods anti-affinity rules",
	"Filter of NodeDeclaredFeatures: node(s) didn't match Pod's required features",
	"Filter of DynamicResources: cannot allocate all claims",
	"Filter of DynamicResources: invalid resource pools were encountered",
	"Filter of DynamicResources: resourceclaim not available on the node",
	"Filter of DynamicResources: cannot schedule extended resource claim",
	"Filter of DynamicResources: cannot fit resource",
	"no nodes",
	"PostFilter without state",
}

// The recorded results must cover every plugin and every text.
func TestRecordedCorpusCoversEverything(t *testing.T) {
	c := make(coverage)
	for _, line := range readCorpus(t) {
		for _, record := range line.Records {
			c.add(t, record)
		}
	}
	for _, key := range expected() {
		if c[key] == 0 {
			t.Errorf("never: %s", key)
		}
	}
}

// TestSurvey prints statistics of random scenarios, as an aid for changes of the generators.
func TestSurvey(t *testing.T) {
	focus := os.Getenv("SURVEY")
	if focus == "" {
		t.Skip("set SURVEY to a focus")
	}
	c := make(coverage)
	for seed := uint64(1); seed <= 300; seed++ {
		scenario, err := generate(seed, corpusScale, focus)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := scenario.evaluate(silence())
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
			continue
		}
		for _, line := range lines {
			c.add(t, line)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(c)) {
		fmt.Printf("%6d %s\n", c[key], key)
	}
}
