package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/klauspost/compress/zstd"
)

// corpusLine is one recorded scenario.
type corpusLine struct {
	Seed    uint64          `json:"seed"`
	Focus   string          `json:"focus"`
	Config  string          `json:"config"`
	Cluster json.RawMessage `json:"cluster"`
	Records []string        `json:"records"`
}

// corpusScale keeps the clusters of a corpus small: many small ones have more cases per byte than a few large ones.
var corpusScale = scale{maxNodes: 12, maxBound: 25, maxPending: 14}

// corpusFocus alternates: every other scenario of a corpus is mixed, the others concentrate on one family each.
func corpusFocus(seed uint64) string {
	if seed%2 == 0 {
		return mixed
	}
	recorded := slices.DeleteFunc(focusList(), func(name string) bool {
		// Extenders are not recorded, and results of chance vary.
		return name == mixed || name == extended || name == chance
	})
	return recorded[seed/2%uint64(len(recorded))]
}

func runRecord(args []string, out, errOut io.Writer) error {
	flags := newFlags("record", "--from-seed A --clusters N --out FILE.zst",
		"Records scenarios with the results of the real plugins, for machines without Go. The file is zstd-compressed,\n"+
			`one line per scenario: {"seed":N,"focus":"NAME","config":"<yaml>","cluster":{...},"records":["<record>",...]}`, errOut)
	first := flags.Uint64("from-seed", 1, "first scenario")
	clusters := flags.Int("clusters", 800, "number of scenarios")
	path := flags.String("out", "", "the file to write")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *path == "" {
		return fmt.Errorf("--out is missing")
	}
	file, err := os.Create(*path)
	if err != nil {
		return err
	}
	defer file.Close()
	pods, err := record(file, *first, *clusters)
	if err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	info, err := os.Stat(*path)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%d clusters, %d pods, %d KiB\n", *clusters, pods, info.Size()/1024)
	return err
}

func record(file io.Writer, first uint64, clusters int) (pods int, err error) {
	compressed, err := zstd.NewWriter(file, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return 0, err
	}
	ctx := silence()
	for seed := first; seed < first+uint64(clusters); seed++ {
		scenario, err := generate(seed, corpusScale, corpusFocus(seed))
		if err != nil {
			return pods, err
		}
		records, err := scenario.evaluate(ctx)
		if err != nil {
			return pods, fmt.Errorf("seed %d: %w", seed, err)
		}
		line, err := toJSON(corpusLine{seed, corpusFocus(seed), string(scenario.Config), scenario.Cluster, records})
		if err != nil {
			return pods, err
		}
		if _, err := compressed.Write(append(line, '\n')); err != nil {
			return pods, err
		}
		pods += len(records)
	}
	return pods, compressed.Close()
}
