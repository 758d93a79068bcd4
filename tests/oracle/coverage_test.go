package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"testing"
)

// coverage counts what records contain: results, plugins that reject, their texts, plugins whose scores differ.
type coverage map[string]int

// blanked are the parts of a text that differ from object to object.
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
		if len(r.Nomination.Choices) > 1 {
			c["nomination with choices"]++
		}
		if len(r.Nomination.Victims) > 1 {
			c["nomination with victims"]++
		}
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

// expected is what must occur.
func expected() []string {
	want := []string{
		"nomination", "nomination with choices", "nomination with victims",
		"message waiting for scheduling gates: [* b]",
	}
	for _, result := range []string{resultScheduled, resultUnschedulable, resultError, resultGated, resultIgnored} {
		want = append(want, "result "+result)
	}
	for _, text := range preemptionTexts {
		want = append(want, "preemption "+text.String())
	}
	for _, plugin := range scorePlugins {
		// Only claims with alternatives make a difference to DynamicResources.
		if plugin != "DynamicResources" {
			want = append(want, "different scores of "+plugin)
		}
	}
	want = append(want, "scores of DynamicResources")
	return append(want, expectedReasons...)
}

var expectedReasons = []string{
	"Filter of NodeUnschedulable: node(s) were unschedulable",
	"Filter of TaintToleration: node(s) had untolerated taint(s)",
	"Filter of NodeAffinity: node(s) didn't match Pod's node affinity/selector",
}

// TestSurvey prints what random scenarios contain. It is for those who change the generators.
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
		lines, err := scenario.judge(silence())
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
