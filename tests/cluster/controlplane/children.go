// Package controlplane starts Kubernetes' own programs for tests: etcd, kube-apiserver and schedulers.
package controlplane

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Children are the programs started by a test run; they end with it. Their logs are in Directory.
type Children struct {
	Directory string
	all       []*Child
}

// Child is one program.
type Child struct {
	Name    string
	log     string // path
	command *exec.Cmd
	done    chan struct{}
}

// Start runs a program with its output in <directory>/<name>.log.
func (c *Children) Start(name string, command []string, args ...string) (*Child, error) {
	return c.StartWith(name, append(command[:len(command):len(command)], args...))
}

// StartWith is Start with additional environment variables: "NAME=value".
func (c *Children) StartWith(name string, command []string, environment ...string) (*Child, error) {
	// A restarted program appends to the same log.
	path := filepath.Join(c.Directory, name+".log")
	log, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	started := &Child{Name: name, log: path, done: make(chan struct{})}
	started.command = exec.Command(command[0], command[1:]...)
	started.command.Env = append(os.Environ(), environment...)
	started.command.Stdout, started.command.Stderr = log, log
	started.command.Dir = c.Directory
	// If this program is killed, the kernel kills the children, too.
	started.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := started.command.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	go func() {
		_ = started.command.Wait()
		close(started.done)
	}()
	c.all = append(c.all, started)
	return started, nil
}

// StopAll stops the children in reverse order.
func (c *Children) StopAll() {
	for i := len(c.all) - 1; i >= 0; i-- {
		c.all[i].Stop()
	}
}

// Stop terminates a child, and kills it after a timeout. It returns how the child ended unless the exit code
// was 0.
func (c *Child) Stop() string {
	if c.Running() {
		_ = c.command.Process.Signal(syscall.SIGTERM)
		select {
		case <-c.done:
		case <-time.After(10 * time.Second):
			_ = c.command.Process.Kill()
			<-c.done
			return "a kill after ten seconds of waiting"
		}
	}
	if state := c.command.ProcessState; !state.Success() {
		return state.String()
	}
	return ""
}

// Kill kills a child, like a crash.
func (c *Child) Kill() {
	_ = c.command.Process.Kill()
	<-c.done
}

// Signal sends a signal without waiting.
func (c *Child) Signal(signal syscall.Signal) { _ = c.command.Process.Signal(signal) }

// Exited waits for the child to end; it returns the exit code (-1 after a signal) and whether it ended in
// time.
func (c *Child) Exited(timeout time.Duration) (int, bool) {
	select {
	case <-c.done:
		return c.command.ProcessState.ExitCode(), true
	case <-time.After(timeout):
		return 0, false
	}
}

// Running returns whether the child has not ended yet.
func (c *Child) Running() bool {
	select {
	case <-c.done:
		return false
	default:
		return true
	}
}

// Alive returns an error if the child has ended.
func (c *Child) Alive() error {
	if c.Running() {
		return nil
	}
	return c.Gone()
}

// Gone returns the error for a child that has ended unexpectedly.
func (c *Child) Gone() error {
	return fmt.Errorf("%s ended by itself (%s); see %s.log", c.Name, c.command.ProcessState, c.Name)
}

// CPUSeconds is the CPU time of the child so far.
func (c *Child) CPUSeconds() float64 {
	if !c.Running() {
		return (c.command.ProcessState.UserTime() + c.command.ProcessState.SystemTime()).Seconds()
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.command.Process.Pid))
	if err != nil {
		return 0
	}
	// The name in parentheses may contain any character; the numbers follow it. utime and stime are in
	// hundredths of a second on every Linux.
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) / 100
}

// Memory is the resident memory of a running child, now and at most, in bytes.
func (c *Child) Memory() (resident, peak int64, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.command.Process.Pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(status)) {
		var kibibytes int64
		if _, err := fmt.Sscanf(line, "VmRSS: %d kB", &kibibytes); err == nil {
			resident = kibibytes << 10
		} else if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kibibytes); err == nil {
			peak = kibibytes << 10
		}
	}
	if resident == 0 {
		return 0, 0, c.Gone()
	}
	return resident, peak, nil
}
