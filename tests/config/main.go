// Command config passes the same configuration files and command lines to kube-scheduler and berth and
// compares exit code, error and, for valid ones, the effective configuration, field by field.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"
)

// A row is a configuration file. Without raw, the head of a v1 file goes before the text.
type row struct {
	name  string
	text  string
	raw   bool
	gates string
	// The reason of a deliberate difference; then only accepted or rejected is compared.
	differs string
}

const head = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
`

const kubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: nowhere, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: nowhere, context: {cluster: nowhere, user: nobody}}]
current-context: nowhere
users: [{name: nobody, user: {}}]
`

type verdict struct {
	err    string // empty: valid
	config string // the effective configuration
}

// klog writes this prefix before the text, unquoted.
func failure(log string) (string, bool) {
	_, rest, found := strings.Cut(log, `"command failed" err=`)
	if !found {
		return "", false
	}
	if text, ok := strings.CutPrefix(rest, "<\n"); ok {
		var lines []string
		for _, line := range strings.Split(text, "\n") {
			if line == " >" {
				break
			}
			lines = append(lines, strings.TrimPrefix(line, "\t"))
		}
		return strings.Join(lines, "\n"), true
	}
	line, _, _ := strings.Cut(rest, "\n")
	var text string
	if _, err := fmt.Sscanf(line, "%q", &text); err != nil {
		return line, true
	}
	return text, true
}

func runReal(real, dir, file, gates string) (verdict, error) {
	out := filepath.Join(dir, "effective.yaml")
	args := []string{"kube-scheduler", "--config", file, "--write-config-to", out, "--secure-port", "0"}
	if gates != "" {
		args = append(args, "--feature-gates", gates)
	}
	command := exec.Command(real, args...)
	command.Env = append(os.Environ(), "KUBECONFIG=")
	log, err := command.CombinedOutput()
	if err == nil {
		config, err := os.ReadFile(out)
		return verdict{config: string(config)}, err
	}
	text, found := failure(string(log))
	if !found {
		return verdict{}, fmt.Errorf("kube-scheduler ended without an error message:\n%s", log)
	}
	return verdict{err: text}, nil
}

func runBerth(berth, file, gates string) (verdict, error) {
	args := []string{"config", "convert", file}
	if gates != "" {
		args = append(args, "--feature-gates", gates)
	}
	command := exec.Command(berth, args...)
	var out, log bytes.Buffer
	command.Stdout, command.Stderr = &out, &log
	err := command.Run()
	if err == nil {
		return verdict{config: out.String()}, nil
	}
	text, ok := strings.CutPrefix(log.String(), "Error: "+file+": ")
	if !ok || command.ProcessState.ExitCode() != 1 {
		return verdict{}, fmt.Errorf("berth: %v:\n%s", err, log.String())
	}
	return verdict{err: strings.TrimSuffix(text, "\n")}, nil
}

// The first differences of the two documents.
func differences(path string, real, candidate any) []string {
	if reflect.DeepEqual(real, candidate) {
		return nil
	}
	realMap, ok1 := real.(map[string]any)
	ourMap, ok2 := candidate.(map[string]any)
	if ok1 && ok2 {
		var found []string
		keys := map[string]bool{}
		for key := range realMap {
			keys[key] = true
		}
		for key := range ourMap {
			keys[key] = true
		}
		for key := range keys {
			found = append(found, differences(path+"."+key, realMap[key], ourMap[key])...)
		}
		return found
	}
	realList, ok1 := real.([]any)
	ourList, ok2 := candidate.([]any)
	if ok1 && ok2 && len(realList) == len(ourList) {
		var found []string
		for i := range realList {
			found = append(found, differences(fmt.Sprintf("%s[%d]", path, i), realList[i], ourList[i])...)
		}
		return found
	}
	return []string{fmt.Sprintf("%s: kube-scheduler has %v, berth %v", path, real, candidate)}
}

func compare(r row, real, candidate verdict) []string {
	if (real.err == "") != (candidate.err == "") {
		return []string{fmt.Sprintf("results differ\n  kube-scheduler: %q\n  berth:          %q", real.err, candidate.err)}
	}
	if r.differs != "" {
		if real == candidate || real.err != "" && strings.HasPrefix(candidate.err, real.err+"; ") {
			return []string{"expected a difference: " + r.differs}
		}
		return nil
	}
	if real.err != "" {
		// Berth may add a hint.
		if candidate.err == real.err || strings.HasPrefix(candidate.err, real.err+"; ") {
			return nil
		}
		return []string{fmt.Sprintf("errors differ\n  kube-scheduler: %s\n  berth:          %s", real.err, candidate.err)}
	}
	if real.config == candidate.config {
		return nil
	}
	var realTree, candidateTree any
	if err := yaml.Unmarshal([]byte(real.config), &realTree); err != nil {
		return []string{err.Error()}
	}
	if err := yaml.Unmarshal([]byte(candidate.config), &candidateTree); err != nil {
		return []string{"berth's output is not YAML: " + err.Error()}
	}
	if found := differences("", realTree, candidateTree); len(found) > 0 {
		return found
	}
	return []string{"equal configurations, different bytes:\n" + firstDifference(real.config, candidate.config)}
}

func firstDifference(real, candidate string) string {
	a, b := strings.Split(real, "\n"), strings.Split(candidate, "\n")
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			other := ""
			if i < len(b) {
				other = b[i]
			}
			return fmt.Sprintf("  line %d, kube-scheduler: %q\n  line %d, berth:          %q", i+1, a[i], i+1, other)
		}
	}
	return "  berth writes more lines"
}

type comparison struct {
	real, berth string
	verbose     bool
}

func (j comparison) try(r row) []string {
	dir, err := os.MkdirTemp("", "berth-config-")
	if err != nil {
		return []string{err.Error()}
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "scheduler.yaml")
	kube := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(kube, []byte(kubeconfig), 0o600); err != nil {
		return []string{err.Error()}
	}
	text := r.text
	if !r.raw {
		text = head + text
		if !strings.Contains(text, "clientConnection") {
			text += "\nclientConnection: {kubeconfig: KUBECONFIG}\n"
		}
	}
	text = strings.ReplaceAll(text, "KUBECONFIG", kube)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return []string{err.Error()}
	}
	real, err := runReal(j.real, dir, file, r.gates)
	if err != nil {
		return []string{err.Error()}
	}
	candidate, err := runBerth(j.berth, file, r.gates)
	if err != nil {
		return []string{err.Error()}
	}
	if j.verbose {
		fmt.Printf("%s: %q\n", r.name, real.err)
	}
	return compare(r, real, candidate)
}

func main() {
	berth := flag.String("berth", "../build/bin/berth", "the program to compare")
	real := flag.String("real", "", "Kubernetes' control plane (see tests/cluster/build)")
	only := flag.String("only", "", "only rows whose name contains this")
	verbose := flag.Bool("verbose", false, "print kube-scheduler's result for each file")
	flag.Parse()
	if *real == "" {
		fmt.Fprintln(os.Stderr, "config: --real is missing")
		os.Exit(2)
	}
	j := comparison{real: *real, berth: *berth, verbose: *verbose}
	tasks := make(chan task)
	var lanes sync.WaitGroup
	var lock sync.Mutex
	failed, files, commands := 0, 0, 0
	for range 2 {
		lanes.Go(func() {
			for t := range tasks {
				found := t.try()
				lock.Lock()
				if t.line {
					commands++
				} else {
					files++
				}
				if len(found) > 0 {
					failed++
					fmt.Printf("FAIL %s\n  %s\n", t.name, strings.Join(found, "\n  "))
				}
				lock.Unlock()
			}
		})
	}
	for _, t := range j.tasks() {
		if strings.Contains(t.name, *only) {
			tasks <- t
		}
	}
	close(tasks)
	lanes.Wait()
	if files+commands == 0 {
		fmt.Println("there is no row with that name")
		os.Exit(2)
	}
	fmt.Printf("%d configuration files and %d command lines, %d with different results\n", files, commands, failed)
	if failed > 0 {
		os.Exit(1)
	}
}

type task struct {
	name string
	line bool
	try  func() []string
}

func (j comparison) tasks() []task {
	var all []task
	for _, r := range table() {
		all = append(all, task{name: r.name, try: func() []string { return j.try(r) }})
	}
	for _, l := range lines() {
		all = append(all, task{name: "line: " + l.name, line: true, try: func() []string { return j.tryLine(l) }})
	}
	return all
}
