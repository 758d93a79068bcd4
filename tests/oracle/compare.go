package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
)

func runCompare(args []string, out, errOut io.Writer) error {
	flags := newFlags("compare", "--berth PATH [--focus NAME | --all-focuses] [--from-seed A] [--clusters N | --pods N] [--feature-gates GATES] [--workers W] [--keep DIR]",
		"Compares the records of berth and of the real plugins on the same random clusters, byte for byte.\n"+
			"Differences are grouped by kind, with an example and a command that repeats it. --all-focuses compares N pods\n"+
			"of every focus, the first seed being the same, and lists the seeds that differ.", errOut)
	berth := flags.String("berth", "", "the berth program")
	first := flags.Uint64("from-seed", 1, "first scenario")
	focus := flags.String("focus", mixed, "limit plugins and clusters to a family: "+focusNames())
	all := flags.Bool("all-focuses", false, "compare every focus")
	clusters := flags.Int("clusters", 0, "number of scenarios")
	gates := flags.String("feature-gates", "", "feature gates that are off, as kube-scheduler's flag: A=false,B=false")
	pods := flags.Int("pods", 0, "continue until this number of pods is compared")
	workers := flags.Int("workers", 2, "scenarios at a time")
	keep := flags.String("keep", "", "directory for the files of differing scenarios")
	timeout := flags.Duration("timeout", time.Minute, "timeout of one run of berth")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *berth == "" {
		return errors.New("--berth is missing: the path of the berth program")
	}
	if _, err := focusPlugins(*focus); err != nil {
		return err
	}
	if _, err := setGates(*gates); err != nil {
		return err
	}
	if *clusters == 0 && *pods == 0 {
		*clusters = 100
	}
	if *keep != "" {
		if err := os.MkdirAll(*keep, 0o755); err != nil {
			return err
		}
	}
	directory, err := os.MkdirTemp("", "oracle-compare-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(directory)
	compared := []string{*focus}
	if *all {
		compared = nil
		for _, focus := range focuses {
			compared = append(compared, focus.name)
		}
	}
	stop, err := serveExtenders()
	if err != nil {
		return err
	}
	defer stop()
	var failed []string
	for _, focus := range compared {
		c := &comparison{
			berth: *berth, gates: *gates, directory: directory, keep: *keep, timeout: *timeout, ctx: silence(),
			enough: func(seeds uint64, evaluated int) bool {
				return *clusters > 0 && seeds >= uint64(*clusters) || *pods > 0 && evaluated >= *pods
			},
			first: *first, focus: focus, out: out, kinds: make(map[string]*mismatchKind),
		}
		if *all {
			fmt.Fprintf(out, "\nfocus %s, from seed %d\n", focus, *first)
		}
		if err := c.run(*workers); err != nil {
			return err
		}
		for _, seed := range slices.Sorted(maps.Keys(c.failed)) {
			failed = append(failed, fmt.Sprintf("--feature-gates '%s' --focus %s --from-seed %d", *gates, focus, seed))
		}
	}
	if len(failed) > 0 {
		return &exitError{code: 1, text: "differences; repeat with --clusters 1 and\n  " + strings.Join(failed, "\n  ")}
	}
	return nil
}

// comparison is the state shared by the workers.
type comparison struct {
	berth, directory, keep string
	gates                  string
	timeout                time.Duration
	ctx                    context.Context
	enough                 func(seeds uint64, evaluated int) bool
	first                  uint64
	focus                  string
	out                    io.Writer

	mutex      sync.Mutex
	taken      uint64
	evaluated  int
	mismatches int
	byChance   int      // records that differ from the first evaluation of the real plugins, and not from all
	timedOut   []string // "seed S, pod P": records that differ because the real allocator reached its time limit
	kinds      map[string]*mismatchKind
	failed     map[uint64]bool
	results    map[string]int
	failure    error
}

// mismatchKind collects similar differences. It keeps the shortest examples.
type mismatchKind struct {
	name     string
	count    int
	examples []mismatch
}

type mismatch struct {
	seed         uint64
	pod          string
	want, got    string
	detail       string
	clusterBytes int
}

func (c *comparison) run(workers int) error {
	c.results, c.failed = make(map[string]int), make(map[uint64]bool)
	started := time.Now()
	progress := time.NewTicker(10 * time.Second)
	defer progress.Stop()
	done := make(chan struct{})
	var group sync.WaitGroup
	for range workers {
		group.Add(1)
		go func() {
			defer group.Done()
			c.work()
		}()
	}
	go func() { group.Wait(); close(done) }()
	for waiting := true; waiting; {
		select {
		case <-done:
			waiting = false
		case <-progress.C:
			c.mutex.Lock()
			fmt.Fprintf(c.out, "%6.0f s  %d clusters, %d pods, %d mismatches\n", time.Since(started).Seconds(), c.taken, c.evaluated, c.mismatches)
			c.mutex.Unlock()
		}
	}
	if c.failure != nil {
		return c.failure
	}
	c.report()
	return nil
}

// next returns the seeds in order.
func (c *comparison) next() (uint64, bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.failure != nil || c.enough(c.taken, c.evaluated) {
		return 0, false
	}
	c.taken++
	return c.first + c.taken - 1, true
}

func (c *comparison) work() {
	for {
		seed, ok := c.next()
		if !ok {
			return
		}
		if err := c.compareSeed(seed); err != nil {
			c.mutex.Lock()
			c.failure = fmt.Errorf("seed %d: %w", seed, err)
			c.mutex.Unlock()
			return
		}
	}
}

// compareSeed compares one scenario.
func (c *comparison) compareSeed(seed uint64) error {
	scenario, err := generate(seed, fullScale, c.focus)
	if err != nil {
		return err
	}
	records, err := scenario.evaluate(c.ctx)
	if err != nil {
		return err
	}
	clusterPath := filepath.Join(c.directory, fmt.Sprintf("cluster-%d.json", seed))
	configPath := filepath.Join(c.directory, fmt.Sprintf("config-%d.yaml", seed))
	if err := os.WriteFile(clusterPath, scenario.Cluster, 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(configPath, scenario.Config, 0o644); err != nil {
		return err
	}
	defer os.Remove(clusterPath)
	defer os.Remove(configPath)
	lines, problem := c.explain(clusterPath, configPath)

	found := compareRecords(seed, records, lines, problem)
	byChance := len(found)
	if scenario.hasChance() && len(found) > 0 {
		if found, err = scenario.impossible(c.ctx, found, lines); err != nil {
			return err
		}
	}
	byChance -= len(found)
	found, timedOut := withoutTimeouts(found, records)
	for i := range found {
		found[i].example.clusterBytes = len(scenario.Cluster)
	}
	if c.keep != "" && len(found) > 0 {
		if err := scenario.keep(c.keep, records, lines); err != nil {
			return err
		}
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.evaluated += len(records) - len(timedOut)
	c.byChance += byChance
	for _, pod := range timedOut {
		c.timedOut = append(c.timedOut, fmt.Sprintf("seed %d, pod %s", seed, pod))
	}
	for _, line := range records {
		c.results[resultOf(line)]++
	}
	for _, f := range found {
		c.failed[seed] = true
		c.count(f)
	}
	return nil
}

// explain runs berth. problem is the error text if there is no usable output.
func (c *comparison) explain(clusterPath, configPath string) (lines []string, problem string) {
	ctx, cancel := context.WithTimeout(context.Background(), c.timeout)
	defer cancel()
	command := exec.CommandContext(ctx, c.berth, "explain", "-f", clusterPath, "--config", configPath, "-o", "json", "--feature-gates", c.gates)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	if text := strings.TrimSuffix(stdout.String(), "\n"); text != "" {
		lines = strings.Split(text, "\n")
	}
	if err != nil {
		problem = fmt.Sprintf("berth explain: %v", err)
		if ctx.Err() != nil {
			problem = fmt.Sprintf("berth explain: no output within %s", c.timeout)
		}
		if text := strings.TrimSpace(stderr.String()); text != "" {
			problem += ": " + shorten(text, 400)
		}
	}
	return lines, problem
}

func (c *comparison) count(f finding) {
	c.mismatches++
	kind := c.kinds[f.kind]
	if kind == nil {
		kind = &mismatchKind{name: f.kind}
		c.kinds[f.kind] = kind
	}
	kind.count++
	kind.examples = append(kind.examples, f.example)
	slices.SortStableFunc(kind.examples, func(a, b mismatch) int { return a.clusterBytes - b.clusterBytes })
	if len(kind.examples) > 2 {
		kind.examples = kind.examples[:2]
	}
}

func (c *comparison) report() {
	var kinds []*mismatchKind
	for _, kind := range c.kinds {
		kinds = append(kinds, kind)
	}
	slices.SortFunc(kinds, func(a, b *mismatchKind) int {
		if a.count != b.count {
			return b.count - a.count
		}
		return strings.Compare(a.name, b.name)
	})
	for _, kind := range kinds {
		fmt.Fprintf(c.out, "\n%6d x %s\n", kind.count, kind.name)
		for _, example := range kind.examples {
			fmt.Fprintf(c.out, "         seed %d, pod %s: %s\n", example.seed, example.pod, example.detail)
			fmt.Fprintf(c.out, "           real  %s\n", shorten(example.want, 1200))
			fmt.Fprintf(c.out, "           berth %s\n", shorten(example.got, 1200))
			fmt.Fprintf(c.out, "           again: oracle compare --berth %s --feature-gates '%s' --focus %s --from-seed %d --clusters 1 --keep DIR\n", c.berth, c.gates, c.focus, example.seed)
		}
	}
	var results []string
	for _, result := range []string{resultScheduled, resultUnschedulable, resultError, resultGated, resultIgnored} {
		results = append(results, fmt.Sprintf("%d %s", c.results[result], result))
	}
	fmt.Fprintf(c.out, "\nreal results: %s\n", strings.Join(results, ", "))
	if c.byChance > 0 {
		fmt.Fprintf(c.out, "%d records equal another evaluation of the real plugins\n", c.byChance)
	}
	if len(c.timedOut) > 0 {
		fmt.Fprintf(c.out, "%d pods not compared, because kube-scheduler reached its time limit for devices:\n  %s\n", len(c.timedOut), strings.Join(c.timedOut, "\n  "))
	}
	fmt.Fprintf(c.out, "%d pods compared, %d mismatches\n", c.evaluated, c.mismatches)
}

// hasChance: with extenders, only the order of some error texts is random.
func (s *Scenario) hasChance() bool { return s.Focus == chance || s.Focus == extended }

// evaluations is the number of evaluations that must contain a record of Berth if chance decides.
const evaluations = 400

// impossible returns the findings about records that no evaluation reproduces.
func (s *Scenario) impossible(ctx context.Context, found []finding, lines []string) ([]finding, error) {
	cluster, dump, err := s.cluster(ctx)
	if err != nil {
		return nil, err
	}
	defer cluster.close()
	wanted := make(map[string]string)
	for _, line := range lines {
		wanted[podOf(line)] = line
	}
	isPossible := func(pod *v1.Pod) bool {
		for range evaluations {
			if line, err := cluster.evaluate(pod).line(); err == nil && line == wanted[podKey(pod)] {
				return true
			}
		}
		return false
	}
	possible := make(map[string]bool)
	for _, pod := range dump.pendingPods() {
		if slices.ContainsFunc(found, func(f finding) bool { return f.example.pod == podKey(pod) }) {
			possible[podKey(pod)] = isPossible(pod)
		}
	}
	return slices.DeleteFunc(found, func(f finding) bool { return possible[f.example.pod] }), nil
}

// cluster builds the scheduler of a scenario.
func (s *Scenario) cluster(ctx context.Context) (*Cluster, *Dump, error) {
	cfg, err := latest.Default()
	if len(s.Config) > 0 {
		cfg, err = parseConfig(s.Config)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("configuration: %w", err)
	}
	dump, err := readCluster(s.Cluster)
	if err != nil {
		return nil, nil, err
	}
	cluster, err := newCluster(ctx, cfg, dump)
	return cluster, dump, err
}

// evaluate runs a scenario on the real plugins. Without a configuration kube-scheduler's own is used.
func (s *Scenario) evaluate(ctx context.Context) ([]string, error) {
	cluster, dump, err := s.cluster(ctx)
	if err != nil {
		return nil, err
	}
	defer cluster.close()
	evaluate := cluster.evaluateChecked
	if s.Focus == chance {
		// The scheduler's own decision may differ from the record.
		evaluate = func(pod *v1.Pod) (*Record, error) { return cluster.evaluate(pod), nil }
	}
	var lines []string
	for _, pod := range dump.pendingPods() {
		record, err := evaluate(pod)
		if err != nil {
			return nil, err
		}
		line, err := record.line()
		if err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// keep writes a scenario, its configuration and both outputs to a directory.
func (s *Scenario) keep(directory string, want, got []string) error {
	base := filepath.Join(directory, fmt.Sprint(s.Seed))
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, s.Cluster, "", "    "); err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(base+"-cluster.json", pretty.Bytes(), 0o644),
		os.WriteFile(base+"-config.yaml", s.Config, 0o644),
		os.WriteFile(base+"-real.ndjson", []byte(strings.Join(want, "\n")+"\n"), 0o644),
		os.WriteFile(base+"-berth.ndjson", []byte(strings.Join(got, "\n")+"\n"), 0o644),
	)
}

func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return text[:most] + fmt.Sprintf(" ... (%d more bytes)", len(text)-most)
}
