package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"berth.test/cluster/controlplane"
)

const (
	insideCommand = "inside"
	probeFlag     = "--probe"
	groupVariable = "BERTH_NODE_CGROUP"
)

// nodeName is the host name, and nodeAddress the address of the node in its network, which no other machine reaches.
const (
	nodeName    = "master1"
	nodeAddress = "192.168.77.1"
)

// inside is this program in the namespaces of the node; it returns the exit code.
func inside(directory string, args []string) int {
	klog.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := enter(directory); err != nil {
		fmt.Println(err)
		return 1
	}
	if len(args) == 1 && args[0] == probeFlag {
		return 0
	}
	o, err := parse(args)
	if err == nil {
		err = runNode(ctx, o, directory, cgroup(os.Getenv(groupVariable)))
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "node: %v\n", err)
		return 1
	}
	return 0
}

// enter makes the namespaces a machine of their own. An error says what the kernel refuses and what to do.
func enter(directory string) error {
	for _, step := range []struct {
		name   string
		do     func(directory string) error
		remedy string
	}{
		{"mounting in a mount namespace", mountSystem, "needs CAP_SYS_ADMIN; in a container, run it privileged"},
		{"an overlay of /etc", overlayConfiguration, "needs CONFIG_OVERLAY_FS; if TMPDIR is an overlay itself (in a container), set it to a volume on ext4 or xfs"},
		{"kernel parameters of its own", ownSysctls, "kubelet sets them, and the machine's must not change: needs a writable mount namespace with /proc/sys"},
		{"a network of its own", makeNetwork, "needs CAP_NET_ADMIN, CONFIG_BRIDGE and CONFIG_VETH"},
		{"a host name of its own", func(string) error { return syscall.Sethostname([]byte(nodeName)) }, "needs a UTS namespace"},
	} {
		if err := step.do(directory); err != nil {
			return fmt.Errorf("%s: %w; %s", step.name, err, step.remedy)
		}
	}
	return nil
}

// mountSystem replaces /proc, /run and /var. Container runtimes expect shared mounts, which are shared only in here.
func mountSystem(directory string) error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	for _, path := range []string{"var/lib", "var/log", "var/tmp"} {
		if err := os.MkdirAll(filepath.Join(directory, path), 0o755); err != nil {
			return err
		}
	}
	if err := os.Symlink("/run", filepath.Join(directory, "var/run")); err != nil {
		return err
	}
	for _, mount := range []struct {
		source, target, kind string
		flags                uintptr
		data                 string
	}{
		{"proc", "/proc", "proc", syscall.MS_NOSUID | syscall.MS_NODEV | syscall.MS_NOEXEC, ""},
		{"tmpfs", "/run", "tmpfs", syscall.MS_NOSUID | syscall.MS_NODEV, "mode=0755"},
		{filepath.Join(directory, "var"), "/var", "", syscall.MS_BIND, ""},
		{"", "/", "", syscall.MS_REC | syscall.MS_SHARED, ""},
	} {
		if err := syscall.Mount(mount.source, mount.target, mount.kind, mount.flags, mount.data); err != nil {
			return fmt.Errorf("%s: %w", mount.target, err)
		}
	}
	return nil
}

// overlayConfiguration makes changes of /etc stay in the directory.
func overlayConfiguration(directory string) error {
	var paths []string
	for _, name := range []string{"upper", "work"} {
		path := filepath.Join(directory, "etc", name)
		if err := os.MkdirAll(path, 0o755); err != nil {
			return err
		}
		paths = append(paths, path)
	}
	return syscall.Mount("overlay", "/etc", "overlay", 0, fmt.Sprintf("lowerdir=/etc,upperdir=%s,workdir=%s", paths[0], paths[1]))
}

// kubelet's kernel parameters; it writes those that differ (setupKernelTunables), and they are the whole machine's.
var sysctls = map[string]string{
	"vm/overcommit_memory": "1", "vm/panic_on_oom": "0", "kernel/panic": "10", "kernel/panic_on_oops": "1",
	"kernel/keys/root_maxkeys": "1000000", "kernel/keys/root_maxbytes": "25000000",
}

// ownSysctls mounts a file with the value that kubelet wants over each parameter.
func ownSysctls(directory string) error {
	for name, value := range sysctls {
		file := filepath.Join(directory, "sysctl", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(value+"\n"), 0o644); err != nil {
			return err
		}
		if err := syscall.Mount(file, "/proc/sys/"+name, "", syscall.MS_BIND, ""); err != nil {
			return fmt.Errorf("/proc/sys/%s: %w", name, err)
		}
	}
	return nil
}

// makeNetwork makes the loopback address, and a bridge with the node's address. The pair of interfaces is like that of a pod.
func makeNetwork(string) error {
	for _, line := range []string{
		"link set lo up",
		// There is no kube-proxy: the node itself has the address of the service.
		"addr add " + controlplane.ServiceAddress + "/32 dev lo",
		"link add node0 type bridge",
		"addr add " + nodeAddress + "/24 dev node0",
		"link set node0 up",
		// kube-apiserver takes the address that it announces from the default route.
		"route add default dev node0",
		"link add probe0 type veth peer name probe1",
		"link del probe0",
	} {
		if out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", line, err, strings.TrimSpace(string(out)))
		}
	}
	return nil
}
