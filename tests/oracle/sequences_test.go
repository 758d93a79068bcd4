package main

import (
	"encoding/json"
	"testing"
)

func TestTheRecordedSequencesAreStillThoseOfTheRealPlugins(t *testing.T) {
	ctx := silence()
	seen := make(map[string]int)
	err := readRecording("sequences.ndjson.zst", func(line []byte) error {
		var recorded sequence
		if err := json.Unmarshal(line, &recorded); err != nil {
			return err
		}
		var records []string
		for _, step := range recorded.Steps {
			if step.Decide != "" {
				records = append(records, step.Record)
			}
		}
		difference, err := recorded.run(ctx, records, func(record *Record) { countRecord(record, seen) })
		if difference != "" {
			t.Errorf("seed %d: %s; record it again", recorded.Seed, difference)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{
		resultScheduled, resultUnschedulable, "nomination", "NodeResourcesFit", "NodePorts", "PodTopologySpread", "InterPodAffinity",
		"TaintToleration", "NodeAffinity", "NodeUnschedulable",
	} {
		if seen[what] == 0 {
			t.Errorf("never seen: %s", what)
		}
	}
}

// countRecord counts results and rejecting plugins.
func countRecord(record *Record, seen map[string]int) {
	seen[record.Result]++
	if record.Nomination != nil {
		seen["nomination"]++
	}
	if record.Nodes != nil {
		for _, node := range *record.Nodes {
			seen[node.Plugin]++
		}
	}
}
