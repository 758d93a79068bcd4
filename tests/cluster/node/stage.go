package main

import (
	"context"
	"crypto/x509/pkix"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeadmapi "k8s.io/kubernetes/cmd/kubeadm/app/apis/kubeadm"
	kubeadm "k8s.io/kubernetes/cmd/kubeadm/app/phases/controlplane"
	"k8s.io/kubernetes/cmd/kubeadm/app/phases/kubeconfig"

	"berth.test/cluster/controlplane"
)

// stepTimeout is the timeout of a step. A lease that is not released lasts 15 s; the kubelet restarts a container that ends
// repeatedly after 10, 20 and 40 s.
const stepTimeout = 90 * time.Second

const (
	system        = "kube-system"
	manifests     = "/etc/kubernetes/manifests"
	manifest      = manifests + "/kube-scheduler.yaml"
	schedulerPod  = "kube-scheduler-" + nodeName
	schedulerConf = "/etc/kubernetes/scheduler.conf"
	containerd    = "/run/containerd/containerd.sock"
)

// stage is the node with its control plane.
type stage struct {
	*options
	controlplane.Errors
	directory string
	group     cgroup
	children  *controlplane.Children
	control   *controlplane.ControlPlane

	kubeletStarted time.Time
}

// runNode starts the node and runs all scenarios, each on what the previous one has left.
func runNode(ctx context.Context, o *options, directory string, group cgroup) error {
	s := &stage{options: o, directory: directory, group: group, children: &controlplane.Children{Directory: directory}}
	// kubectl, ctr and containerd, which finds its shim and runc by the path.
	if err := os.Setenv("PATH", strings.Join([]string{directory, o.runtime + "/usr/bin", o.runtime + "/usr/sbin", os.Getenv("PATH")}, ":")); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{s.startControlPlane, s.startRuntime, s.importImages, s.writeHost, s.startKubelet} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	for _, one := range scenarios {
		// Without the state that a scenario leaves, the next one would only wait.
		play := controlplane.Scenario{Name: one.name, Play: func(ctx context.Context) []string { return s.TakeErrors(one.play(s, ctx)) }}
		if err := controlplane.PlayScenarios(ctx, "", []controlplane.Scenario{play}); err != nil {
			return err
		}
	}
	return nil
}

// startControlPlane starts etcd, kube-apiserver, which may read logs from the kubelet, and the controllers of Deployments and of
// service accounts.
func (s *stage) startControlPlane(ctx context.Context) error {
	readers, err := controlplane.NewAuthority()
	if err != nil {
		return err
	}
	if err := os.WriteFile(s.file("kubelet-clients-ca.crt"), readers.PEM, 0o644); err != nil {
		return err
	}
	reader, err := readers.Sign(pkix.Name{CommonName: "kube-apiserver-kubelet-client", Organization: []string{"system:masters"}}, false)
	if err != nil {
		return err
	}
	if err := reader.Write(s.directory, "kubelet-client"); err != nil {
		return err
	}
	if s.control, err = controlplane.Start(ctx, s.Real, s.directory, s.children,
		"--authorization-mode=Node", "--enable-admission-plugins=NodeRestriction",
		"--kubelet-preferred-address-types=InternalIP",
		// The taint of a new node is removed by a controller that would also taint the nodes without a kubelet.
		"--disable-admission-plugins=TaintNodesByCondition",
		"--kubelet-client-certificate="+s.file("kubelet-client.crt"), "--kubelet-client-key="+s.file("kubelet-client.key"),
	); err != nil {
		return err
	}
	if _, err := controlplane.StartTCPProxyAt(controlplane.ServiceAddress+":443", strings.TrimPrefix(s.control.URL, "https://")); err != nil {
		return err
	}
	if _, err := s.control.StartControllers("deployment-controller", "replicaset-controller", "garbage-collector-controller",
		"serviceaccount-controller", "root-ca-certificate-publisher-controller"); err != nil {
		return err
	}
	if err := controlplane.Until(ctx, stepTimeout, "the default service account", func() (bool, error) {
		_, err := s.control.Client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err == nil, nil
	}); err != nil {
		return err
	}
	return os.Symlink(s.Real, s.file("kubectl"))
}

func (s *stage) file(name string) string { return filepath.Join(s.directory, name) }

// startRuntime starts containerd with a network for pods. Sockets and state are in the node's own /run.
func (s *stage) startRuntime(ctx context.Context) error {
	const network = `{"cniVersion": "1.0.0", "name": "pods", "plugins": [{"type": "bridge", "bridge": "cni0", "isGateway": true,
 "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.85.0.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]}}]}`
	config := fmt.Sprintf(`version = 2
root = %q
state = "/run/containerd"
[grpc]
address = %q
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = %q
restrict_oom_score_adj = %v
[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "overlayfs"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = %q
conf_dir = "/etc/cni/net.d"
`, s.file("containerd"), containerd, pauseImage, !mayLowerOOMScore(), filepath.Join(s.runtime, "usr/lib/cni"))
	if err := os.MkdirAll("/etc/cni/net.d", 0o755); err != nil {
		return err
	}
	if err := os.WriteFile("/etc/cni/net.d/10-pods.conflist", []byte(network), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(s.file("containerd.toml"), []byte(config), 0o644); err != nil {
		return err
	}
	child, err := s.children.Start("containerd", []string{"containerd"}, "--config="+s.file("containerd.toml"))
	if err != nil {
		return err
	}
	return controlplane.Until(ctx, stepTimeout, "containerd", func() (bool, error) {
		if !child.Running() {
			return false, child.Gone()
		}
		connection, err := net.Dial("unix", containerd)
		if err != nil {
			return false, nil
		}
		return true, connection.Close()
	})
}

func (s *stage) ctr(ctx context.Context, args ...string) (string, error) {
	return s.command(ctx, append([]string{"ctr", "-n", "k8s.io"}, args...)...)
}

func (s *stage) importImages(ctx context.Context) error {
	for _, image := range []string{pauseImage, schedulerImage, berthImage, nextBerthImage} {
		if _, err := s.ctr(ctx, "images", "import", archive(s.directory, image)); err != nil {
			return err
		}
	}
	return nil
}

// writeHost writes what kubeadm writes on a control-plane node for kube-scheduler, with kubeadm's own code.
func (s *stage) writeHost(context.Context) error {
	authority, err := s.control.Authority.Pair()
	if err != nil {
		return err
	}
	const certificates = "/etc/kubernetes/pki"
	for _, directory := range []string{certificates, manifests} {
		if err := os.MkdirAll(directory, 0o700); err != nil {
			return err
		}
	}
	if err := authority.Write(certificates, "ca"); err != nil {
		return err
	}
	cluster := kubeadmapi.ClusterConfiguration{KubernetesVersion: "v1.37.1", ImageRepository: "example.test", CertificatesDir: certificates, ClusterName: "kubernetes"}
	var port int32
	if _, err := fmt.Sscanf(s.control.URL, "https://127.0.0.1:%d", &port); err != nil {
		return fmt.Errorf("%s: %w", s.control.URL, err)
	}
	endpoint := kubeadmapi.APIEndpoint{AdvertiseAddress: "127.0.0.1", BindPort: port}
	kubeadmapi.SetActiveTimeouts(&kubeadmapi.Timeouts{ControlPlaneComponentHealthCheck: &metav1.Duration{Duration: 4 * time.Minute}})
	initial := &kubeadmapi.InitConfiguration{ClusterConfiguration: cluster, LocalAPIEndpoint: endpoint, NodeRegistration: kubeadmapi.NodeRegistrationOptions{Name: nodeName}}
	for _, name := range []string{"scheduler.conf", "kubelet.conf"} {
		if err := kubeconfig.CreateKubeConfigFile(name, "/etc/kubernetes", initial); err != nil {
			return err
		}
	}
	return kubeadm.CreateStaticPodFiles(manifests, "", &cluster, &endpoint, false, "kube-scheduler")
}

// startKubelet starts the kubelet, and returns when the node is ready.
func (s *stage) startKubelet(ctx context.Context) error {
	clients := append([]byte(nil), s.control.Authority.PEM...)
	readers, err := os.ReadFile(s.file("kubelet-clients-ca.crt"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(s.file("clients.crt"), append(clients, readers...), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(s.file("resolv.conf"), []byte("nameserver 127.0.0.1\n"), 0o644); err != nil {
		return err
	}
	// kubeadm's values, except for the group, the driver (no systemd runs here) and the thresholds for a full disk.
	config := fmt.Sprintf(`apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
staticPodPath: %s
containerRuntimeEndpoint: unix://%s
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: %s}}
authorization: {mode: Webhook}
cgroupDriver: cgroupfs
cgroupRoot: %s
failCgroupV1: %v
failSwapOn: false
evictionHard: {memory.available: 1Mi, nodefs.available: 0%%, nodefs.inodesFree: 0%%, imagefs.available: 0%%, imagefs.inodesFree: 0%%}
imageGCHighThresholdPercent: 100
resolvConf: %s
volumePluginDir: /var/lib/kubelet/volumeplugins
`, manifests, containerd, s.file("clients.crt"), s.group, isUnified(), s.file("resolv.conf"))
	if err := os.WriteFile(s.file("kubelet.yaml"), []byte(config), 0o644); err != nil {
		return err
	}
	s.kubeletStarted = time.Now()
	child, err := s.children.Start("kubelet", []string{s.kubelet}, "--config="+s.file("kubelet.yaml"), "--v=2",
		"--kubeconfig=/etc/kubernetes/kubelet.conf", "--node-ip="+nodeAddress)
	if err != nil {
		return err
	}
	return controlplane.Until(ctx, stepTimeout, "the node to be ready", func() (bool, error) {
		if !child.Running() {
			return false, child.Gone()
		}
		node, err := s.control.Client.CoreV1().Nodes().Get(ctx, nodeName, metav1.GetOptions{})
		if err != nil {
			return false, nil
		}
		for _, condition := range node.Status.Conditions {
			if condition.Type == v1.NodeReady {
				return condition.Status == v1.ConditionTrue, nil
			}
		}
		return false, nil
	})
}

// command runs a program and returns its output; a failure is an error with the output.
func (s *stage) command(ctx context.Context, line ...string) (string, error) {
	command := exec.CommandContext(ctx, line[0], line[1:]...)
	command.Dir = s.tree
	command.Env = append(os.Environ(), "KUBECONFIG="+s.control.AdminKubeconfig)
	out, err := command.CombinedOutput()
	if s.verbose {
		fmt.Printf("$ %s\n%s", strings.Join(line, " "), out)
	}
	if err != nil {
		return string(out), fmt.Errorf("%s: %w: %s", strings.Join(line, " "), err, strings.TrimSpace(string(out)))
	}
	return string(out), nil
}
