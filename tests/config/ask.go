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

// An ending is how a program answered a command line.
type ending struct {
	code   int
	said   string // the error, without what the log puts before it
	out    string // standard output
	config string // the configuration that was written
}

// The error of a program that says it in its log, as "Error: ...", or plainly.
func complaint(stderr string) string {
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

func (j judge) ask(program []string, l line, dir string) (ending, error) {
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
		return ending{}, fmt.Errorf("%s does not end", filepath.Base(program[0]))
	}
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		return ending{}, err
	}
	end := ending{code: command.ProcessState.ExitCode(), out: stdout.String()}
	if end.code != 0 {
		end.said = complaint(stderr.String())
		if end.said == "" {
			return end, fmt.Errorf("%s ended without saying why:\n%s", filepath.Base(program[0]), stderr.String())
		}
	}
	if text, err := os.ReadFile(out); err == nil {
		end.config = string(text)
	}
	return end, nil
}

// What both find in the directory that a line may speak of.
func furnish(dir string, l line) error {
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

func (j judge) tryLine(l line) []string {
	var ends [2]ending
	dir, err := os.MkdirTemp("", "berth-line-")
	if err != nil {
		return []string{err.Error()}
	}
	defer os.RemoveAll(dir)
	if err := furnish(dir, l); err != nil {
		return []string{err.Error()}
	}
	for i, program := range [][]string{{j.real, "kube-scheduler"}, {j.berth, "scheduler"}} {
		if ends[i], err = j.ask(program, l, dir); err != nil {
			return []string{err.Error()}
		}
		os.RemoveAll(filepath.Join(dir, "certificates"))
	}
	if j.verbose {
		fmt.Printf("%s: %d %q\n", l.name, ends[0].code, ends[0].said)
	}
	return compareLines(l, ends[0], ends[1])
}

func compareLines(l line, real, ours ending) []string {
	if l.differs != "" {
		if (ours.code != 0) != (l.berth != "") || !strings.Contains(ours.said, l.berth) {
			return []string{fmt.Sprintf("berth is to say %q, and says %q", l.berth, ours.said)}
		}
		if real.code == ours.code && (ours.said == real.said || strings.HasPrefix(ours.said, real.said+"; ")) && real.config == ours.config {
			return []string{"nothing differs: " + l.differs}
		}
		return nil
	}
	if real.code != ours.code {
		return []string{fmt.Sprintf("exit codes differ\n  kube-scheduler: %d %q\n  berth:          %d %q", real.code, real.said, ours.code, ours.said)}
	}
	if ours.said != real.said && !strings.HasPrefix(ours.said, real.said+"; ") {
		return []string{fmt.Sprintf("errors differ\n  kube-scheduler: %s\n  berth:          %s", real.said, ours.said)}
	}
	if l.bare {
		return compareOutputs(real.out, ours.out)
	}
	var realTree, ourTree any
	if err := errors.Join(yaml.Unmarshal([]byte(real.config), &realTree), yaml.Unmarshal([]byte(ours.config), &ourTree)); err != nil {
		return []string{err.Error()}
	}
	return differences("", realTree, ourTree)
}

// The help has the same groups with the same flags, types and defaults in the same order, each with berth's own words.
func compareOutputs(real, ours string) []string {
	if !strings.Contains(real, "Usage:") {
		// Who built it, and with what, is told by --version=raw.
		if short := regexp.MustCompile(`^Kubernetes \S+\n$`); real == ours || !short.MatchString(real) && !short.MatchString(ours) && ours != "" {
			return nil
		}
		return []string{fmt.Sprintf("outputs differ\n  kube-scheduler: %q\n  berth:          %q", real, ours)}
	}
	realFlags, ourFlags := flagsOf(real), flagsOf(ours)
	var found []string
	for _, name := range realFlags.names {
		r, o := realFlags.flags[name], ourFlags.flags[name]
		if o.group == "" {
			found = append(found, "berth's help lacks --"+name)
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
		found = append(found, fmt.Sprintf("kube-scheduler's help was not understood: %v", realFlags.names))
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

// Flags whose kind of value berth shows by an example.
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
