// Command node runs Berth as a static pod of a real node: kubeadm's manifest and kubeconfig, the real kubelet, containerd and
// runc of Debian, and a real API server.
//
// The node lives in namespaces of its own (processes, mounts, network, host name, IPC), so that it ends with them: its
// /run, /var and /etc, its network interfaces and its kernel parameters are not those of the machine. Only its cgroups and
// its directory are outside, and are removed by the process that stays outside.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"berth.test/cluster/controlplane"
)

// exitUnable is the exit code for a machine that cannot run a node.
const exitUnable = 77

type options struct {
	controlplane.Common
	kubelet   string
	runtime   string
	container string
	tree      string
	required  bool
	verbose   bool
	pods      int
	nodes     int
}

func parse(args []string) (*options, error) {
	var o options
	flags := o.Flags("node", "--berth PATH", "Runs Berth as a static pod under a real kubelet. tests/node builds what it needs. Needs root.\n"+
		fmt.Sprintf("Exit code %d: this machine cannot run a node.", exitUnable))
	flags.StringVar(&o.kubelet, "kubelet", "", "the kubelet, as tests/cluster/node/kubelet/build prints it")
	flags.StringVar(&o.runtime, "runtime", "", "the directory of containerd, runc and the CNI plugins, as tests/cluster/node/runtime prints it")
	flags.StringVar(&o.container, "container", "", "the program of ./cluster/node/container, statically linked")
	flags.StringVar(&o.tree, "tree", "", "the root of the source tree; found from there or from tests/")
	flags.BoolVar(&o.required, "required", false, "a machine that cannot run a node is a failure")
	flags.BoolVar(&o.verbose, "verbose", false, "print each command and its output")
	flags.IntVar(&o.pods, "load-pods", 1000, "pending pods of the load under the memory limit")
	flags.IntVar(&o.nodes, "load-nodes", 300, "nodes without a kubelet of the load under the memory limit")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	deploy := ""
	if err := controlplane.InTree(&deploy, "deploy"); err != nil {
		return nil, err
	}
	if o.tree == "" {
		o.tree = filepath.Dir(deploy)
	}
	for flag, path := range map[string]string{"kubelet": o.kubelet, "container": o.container, "runtime": filepath.Join(o.runtime, "usr/bin/containerd")} {
		if _, err := exec.LookPath(path); err != nil {
			return nil, fmt.Errorf("--%s: %w", flag, err)
		}
	}
	return &o, o.CompleteWithBerth()
}

func main() {
	if len(os.Args) > 2 && os.Args[1] == insideCommand {
		os.Exit(inside(os.Args[2], os.Args[3:]))
	}
	controlplane.Main("node", parse, run)
}

func run(ctx context.Context, o *options, directory string) error {
	missing := obstacles(ctx, directory)
	if len(missing) > 0 {
		fmt.Fprintf(os.Stderr, "node: this machine cannot run a node:\n  %s\n", strings.Join(missing, "\n  "))
		_ = os.Remove(directory) // empty, unless --logs has named it
		if o.required {
			os.Exit(1)
		}
		fmt.Fprintln(os.Stderr, "node: skipped; --required makes this a failure")
		os.Exit(exitUnable)
	}
	if !isUnified() {
		fmt.Println("this machine has cgroup v1: kubelet runs with failCgroupV1: false")
	}
	if !mayLowerOOMScore() {
		fmt.Println("this machine lacks CAP_SYS_RESOURCE: containers keep containerd's OOM score (restrict_oom_score_adj)")
	}
	if err := makeImages(ctx, o, directory); err != nil {
		return err
	}
	group, err := createGroups()
	if err != nil {
		return err
	}
	began := time.Now()
	failed := runInside(ctx, directory, group, os.Args[1:], os.Stdout)
	if err := errors.Join(failed, group.remove(), keepLogs(directory)); err != nil {
		return err
	}
	fmt.Printf("Berth ran as a static pod of a real node; %.0f s\n", time.Since(began).Seconds())
	return nil
}

// runInside runs this program in new namespaces, as their first process: when it ends, the kernel kills every other process in
// them, and unmounts what was mounted there.
func runInside(ctx context.Context, directory string, group cgroup, args []string, output *os.File) error {
	command := exec.Command("/proc/self/exe", append([]string{insideCommand, directory}, args...)...)
	command.Env = append(os.Environ(), groupVariable+"="+string(group))
	command.Stdout, command.Stderr = output, os.Stderr
	command.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC,
		// A terminal's interrupt reaches only this process, which forwards it.
		Setpgid:   true,
		Pdeathsig: syscall.SIGKILL,
	}
	if err := command.Start(); err != nil {
		return fmt.Errorf("creating namespaces: %w", err)
	}
	done := make(chan error, 1)
	go func() { done <- command.Wait() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		_ = command.Process.Signal(syscall.SIGTERM)
		select {
		case <-done:
		case <-time.After(20 * time.Second):
			_ = command.Process.Kill()
			<-done
		}
		return context.Cause(ctx)
	}
}

// keepLogs removes all of the node's files but the logs.
func keepLogs(directory string) error {
	for _, name := range []string{"containerd", "images", "etcd", "etc", "sysctl"} {
		if err := os.RemoveAll(filepath.Join(directory, name)); err != nil {
			return err
		}
	}
	return os.RemoveAll(filepath.Join(directory, "var/lib"))
}

// uniqueName is the name of this run on the machine.
func uniqueName() string { return "berth-node-" + strconv.Itoa(os.Getpid()) }
