// Package kubelet plays one: it runs the containers of pods as processes, by what their manifests say.
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

// Kubelet runs the first container of each pod: in a root directory of its own with the mounts, the environment, the names, the
// user and the restrictions that it would have. The network is the machine's.
type Kubelet struct {
	Control  *controlplane.ControlPlane
	Children *controlplane.Children
	Images   map[string]Image  // by the last part of their names, without tag
	Host     string            // what hostPath volumes are taken from
	Names    map[string]string // cluster DNS: name, address
}

// Image is one that is on the node.
type Image struct {
	Program    string
	EntryPoint string
	Links      []string // further names of the entry point
	User       int64
}

// Berth is Berth's image around a program: links by the names that manifests call their schedulers, and a user who is not root.
func Berth(program string) Image {
	return Image{program, "berth", []string{"kube-scheduler", "sample-scheduler-framework"}, 65532}
}

// Loopback is the address of pods in the host's network.
const Loopback = "127.0.0.1"

// Container is one that runs.
type Container struct {
	Name    string
	Child   *controlplane.Child
	Address string
	log     string
	spec    v1.Container
}

// controlPlaneNode is where static pods run.
const controlPlaneNode = "master1"

// enter builds the root directory out of the machine's programs and libraries and what is bound into it, and goes there. The
// mounts are in a namespace of their own and vanish with the process.
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

// Run starts the first container of a pod. A pod that is not in the host's network is told its address, and what else has to be
// different where all share one network, by more arguments.
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

// namespace is what a process in namespaces of its own, for mounts and the host's name, is started by; without being root, as
// the root of a user namespace.
func namespace() []string {
	if os.Getuid() == 0 {
		return []string{"unshare", "--mount", "--uts"}
	}
	return []string{"unshare", "--map-root-user", "--mount", "--uts"}
}

// restrictions are the words for enter: what no new privileges are prevented by, how the root directory is mounted, who the
// process is. Whoever is not root loses all capabilities with that. In a user namespace there is nobody but root.
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

// unpack lays out the files that an image has.
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
	// Below /usr, which is bound before: they need no place to be made.
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

// Healthy waits until the probes of a container are answered, as a kubelet asks them: over HTTPS, of whatever certificate.
func (c *Container) Healthy(ctx context.Context, patience time.Duration) error {
	for _, probe := range []*v1.Probe{c.spec.StartupProbe, c.spec.LivenessProbe, c.spec.ReadinessProbe} {
		if probe == nil {
			continue
		}
		err := controlplane.Until(ctx, patience, c.url(probe)+" to answer", func() (bool, error) {
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

// answers asks a probe once.
func (c *Container) answers(probe *v1.Probe) bool {
	answer, err := prober.Get(c.url(probe))
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// url is where a probe asks: a port may be called by its name, a host may be named.
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

// Logged is what it has written so far.
func (c *Container) Logged() string {
	text, _ := os.ReadFile(c.log)
	return string(text)
}
