package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// outcome is the result of a program for one command line.
type outcome struct {
	code   int
	err    string // the error, without log prefix
	out    string // standard output
	config string // the written configuration
}

// errorText returns the error of a program: from its log, after "Error: ", or as plain text.
func errorText(stderr string) string {
	if text, found := failure(stderr); found {
		return text
	}
	var last []string
	for _, text := range strings.Split(strings.Trim(stderr, "\n"), "\n") {
		if rest, found := strings.CutPrefix(text, "Error: "); found {
			return rest
		}
		if !logLine.MatchString(text) {
			last = append(last, text)
		}
	}
	return strings.Join(last, "\n")
}

var logLine = regexp.MustCompile(`^[IWE]\d{4} |^\s|^\{`)

func (j comparison) runLine(program []string, l line, dir string) (outcome, error) {
	out := filepath.Join(dir, filepath.Base(program[0])+".yaml")
	os.Remove(out)
	args := append([]string{}, program[1:]...)
	if !l.bare {
		args = append(args, "--write-config-to", out, "--kubeconfig", filepath.Join(dir, "kubeconfig"))
		if !strings.Contains(strings.Join(l.args, " "), "--permit-port-sharing") {
			args = append(args, "--secure-port", fmt.Sprint(20000+os.Getpid()%20000), "--permit-port-sharing")
		}
	}
	if l.config != "" {
		args = append(args, "--config", filepath.Join(dir, "scheduler.yaml"))
	}
	for _, arg := range l.args {
		args = append(args, strings.ReplaceAll(arg, "DIR", dir))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	command := exec.CommandContext(ctx, program[0], args...)
	command.Env = append(os.Environ(), "KUBECONFIG=")
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	if ctx.Err() != nil {
		return outcome{}, fmt.Errorf("%s does not end", filepath.Base(program[0]))
	}
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		return outcome{}, err
	}
	end := outcome{code: command.ProcessState.ExitCode(), out: stdout.String()}
	if end.code != 0 {
		end.err = errorText(stderr.String())
		if end.err == "" {
			return end, fmt.Errorf("%s ended without an error message:\n%s", filepath.Base(program[0]), stderr.String())
		}
	}
	if text, err := os.ReadFile(out); err == nil {
		end.config = string(text)
	}
	return end, nil
}

// Files in the directory of a command line.
func writeFiles(dir string, l line) error {
	kube := filepath.Join(dir, "kubeconfig")
	for name, text := range map[string]string{
		"kubeconfig":     kubeconfig,
		"empty":          "",
		"broken":         "clusters: {",
		"manifest":       "allowListMapping:\n  \"scheduler_pending_pods,queue\": \"active,backoff\"\n",
		"pairs":          "\"scheduler_pending_pods,queue\": \"active,backoff\"\n",
		"words":          "foo: bar\n",
		"scheduler.yaml": head + strings.ReplaceAll(l.config, "KUBECONFIG", kube),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (j comparison) tryLine(l line) []string {
	var ends [2]outcome
	dir, err := os.MkdirTemp("", "berth-line-")
	if err != nil {
		return []string{err.Error()}
	}
	defer os.RemoveAll(dir)
	if err := writeFiles(dir, l); err != nil {
		return []string{err.Error()}
	}
	for i, program := range [][]string{{j.real, "kube-scheduler"}, {j.berth, "scheduler"}} {
		if ends[i], err = j.runLine(program, l, dir); err != nil {
			return []string{err.Error()}
		}
		os.RemoveAll(filepath.Join(dir, "certificates"))
	}
	if j.verbose {
		fmt.Printf("%s: %d %q\n", l.name, ends[0].code, ends[0].err)
	}
	return compareLines(l, ends[0], ends[1])
}

func compareLines(l line, real, candidate outcome) []string {
	if l.differs != "" {
		if (candidate.code != 0) != (l.berth != "") || !strings.Contains(candidate.err, l.berth) {
			return []string{fmt.Sprintf("berth: expected %q, got %q", l.berth, candidate.err)}
		}
		if real.code == candidate.code && (candidate.err == real.err || strings.HasPrefix(candidate.err, real.err+"; ")) && real.config == candidate.config {
			return []string{"expected a difference: " + l.differs}
		}
		return nil
	}
	if real.code != candidate.code {
		return []string{fmt.Sprintf("exit codes differ\n  kube-scheduler: %d %q\n  berth:          %d %q", real.code, real.err, candidate.code, candidate.err)}
	}
	if candidate.err != real.err && !strings.HasPrefix(candidate.err, real.err+"; ") {
		return []string{fmt.Sprintf("errors differ\n  kube-scheduler: %s\n  berth:          %s", real.err, candidate.err)}
	}
	if l.bare {
		return compareOutputs(real.out, candidate.out)
	}
	var realTree, candidateTree any
	if err := errors.Join(yaml.Unmarshal([]byte(real.config), &realTree), yaml.Unmarshal([]byte(candidate.config), &candidateTree)); err != nil {
		return []string{err.Error()}
	}
	return differences("", realTree, candidateTree)
}

// Both helps have the same groups with the same flags, types and defaults in the same order. Descriptions differ.
func compareOutputs(real, candidate string) []string {
	if !strings.Contains(real, "Usage:") {
		// The other build details are in --version=raw.
		if short := regexp.MustCompile(`^Kubernetes \S+\n$`); real == candidate || !short.MatchString(real) && !short.MatchString(candidate) && candidate != "" {
			return nil
		}
		return []string{fmt.Sprintf("outputs differ\n  kube-scheduler: %q\n  berth:          %q", real, candidate)}
	}
	realFlags, ourFlags := flagsOf(real), flagsOf(candidate)
	var found []string
	for _, name := range realFlags.names {
		r, o := realFlags.flags[name], ourFlags.flags[name]
		if o.group == "" {
			found = append(found, "missing in berth's help: --"+name)
		} else if ourWords[name] {
			if r.group != o.group || r.byDefault != o.byDefault {
				found = append(found, fmt.Sprintf("--%s: kube-scheduler has %+v, berth %+v", name, r, o))
			}
		} else if r != o {
			found = append(found, fmt.Sprintf("--%s: kube-scheduler has %+v, berth %+v", name, r, o))
		}
	}
	if common := intersection(ourFlags.names, realFlags.flags); !slices.Equal(common, realFlags.names) {
		found = append(found, fmt.Sprintf("the order differs\n  kube-scheduler: %v\n  berth:          %v", realFlags.names, common))
	}
	if len(realFlags.names) < 50 {
		found = append(found, fmt.Sprintf("parse kube-scheduler's help: %v", realFlags.names))
	}
	return found
}

func intersection(names []string, known map[string]helpedFlag) []string {
	var found []string
	for _, name := range names {
		if _, ok := known[name]; ok {
			found = append(found, name)
		}
	}
	return found
}

// Flags whose type berth's help replaces by an example.
var ourWords = map[string]bool{"feature-gates": true, "allow-metric-labels": true}

type helpedFlag struct{ group, kind, byDefault string }

type help struct {
	names []string
	flags map[string]helpedFlag
}

var (
	headline = regexp.MustCompile(`^([A-Z][a-zA-Z ]* flags).*:$`)
	flagLine = regexp.MustCompile(`^(?:      |  -[a-z], )--([a-z0-9-]+) ?(\S*)`)
	fallback = regexp.MustCompile(`(?s)\(default (.*)\)$`)
)

func flagsOf(text string) help {
	found := help{flags: map[string]helpedFlag{}}
	group, name, about := "", "", ""
	finish := func() {
		if name == "" {
			return
		}
		entry := found.flags[name]
		if match := fallback.FindStringSubmatch(strings.TrimSpace(about)); match != nil {
			entry.byDefault = match[1]
		}
		found.flags[name] = entry
		name, about = "", ""
	}
	for _, text := range strings.Split(text, "\n") {
		if match := headline.FindStringSubmatch(text); match != nil {
			finish()
			group = match[1]
		} else if match := flagLine.FindStringSubmatch(text); match != nil {
			finish()
			name = match[1]
			found.names = append(found.names, name)
			found.flags[name] = helpedFlag{group: group, kind: match[2]}
			about = text[len(match[0]):]
		} else {
			about += " " + strings.TrimSpace(text)
		}
	}
	finish()
	return found
}
