package main

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

// children are the programs this run started; none of them survives it.
type children struct {
	directory string
	all       []*child
}

type child struct {
	name    string
	command *exec.Cmd
	done    chan struct{}
}

// start runs a program with its output in <directory>/<name>.log.
func (c *children) start(name string, command []string, args ...string) (*child, error) {
	// One that is started again goes on in the same log.
	log, err := os.OpenFile(filepath.Join(c.directory, name+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	started := &child{name: name, done: make(chan struct{})}
	started.command = exec.Command(command[0], append(command[1:len(command):len(command)], args...)...)
	started.command.Stdout, started.command.Stderr = log, log
	started.command.Dir = c.directory
	// Should this program be killed, the kernel takes the children with it.
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

// stopAll ends the children, the last one first.
func (c *children) stopAll() {
	for i := len(c.all) - 1; i >= 0; i-- {
		c.all[i].stop()
	}
}

// stop asks a child to leave, and after a while makes it. It returns how it left unless that was with 0.
func (c *child) stop() string {
	if c.running() {
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

// kill ends a child without a warning, as a crash does.
func (c *child) kill() {
	_ = c.command.Process.Kill()
	<-c.done
}

func (c *child) running() bool {
	select {
	case <-c.done:
		return false
	default:
		return true
	}
}

// gone is the error to return when a child that should be there is not.
func (c *child) gone() error {
	return fmt.Errorf("%s ended by itself (%s); see %s.log", c.name, c.command.ProcessState, c.name)
}

// cpuSeconds is what the child has used so far.
func (c *child) cpuSeconds() float64 {
	if !c.running() {
		return (c.command.ProcessState.UserTime() + c.command.ProcessState.SystemTime()).Seconds()
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.command.Process.Pid))
	if err != nil {
		return 0
	}
	// The name in parentheses may hold anything; the numbers begin behind it. utime and stime are in
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
