package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// readCorpus reads the recorded scenarios.
func readCorpus(t *testing.T) (all []corpusLine) {
	t.Helper()
	file, err := os.Open("corpus.ndjson.zst")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("no corpus is recorded")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	reader, err := zstd.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	lines := bufio.NewScanner(reader)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var line corpusLine
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		all = append(all, line)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Error("the corpus is empty")
	}
	return all
}

// The recorded results replace the real plugins on machines without Go, so they must equal the current ones.
func TestRecordedCorpusIsTrue(t *testing.T) {
	for _, line := range readCorpus(t) {
		scenario := Scenario{Seed: line.Seed, Cluster: line.Cluster, Config: []byte(line.Config)}
		records, err := scenario.evaluate(silence())
		if err != nil {
			t.Fatalf("seed %d: %v", line.Seed, err)
		}
		if !slices.Equal(records, line.Records) {
			t.Errorf("seed %d: the plugins answer otherwise by now", line.Seed)
		}
	}
}
