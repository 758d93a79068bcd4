package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeadmapi "k8s.io/kubernetes/cmd/kubeadm/app/apis/kubeadm"
	kubeadm "k8s.io/kubernetes/cmd/kubeadm/app/phases/controlplane"
	"sigs.k8s.io/yaml"

	"berth.test/cluster/kubelet"
)

// host is a kubeadm control-plane node in a directory.
type host struct {
	*stage
	root string
}

func (h *host) path(name string) string { return filepath.Join(h.root, "etc/kubernetes", name) }

func (h *host) manifest() string { return h.path("manifests/kube-scheduler.yaml") }

// kube-scheduler's configuration on this node.
const schedulerConfig = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection:
  kubeconfig: /etc/kubernetes/scheduler.conf
leaderElection:
  leaderElect: true
profiles:
- schedulerName: default-scheduler
- schedulerName: packing
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}
`

// kubeadmHost writes the manifest with kubeadm's own code, either the default one or one with a configuration
// file.
func (s *stage) kubeadmHost(configured bool) (*host, error) {
	h := &host{s, s.kubelet.Host}
	if err := os.MkdirAll(h.path("manifests"), 0o700); err != nil {
		return nil, err
	}
	kubeconfig, err := s.control.WriteKubeconfig(s.control.URL, "scheduler", "cert")
	if err != nil {
		return nil, err
	}
	if err := os.Rename(kubeconfig, h.path("scheduler.conf")); err != nil {
		return nil, err
	}
	cluster := &kubeadmapi.ClusterConfiguration{KubernetesVersion: "v1.37.1", ImageRepository: "example"}
	if configured {
		if err := os.WriteFile(h.path("scheduler-config.yaml"), []byte(schedulerConfig), 0o600); err != nil {
			return nil, err
		}
		cluster.Scheduler.ExtraArgs = []kubeadmapi.Arg{{Name: "config", Value: "/etc/kubernetes/scheduler-config.yaml"}, {Name: "v", Value: "2"}}
		cluster.Scheduler.ExtraVolumes = []kubeadmapi.HostPathMount{{Name: "config", HostPath: "/etc/kubernetes/scheduler-config.yaml",
			MountPath: "/etc/kubernetes/scheduler-config.yaml", ReadOnly: true, PathType: v1.HostPathFile}}
	}
	kubeadmapi.SetActiveTimeouts(&kubeadmapi.Timeouts{ControlPlaneComponentHealthCheck: &metav1.Duration{Duration: 4 * time.Minute}})
	return h, kubeadm.CreateStaticPodFiles(h.path("manifests"), "", cluster, &kubeadmapi.APIEndpoint{}, false, "kube-scheduler")
}

// script runs deploy/static-pod/replace on the host.
func (h *host) script(ctx context.Context, args ...string) (string, error) {
	return h.shell(ctx, h.deploy+"/static-pod/replace", append([]string{"--manifests=" + h.path("manifests")}, args...)...)
}

// start runs the manifest in the manifests directory, and probes it.
func (h *host) start(ctx context.Context) (*kubelet.Container, error) {
	text, err := os.ReadFile(h.manifest())
	if err != nil {
		return nil, err
	}
	var pod v1.Pod
	if err := yaml.UnmarshalStrict(text, &pod); err != nil {
		return nil, err
	}
	started, err := h.kubelet.Run(ctx, &pod, kubelet.Loopback)
	if err != nil {
		return nil, err
	}
	if err := started.Healthy(ctx, stepTimeout); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, started.Logged())
	}
	return started, nil
}

// replace runs kube-scheduler, Berth as its replacement, and kube-scheduler again, as in
// docs/guide/replace.md.
func (s *stage) replace(ctx context.Context) error {
	// The schedulers use these ports on every control-plane node.
	for _, port := range []string{"10259", "10251"} {
		taken, err := net.Listen("tcp", kubelet.Loopback+":"+port)
		if err != nil {
			return fmt.Errorf("a port of kube-scheduler or Berth is needed: %w", err)
		}
		taken.Close()
	}
	for _, configured := range []bool{false, true} {
		h, err := s.kubeadmHost(configured)
		if err != nil {
			return err
		}
		name := "plain"
		if configured {
			name = "configured"
		}
		if err := h.thereAndBack(ctx, name, configured); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return s.checkGuide("replace.md")
}

func (h *host) thereAndBack(ctx context.Context, name string, configured bool) error {
	before, err := os.ReadFile(h.manifest())
	if err != nil {
		return err
	}
	for _, phase := range []struct{ name, line string }{{"before", ""}, {"replaced", program}, {"back", program + " --back"}} {
		if err := h.change(ctx, phase.line); err != nil {
			return err
		}
		if err := h.schedules(ctx, name+"-"+phase.name, configured, phase.name == "replaced"); err != nil {
			return fmt.Errorf("%s: %w", phase.name, err)
		}
		if phase.name == "replaced" {
			if err := h.needsRoot(ctx); err != nil {
				return err
			}
		}
	}
	after, err := os.ReadFile(h.manifest())
	if err != nil {
		return err
	}
	if string(after) != string(before) {
		h.AddError("%s: the manifest differs from the original:\n%s", name, after)
	}
	return h.onlyManifest()
}

// program is the script's name in the guide.
const program = "deploy/static-pod/replace"

// change runs the script like the guide: --check, --dry-run, the change, and the same again.
func (h *host) change(ctx context.Context, line string) error {
	if line == "" {
		return nil
	}
	if err := h.shows(ctx, program+" --check", "the scheduler is "); err != nil {
		return err
	}
	text, _ := os.ReadFile(h.manifest())
	if err := h.shows(ctx, line+" --dry-run", "image: "); err != nil {
		return err
	}
	if tried, _ := os.ReadFile(h.manifest()); string(tried) != string(text) {
		h.AddError("%s --dry-run has changed the manifest", line)
	}
	if err := h.shows(ctx, line, "the kubelet restarts the pod now"); err != nil {
		return err
	}
	done, _ := os.ReadFile(h.manifest())
	if err := h.shows(ctx, line, "nothing to do"); err != nil {
		return err
	}
	if twice, _ := os.ReadFile(h.manifest()); string(twice) != string(done) {
		h.AddError("%s a second time has changed the manifest", line)
	}
	return h.onlyManifest()
}

// onlyManifest checks that the directory contains no other file, which the kubelet would run.
func (h *host) onlyManifest() error {
	files, err := os.ReadDir(h.path("manifests"))
	if err == nil && len(files) != 1 {
		h.AddError("in the manifests folder: %v", files)
	}
	return err
}

// schedules runs the current manifest: the scheduler must hold the lease, schedule pods of each profile and
// exit in an orderly way.
func (h *host) schedules(ctx context.Context, pod string, configured, berth bool) error {
	scheduler, err := h.start(ctx)
	if err != nil {
		return err
	}
	defer func() {
		// kube-scheduler exits with 1 when it loses the lease, which also happens when it is terminated.
		if how := scheduler.Child.Stop(); how != "" && berth {
			h.AddError("%s: Berth exited with %s", pod, how)
		}
	}()
	profiles := []string{"default-scheduler"}
	if configured {
		profiles = append(profiles, "packing")
	}
	for _, profile := range profiles {
		if _, err := h.placed(ctx, pod+"-"+profile, profile); err != nil {
			return fmt.Errorf("%w\n%s", err, scheduler.Logged())
		}
	}
	if err := h.shows(ctx, "kubectl -n kube-system get lease kube-scheduler", "master1_"); err != nil {
		return err
	}
	if berth {
		if err := h.shows(ctx, "kubectl --server=https://127.0.0.1:10259 --insecure-skip-tls-verify get --raw /metrics | grep ^berth_pending_pods", `{cause="new",queue="active"} 0`); err != nil {
			return err
		}
	}
	if is := strings.Contains(scheduler.Logged(), "All writes of the previous leader have been received"); is != berth {
		h.AddError("%s: is it Berth? %v; it should be %v", pod, is, berth)
	}
	if berth && strings.Contains(scheduler.Logged(), "forbidden") {
		h.AddError("%s: something is forbidden to it:\n%s", pod, scheduler.Logged())
	}
	return nil
}

// needsRoot checks that runAsUser is necessary: the image's default user cannot read scheduler.conf.
func (h *host) needsRoot(ctx context.Context) error {
	if os.Getuid() != 0 {
		return nil // only root exists here
	}
	text, err := os.ReadFile(h.manifest())
	if err != nil {
		return err
	}
	const line = "    runAsUser: 0  # added for Berth\n"
	var pod v1.Pod
	if err := yaml.UnmarshalStrict([]byte(strings.Replace(string(text), line, "", 1)), &pod); err != nil {
		return err
	}
	if pod.Spec.SecurityContext.RunAsUser != nil {
		return errors.New("runAsUser is not where it is expected")
	}
	refused, err := h.kubelet.Run(ctx, &pod, kubelet.Loopback)
	if err != nil {
		return err
	}
	code, ended := refused.Child.Exited(10 * time.Second)
	if !ended || code == 0 || !strings.Contains(refused.Logged(), "permission denied") {
		h.AddError("without runAsUser it should end for want of scheduler.conf (%v, %d): %s", ended, code, refused.Logged())
		refused.Child.Stop()
	}
	return nil
}
