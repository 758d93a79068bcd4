// Command scheduler-plugins scores random nodes with the Trimaran plugins of kubernetes-sigs/scheduler-plugins, and
// decides about random pods with its plugins CapacityScheduling, NodeResourceTopologyMatch and PreemptionToleration.
// The recordings are compared with Berth's results by replay/ (C++).
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"
	"k8s.io/klog/v2"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "scheduler-plugins:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("scheduler-plugins", flag.ContinueOnError)
	path := flags.String("out", "", "the file to write; compressed if it ends in .zst")
	seed := flags.Uint64("from-seed", 1, "first scenario")
	scores := flags.Int("scores", 10000, "continue until each plugin has returned this number of scores")
	quotas := flags.Int("quotas", 0, "instead of scores, record this number of attempts under elastic quotas")
	topologies := flags.Int("topology", 0, "instead of scores, record this number of pods on nodes with NUMA zones")
	tolerations := flags.Int("tolerations", 0, "instead of scores, record this number of attempts under tolerations of preemption")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *path == "" {
		return fmt.Errorf("--out is missing: the file to write")
	}
	// The plugins log each missing measurement, and each annotation that cannot be read.
	var logging flag.FlagSet
	klog.InitFlags(&logging)
	if err := logging.Set("stderrthreshold", "FATAL"); err != nil {
		return err
	}
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	file, err := os.Create(*path)
	if err != nil {
		return err
	}
	defer file.Close()
	record := func(out io.Writer) error { return recordScores(out, *seed, *scores) }
	if *quotas > 0 {
		record = func(out io.Writer) error { return recordAttempts(out, *seed, *quotas, generateQuotas) }
	}
	if *tolerations > 0 {
		record = func(out io.Writer) error { return recordAttempts(out, *seed, *tolerations, generateTolerations) }
	}
	if *topologies > 0 {
		record = func(out io.Writer) error { return recordTopologies(out, *seed, *topologies) }
	}
	if !strings.HasSuffix(*path, ".zst") {
		return record(file)
	}
	compressed, err := zstd.NewWriter(file, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	if err := record(compressed); err != nil {
		return err
	}
	return compressed.Close()
}

// recordAttempts writes one attempt per line.
func recordAttempts(file io.Writer, seed uint64, attempts int, generate func(uint64) *preemptionScenario) error {
	out := bufio.NewWriter(file)
	for last := seed + uint64(attempts); seed < last; seed++ {
		s := generate(seed)
		if err := s.evaluate(); err != nil {
			return fmt.Errorf("seed %d: %w", seed, err)
		}
		line, err := json.Marshal(s)
		if err != nil {
			return err
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return out.Flush()
}

// recordScores writes one scenario per line.
func recordScores(file io.Writer, seed uint64, scores int) error {
	out := bufio.NewWriter(file)
	watcher := startWatcher()
	defer watcher.server.Close()
	for _, plugin := range plugins {
		for written := 0; written < scores; seed++ {
			s := generate(seed, plugin.name)
			if err := s.evaluate(plugin, watcher); err != nil {
				return fmt.Errorf("seed %d: %w", seed, err)
			}
			line, err := json.Marshal(s)
			if err != nil {
				return err
			}
			if _, err := out.Write(append(line, '\n')); err != nil {
				return err
			}
			written += len(s.Nodes) * len(s.Pods)
		}
	}
	return out.Flush()
}
