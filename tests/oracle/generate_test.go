package main

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"
)

func TestSeedsRepeat(t *testing.T) {
	for seed := uint64(1); seed <= 20; seed++ {
		first, err := generate(seed, fullScale, mixed)
		if err != nil {
			t.Fatal(err)
		}
		second, err := generate(seed, fullScale, mixed)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first.Cluster, second.Cluster) || !bytes.Equal(first.Config, second.Config) {
			t.Fatalf("seed %d makes two different scenarios", seed)
		}
		want, err := first.evaluate(silence())
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		got, err := second.evaluate(silence())
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d has two results", seed)
		}
	}
}

// kube-scheduler must accept every scenario, and together they must cover every kind of result.
func TestScenariosMeetEveryAnswer(t *testing.T) {
	results := make(map[string]int)
	plugins := make(map[string]int)
	for seed := uint64(1); seed <= 300; seed++ {
		scenario, err := generate(seed, corpusScale, mixed)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := scenario.evaluate(silence())
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for _, line := range lines {
			var r Record
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatal(err)
			}
			results[r.Result]++
			if r.Nodes == nil {
				continue
			}
			for _, verdict := range *r.Nodes {
				plugins[verdict.Plugin]++
				if verdict.Scores != nil {
					for plugin := range *verdict.Scores {
						plugins["score "+plugin]++
					}
				}
			}
		}
	}
	for _, result := range []string{resultScheduled, resultUnschedulable, resultError, resultGated, resultIgnored} {
		if results[result] == 0 {
			t.Errorf("no pod was %s", result)
		}
	}
	for _, plugin := range filterPlugins {
		// NodeName cannot reject a pod without a node.
		if plugins[plugin] == 0 && plugin != "NodeName" {
			t.Errorf("%s refused no node", plugin)
		}
	}
	for _, plugin := range scorePlugins {
		if plugins["score "+plugin] == 0 {
			t.Errorf("%s gave no score", plugin)
		}
	}
}

func TestCorpus(t *testing.T) {
	var file bytes.Buffer
	pods, err := record(&file, 7, 3)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := zstd.NewReader(&file)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	if len(lines) != 3 {
		t.Fatalf("%d lines, want 3", len(lines))
	}
	for i, text := range lines {
		var line corpusLine
		if err := json.Unmarshal(text, &line); err != nil {
			t.Fatal(err)
		}
		if line.Seed != uint64(7+i) {
			t.Errorf("line %d has seed %d", i, line.Seed)
		}
		pods -= len(line.Records)
		again := Scenario{Cluster: line.Cluster, Config: []byte(line.Config)}
		records, err := again.evaluate(silence())
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(records, line.Records) {
			t.Errorf("seed %d: the recorded answers are not those of the recorded cluster", line.Seed)
		}
	}
	if pods != 0 {
		t.Errorf("%d pods were counted but not recorded", pods)
	}
}
