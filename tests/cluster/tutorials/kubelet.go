package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"berth.test/cluster/controlplane"
)

// kubelet runs containers of pods as processes: each in a root directory of its own with the mounts, the environment and
// the names that a container would have. The network is the machine's.
type kubelet struct {
	control  *controlplane.ControlPlane
	children *controlplane.Children
	berth    string
	host     string            // what hostPath volumes are taken from
	names    map[string]string // cluster DNS: name, address
}

// container is one that runs.
type container struct {
	name  string
	child *controlplane.Child
	log   string
	spec  v1.Container
}

// The image has berth as its entry point, and links by the names that manifests call their schedulers.
var links = []string{"kube-scheduler", "sample-scheduler-framework"}

const entryPoint = "berth"

// controlPlaneNode is where static pods run.
const controlPlaneNode = "master1"

// enter builds the root directory out of the machine's programs and libraries and what is bound into it, and goes there. The
// mounts are in a namespace of their own and vanish with the process.
const enter = `set -eu
root=$1 binds=$2 name=$3; shift 3
hostname "$name"
for name in usr bin sbin lib lib32 lib64 proc dev; do
  if [ -L "/$name" ]; then ln -sfn "$(readlink "/$name")" "$root/$name"
  elif [ -d "/$name" ]; then mkdir -p "$root/$name"; mount --rbind "/$name" "$root/$name"; fi
done
while read -r from to; do mount --bind "$from" "$root$to"; done <"$binds"
exec chroot "$root" /usr/bin/env -i "$@"
`

// run starts the first container of a pod.
func (k *kubelet) run(ctx context.Context, pod *v1.Pod) (*container, error) {
	spec := pod.Spec.Containers[0]
	root, err := os.MkdirTemp(k.control.Directory, pod.Name+"-")
	if err != nil {
		return nil, err
	}
	files := &rootfs{root: root + "/root", volumes: root + "/volumes"}
	if err := k.image(files); err != nil {
		return nil, err
	}
	if err := k.mounts(ctx, pod, files); err != nil {
		return nil, fmt.Errorf("pod %s: %w", pod.Name, err)
	}
	host, port, _ := strings.Cut(strings.TrimPrefix(k.control.URL, "https://"), ":")
	command := []string{"PATH=/usr/local/bin:/usr/bin", "KUBERNETES_SERVICE_HOST=" + host, "KUBERNETES_SERVICE_PORT=" + port}
	if len(spec.Command) > 0 {
		command = append(command, spec.Command...)
	} else {
		command = append(command, entryPoint)
	}
	hostname := pod.Name
	if pod.Spec.HostNetwork {
		hostname = controlPlaneNode
	}
	binds := root + "/binds"
	if err := os.WriteFile(binds, []byte(strings.Join(files.binds, "\n")+"\n"), 0o600); err != nil {
		return nil, err
	}
	started := &container{name: filepath.Base(root), spec: spec, log: k.control.File(filepath.Base(root) + ".log")}
	started.child, err = k.children.Start(started.name, namespace(), append(append([]string{"sh", "-c", enter, "sh", files.root, binds, hostname}, command...), spec.Args...)...)
	return started, err
}

// namespace is what a process in namespaces of its own, for mounts and the host's name, is started by; without being root, as
// the root of a user namespace.
func namespace() []string {
	if os.Getuid() == 0 {
		return []string{"unshare", "--mount", "--uts"}
	}
	return []string{"unshare", "--map-root-user", "--mount", "--uts"}
}

// image lays out the files that the container's image has.
func (k *kubelet) image(files *rootfs) error {
	bin := files.volumes + "/image"
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(bin+"/"+entryPoint, nil, 0o755); err != nil {
		return err
	}
	for _, link := range links {
		if err := os.Symlink(entryPoint, bin+"/"+link); err != nil {
			return err
		}
	}
	// Below /usr, which is bound before: they need no place to be made.
	files.bind(bin, "/usr/local/bin")
	files.bind(k.berth, "/usr/local/bin/"+entryPoint)
	hosts := "127.0.0.1 localhost\n"
	for name, address := range k.names {
		hosts += address + " " + name + "\n"
	}
	for name, text := range map[string]string{"hosts": hosts, "nsswitch.conf": "hosts: files\n", "passwd": "root:x:0:0::/:/bin/sh\n"} {
		if err := files.write("/etc/"+name, text); err != nil {
			return err
		}
	}
	return os.MkdirAll(files.root+"/tmp", 0o777)
}

// healthy waits until the probes of a container are answered, as a kubelet asks them: over HTTPS, of whatever certificate.
func (c *container) healthy(ctx context.Context) error {
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	for _, probe := range []*v1.Probe{c.spec.StartupProbe, c.spec.LivenessProbe, c.spec.ReadinessProbe} {
		if probe == nil {
			continue
		}
		url := fmt.Sprintf("%s://127.0.0.1:%s%s", strings.ToLower(string(probe.HTTPGet.Scheme)), probe.HTTPGet.Port.String(), probe.HTTPGet.Path)
		err := controlplane.Until(ctx, patience, url+" to answer", func() (bool, error) {
			if !c.child.Running() {
				return false, c.child.Gone()
			}
			answer, err := client.Get(url)
			if err != nil {
				return false, nil
			}
			defer answer.Body.Close()
			return answer.StatusCode == http.StatusOK, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *container) logged() string {
	text, _ := os.ReadFile(c.log)
	return string(text)
}
