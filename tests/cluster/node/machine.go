package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

const groupRoot = "/sys/fs/cgroup"

// The hierarchies of cgroup v1 that kubelet and runc need, and the controllers of v2.
var (
	hierarchies = []string{"cpu", "cpuacct", "cpuset", "memory", "devices", "freezer", "pids"}
	controllers = []string{"cpu", "cpuset", "memory", "pids"}
)

// obstacles are the reasons why this machine cannot run a node, each with a remedy. Empty: it can.
func obstacles(ctx context.Context, directory string) []string {
	if os.Getuid() != 0 {
		return []string{"it needs root: run it with sudo"}
	}
	var found []string
	for _, program := range []string{"ip", "sh", "awk"} {
		if _, err := exec.LookPath(program); err != nil {
			found = append(found, fmt.Sprintf("%v: install the Debian package iproute2, dash or mawk", err))
		}
	}
	for _, own := range []string{"/etc", "/run", "/var"} {
		if strings.HasPrefix(directory, own+"/") {
			found = append(found, fmt.Sprintf("the directory %s is inside %s, which the node replaces by its own: set TMPDIR to another place", directory, own))
		}
	}
	if kmsg, err := os.Open("/dev/kmsg"); err != nil {
		found = append(found, fmt.Sprintf("kubelet watches the kernel's messages: %v; in a container, add that device", err))
	} else {
		kmsg.Close()
	}
	if err := checkGroups(); err != nil {
		found = append(found, fmt.Sprintf("cgroups: %v", err))
	}
	if len(found) == 0 {
		if err := tryNamespaces(ctx, directory); err != nil {
			found = append(found, err.Error())
		}
	}
	return found
}

// tryNamespaces makes the namespaces, mounts and network interfaces of a node, which all end at once.
func tryNamespaces(ctx context.Context, directory string) error {
	probe := filepath.Join(directory, "probe")
	if err := os.Mkdir(probe, 0o700); err != nil {
		return err
	}
	defer os.RemoveAll(probe)
	reader, writer, err := os.Pipe()
	if err != nil {
		return err
	}
	defer reader.Close()
	failed := runInside(ctx, probe, "", []string{probeFlag}, writer)
	writer.Close()
	if failed == nil {
		return nil
	}
	var why bytes.Buffer
	_, _ = why.ReadFrom(reader)
	if why.Len() == 0 {
		return fmt.Errorf("%w: needs CAP_SYS_ADMIN in the first user namespace, and a kernel with PID, network, mount, UTS and IPC namespaces", failed)
	}
	return errors.New(strings.TrimSpace(why.String()))
}

// mayLowerOOMScore returns whether processes may get a lower OOM score than this one, as kubelet wants it for a node's critical
// pods. That needs CAP_SYS_RESOURCE, which virtual machines and containers for tests may lack.
func mayLowerOOMScore() bool {
	const path = "/proc/self/oom_score_adj"
	before, err := os.ReadFile(path)
	if err != nil || os.WriteFile(path, []byte("-999"), 0) != nil {
		return false
	}
	return os.WriteFile(path, before, 0) == nil
}

// isUnified returns whether the machine has cgroup v2 only.
func isUnified() bool {
	_, err := os.Stat(filepath.Join(groupRoot, "cgroup.controllers"))
	return err == nil
}

func checkGroups() error {
	if isUnified() {
		text, err := os.ReadFile(filepath.Join(groupRoot, "cgroup.controllers"))
		if err != nil {
			return err
		}
		for _, name := range controllers {
			if !slices.Contains(strings.Fields(string(text)), name) {
				return fmt.Errorf("%s/cgroup.controllers has no %s: the kernel needs CONFIG_CGROUPS with this controller, and a container the machine's cgroup namespace", groupRoot, name)
			}
		}
	} else {
		for _, name := range hierarchies {
			if _, err := os.Stat(filepath.Join(groupRoot, name, "cgroup.procs")); err != nil {
				return fmt.Errorf("no hierarchy %s: %w; mount it: mount -t cgroup -o %s cgroup %s/%s", name, err, name, groupRoot, name)
			}
		}
	}
	group, err := createGroups()
	return errors.Join(err, group.remove())
}

// cgroup is a path below each hierarchy, such as /berth-node-12.
type cgroup string

// roots are the directories in which a group exists once each.
func roots() []string {
	if isUnified() {
		return []string{groupRoot}
	}
	var all []string
	entries, _ := os.ReadDir(groupRoot)
	for _, entry := range entries {
		if path := filepath.Join(groupRoot, entry.Name()); entry.IsDir() && fileExists(filepath.Join(path, "cgroup.procs")) {
			all = append(all, path)
		}
	}
	return all
}

// createGroups creates the group of the node, the parent of those of all its pods.
func createGroups() (cgroup, error) {
	group := cgroup("/" + uniqueName())
	for _, root := range roots() {
		if isUnified() {
			// Only the first group of the machine may have both processes and controllers for its children.
			text := "+" + strings.Join(controllers, " +")
			for _, path := range []string{root, root + string(group)} {
				if err := os.Mkdir(path, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
					return group, fmt.Errorf("%w; in a container, mount /sys/fs/cgroup writable", err)
				}
				if err := os.WriteFile(filepath.Join(path, "cgroup.subtree_control"), []byte(text), 0); err != nil {
					return group, fmt.Errorf("%w; in a container, use the machine's cgroup namespace", err)
				}
			}
			continue
		}
		if err := os.Mkdir(root+string(group), 0o755); err != nil {
			return group, fmt.Errorf("%w; in a container, mount /sys/fs/cgroup writable", err)
		}
	}
	return group, nil
}

// remove removes the group with those below it. All processes in them have ended or are being killed.
func (g cgroup) remove() error {
	var failed error
	for _, root := range roots() {
		deadline := time.Now().Add(20 * time.Second)
		for failed = removeTree(root + string(g)); failed != nil; failed = removeTree(root + string(g)) {
			if time.Now().After(deadline) {
				return fmt.Errorf("removing cgroups: %w", failed)
			}
			// The kernel keeps a group for some time after its last process.
			time.Sleep(50 * time.Millisecond)
		}
	}
	return nil
}

// removeTree removes a cgroup with those below it; the files in them cannot be removed and go with them.
func removeTree(path string) error {
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, entry := range entries {
		if entry.IsDir() {
			err = errors.Join(err, removeTree(filepath.Join(path, entry.Name())))
		}
	}
	if err != nil {
		return err
	}
	return syscall.Rmdir(path)
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
