// Package kubelet simulates a kubelet: it runs the containers of pods as processes, according to their
// manifests.
package kubelet

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"berth.test/cluster/controlplane"
)

// Kubelet runs the first container of each pod in its own root directory, with the mounts, the environment,
// the names, the user and the restrictions of the pod. It uses the machine's network.
type Kubelet struct {
	Control  *controlplane.ControlPlane
	Children *controlplane.Children
	Images   map[string]Image  // by the last part of their names, without tag
	Host     string            // directory for hostPath volumes
	Names    map[string]string // cluster DNS: name, address
}

// Image is a container image on the node.
type Image struct {
	Program    string
	EntryPoint string
	Links      []string // further names of the entry point
	RootLinks  []string // names of the entry point in the root directory, which is the working directory
	User       int64
}

// Berth is Berth's image with this program: links for the program names in manifests, and a nonroot user.
func Berth(program string) Image {
	return Image{program, "berth", []string{"kube-scheduler", "sample-scheduler-framework", "custom-scheduler"}, []string{"custom-scheduler"}, 65532}
}

// Loopback is the address of pods in the host's network.
const Loopback = "127.0.0.1"

// Container is a running container.
type Container struct {
	Name    string
	Child   *controlplane.Child
	Address string
	log     string
	spec    v1.Container
}

// controlPlaneNode is the node of static pods.
const controlPlaneNode = "master1"

// enter builds the root directory from the machine's programs and libraries and the bound files, and enters
// it. The mounts are in a separate namespace and vanish with the process.
const enter = `set -eu
root=$1 binds=$2 name=$3 privileges=$4 mode=$5 user=$6; shift 6
hostname "$name"
mount --bind "$root" "$root"
for name in usr bin sbin lib lib32 lib64 proc dev; do
  if [ -L "/$name" ]; then ln -sfn "$(readlink "/$name")" "$root/$name"
  elif [ -d "/$name" ]; then mkdir -p "$root/$name"; mount --rbind "/$name" "$root/$name"; fi
done
while read -r from to; do mount --bind "$from" "$root$to"; done <"$binds"
if [ "$mode" = ro ]; then mount -o remount,bind,ro "$root"; fi
exec $privileges chroot $user "$root" /usr/bin/env -i "$@"
`

// Run starts the first container of a pod. `address` replaces the address of a pod that is not in the host's
// network; `more` are additional arguments, needed because all pods share one network.
func (k *Kubelet) Run(ctx context.Context, pod *v1.Pod, address string, more ...string) (*Container, error) {
	spec := pod.Spec.Containers[0]
	root, err := os.MkdirTemp(k.Control.Directory, pod.Name+"-")
	if err != nil {
		return nil, err
	}
	image, there := k.Images[baseName(spec.Image)]
	if !there {
		return nil, fmt.Errorf("pod %s: there is no image %s", pod.Name, spec.Image)
	}
	files := &rootfs{root: root + "/root", volumes: root + "/volumes"}
	if err := k.unpack(image, files); err != nil {
		return nil, err
	}
	if err := k.mounts(ctx, pod, files); err != nil {
		return nil, fmt.Errorf("pod %s: %w", pod.Name, err)
	}
	host, port, _ := strings.Cut(strings.TrimPrefix(k.Control.URL, "https://"), ":")
	command := []string{"PATH=/usr/local/bin:/usr/bin", "KUBERNETES_SERVICE_HOST=" + host, "KUBERNETES_SERVICE_PORT=" + port}
	if len(spec.Command) > 0 {
		command = append(command, spec.Command...)
	} else {
		command = append(command, image.EntryPoint)
	}
	command = append(append(command, spec.Args...), more...)
	hostname := pod.Name
	if pod.Spec.HostNetwork {
		hostname = controlPlaneNode
	}
	binds := root + "/binds"
	if err := os.WriteFile(binds, []byte(strings.Join(files.binds, "\n")+"\n"), 0o600); err != nil {
		return nil, err
	}
	limits, err := restrictions(pod, image)
	if err != nil {
		return nil, fmt.Errorf("pod %s: %w", pod.Name, err)
	}
	started := &Container{Name: filepath.Base(root), Address: address, spec: spec, log: k.Control.File(filepath.Base(root) + ".log")}
	entry := append([]string{"sh", "-c", enter, "sh", files.root, binds, hostname}, limits...)
	started.Child, err = k.Children.Start(started.Name, namespace(), append(entry, command...)...)
	return started, err
}

// baseName is the last part of an image's name, without tag or digest.
func baseName(image string) string {
	image = image[strings.LastIndex(image, "/")+1:]
	image, _, _ = strings.Cut(image, "@")
	image, _, _ = strings.Cut(image, ":")
	return image
}

// namespace is the command prefix that starts a process in new mount and host name namespaces; without root
// permissions, as root of a user namespace.
func namespace() []string {
	if os.Getuid() == 0 {
		return []string{"unshare", "--mount", "--uts"}
	}
	return []string{"unshare", "--map-root-user", "--mount", "--uts"}
}

// restrictions are the arguments of enter: no new privileges, the mode of the root directory, the user. A
// nonroot user loses all capabilities. In a user namespace only root exists.
func restrictions(pod *v1.Pod, image Image) ([]string, error) {
	user, privileges, mode := image.User, "", "rw"
	var must bool
	if context := pod.Spec.SecurityContext; context != nil {
		must = context.RunAsNonRoot != nil && *context.RunAsNonRoot
		if context.RunAsUser != nil {
			user = *context.RunAsUser
		}
	}
	if context := pod.Spec.Containers[0].SecurityContext; context != nil {
		if context.RunAsUser != nil {
			user = *context.RunAsUser
		}
		if context.AllowPrivilegeEscalation != nil && !*context.AllowPrivilegeEscalation {
			privileges = "setpriv --no-new-privs"
		}
		if context.ReadOnlyRootFilesystem != nil && *context.ReadOnlyRootFilesystem {
			mode = "ro"
		}
	}
	if must && user == 0 {
		return nil, fmt.Errorf("has runAsNonRoot and would run as root")
	}
	who := ""
	if os.Getuid() == 0 {
		who = fmt.Sprintf("--groups= --userspec=%d:%d", user, user)
	}
	return []string{privileges, mode, who}, nil
}

// unpack writes the image's files.
func (k *Kubelet) unpack(image Image, files *rootfs) error {
	bin := files.volumes + "/image"
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(bin+"/"+image.EntryPoint, nil, 0o755); err != nil {
		return err
	}
	for _, link := range image.Links {
		if err := os.Symlink(image.EntryPoint, bin+"/"+link); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(files.root, 0o755); err != nil {
		return err
	}
	for _, link := range image.RootLinks {
		if err := os.Symlink("/usr/local/bin/"+image.EntryPoint, files.root+"/"+link); err != nil {
			return err
		}
	}
	// Below /usr, which is bound first, so the mount point exists.
	files.bind(bin, "/usr/local/bin")
	files.bind(image.Program, "/usr/local/bin/"+image.EntryPoint)
	hosts := "127.0.0.1 localhost\n"
	for name, address := range k.Names {
		hosts += address + " " + name + "\n"
	}
	for name, text := range map[string]string{"hosts": hosts, "nsswitch.conf": "hosts: files\n", "passwd": "root:x:0:0::/:/bin/sh\n"} {
		if err := files.write("/etc/"+name, text); err != nil {
			return err
		}
	}
	return os.MkdirAll(files.root+"/tmp", 0o777)
}

// Healthy waits until the container's probes succeed. Like a kubelet it accepts any certificate over HTTPS.
func (c *Container) Healthy(ctx context.Context, stepTimeout time.Duration) error {
	for _, probe := range []*v1.Probe{c.spec.StartupProbe, c.spec.LivenessProbe, c.spec.ReadinessProbe} {
		if probe == nil {
			continue
		}
		err := controlplane.Until(ctx, stepTimeout, c.url(probe)+" to answer", func() (bool, error) {
			if !c.Child.Running() {
				return false, c.Child.Gone()
			}
			return c.answers(probe), nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

var prober = &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}

// answers sends one probe.
func (c *Container) answers(probe *v1.Probe) bool {
	answer, err := prober.Get(c.url(probe))
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// url is the address of a probe; ports may be named, and a host may be set.
func (c *Container) url(probe *v1.Probe) string {
	host, port := c.Address, probe.HTTPGet.Port.String()
	if probe.HTTPGet.Host != "" {
		host = probe.HTTPGet.Host
	}
	for _, named := range c.spec.Ports {
		if probe.HTTPGet.Port.Type == intstr.String && named.Name == port {
			port = strconv.Itoa(int(named.ContainerPort))
		}
	}
	return strings.ToLower(string(probe.HTTPGet.Scheme)) + "://" + net.JoinHostPort(host, port) + probe.HTTPGet.Path
}

// Logged is the output so far.
func (c *Container) Logged() string {
	text, _ := os.ReadFile(c.log)
	return string(text)
}
