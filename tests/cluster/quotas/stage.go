package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"berth.test/cluster/controlplane"
)

const (
	patience = 20 * time.Second
	// quiet is how long the bound pods must stay the same; longer than the longest back-off.
	quiet = 3 * time.Second
)

// namespaces of the scenarios and of the guide; each has the service account "default".
var namespaces = []string{"a", "b", "c", "research", "products"}

type scenario struct {
	name string
	play func(s *stage)
}

// stage is a cluster and the objects of the current scenario.
type stage struct {
	*controlplane.ControlPlane
	ctx     context.Context
	options *options
	port    int    // the scheduler's secure port
	plain   string // the address of berth's own server
	config  string // the scheduler's configuration file
	// delayed: the scheduler may decide with former quotas after it has received newer ones.
	delayed bool
}

func (s *stage) check(err error) { controlplane.Must(err) }

// try plays a scenario and removes its objects.
func (s *stage) try(one scenario) error {
	return errors.Join(controlplane.Played(func() { one.play(s) }), s.clean())
}

// clean removes the pods before the quotas: the plugin of scheduler-plugins forgets what the pods of a namespace use
// together with its quota.
func (s *stage) clean() error {
	_, err := s.Kubectl(s.ctx, nil, "delete", "--all", "--all-namespaces", "--force", "--grace-period=0",
		"pods,elasticquotas.scheduling.x-k8s.io,nodes")
	return err
}

// install creates the definition of ElasticQuotas, berth's roles, namespaces and priorities.
func (s *stage) install() error {
	for _, args := range [][]string{
		{"apply", "-f", s.options.crd},
		{"wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"},
		{"apply", "-k", s.options.roles},
		{"apply", "-f", filepath.Join(s.options.roles, "quotas.yaml")},
	} {
		if _, err := s.Kubectl(s.ctx, nil, args...); err != nil {
			return err
		}
	}
	if err := s.Apply(s.ctx, priorities); err != nil {
		return err
	}
	for _, class := range []string{"high", "never"} {
		if err := s.AwaitPriorityClass(s.ctx, class); err != nil {
			return err
		}
	}
	for _, name := range namespaces {
		space := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := s.Client.CoreV1().Namespaces().Create(s.ctx, space, metav1.CreateOptions{}); err != nil {
			return err
		}
		account := &v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
		if _, err := s.Client.CoreV1().ServiceAccounts(name).Create(s.ctx, account, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// start runs the scheduler: berth with the shipped roles, the reference as an administrator.
func (s *stage) start(children *controlplane.Children, scheduler scheduler) error {
	kubeconfig, err := s.kubeconfigFor(scheduler)
	if err != nil {
		return err
	}
	s.config = s.File(scheduler.name + ".yaml")
	if err := os.WriteFile(s.config, fmt.Appendf(nil, configuration, kubeconfig), 0o600); err != nil {
		return err
	}
	ports, err := controlplane.FreePorts(2)
	if err != nil {
		return err
	}
	s.port, s.plain = ports[0], fmt.Sprintf("127.0.0.1:%d", ports[1])
	args := []string{"--config=" + s.config, "--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", s.port),
		"--authentication-kubeconfig=" + s.AdminKubeconfig, "--authorization-kubeconfig=" + s.AdminKubeconfig, "-v=3"}
	if !scheduler.isReference {
		args = append(args, "--berth-http-address="+s.plain, "--berth-http-metrics")
	}
	_, err = children.Start(scheduler.name, scheduler.command, args...)
	return err
}

func (s *stage) kubeconfigFor(scheduler scheduler) (string, error) {
	if scheduler.isReference {
		return s.WriteKubeconfig(s.URL, scheduler.name, "admin")
	}
	token, err := s.Client.CoreV1().ServiceAccounts("kube-system").CreateToken(s.ctx, "berth",
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	return s.WriteTokenKubeconfig(s.URL, scheduler.name, token.Status.Token)
}

const configuration = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: %s, qps: 5000, burst: 5000}
leaderElection: {leaderElect: false}
podMaxBackoffSeconds: 2
profiles:
- schedulerName: default-scheduler
  plugins:
    multiPoint: {enabled: [{name: CapacityScheduling}]}
    postFilter: {enabled: [{name: CapacityScheduling}], disabled: [{name: "*"}]}
`

const priorities = `apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 100
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: never}
value: 0
preemptionPolicy: Never`

// create creates quotas before the other objects: a scheduler receives each kind on a watch of its own, and would decide on a
// pod whose quota it has not received yet.
func (s *stage) create(manifests ...string) {
	var quotas, others []string
	for _, manifest := range manifests {
		if strings.Contains(manifest, "ElasticQuota") {
			quotas = append(quotas, manifest)
		} else {
			others = append(others, manifest)
		}
	}
	if len(quotas) > 0 {
		s.check(s.Apply(s.ctx, quotas...))
		s.check(controlplane.Pause(s.ctx, time.Second))
	}
	if len(others) > 0 {
		s.check(s.Apply(s.ctx, others...))
	}
}

func (s *stage) node(name string, resources ...string) {
	s.check(s.CreateNode(s.ctx, controlplane.ReadyNode(name, controlplane.Resources(append(resources, "pods", "110")...))))
}

func (s *stage) delete(namespace, pod string) {
	_, err := s.Kubectl(s.ctx, nil, "delete", "--force", "--grace-period=0", "--namespace="+namespace, "pod", pod)
	s.check(err)
}

// bound waits until these pods have a node, and as many others of each namespace as `others` says, and that it stays so.
func (s *stage) bound(others map[string]int, names ...string) {
	what := fmt.Sprintf("%q and %v others bound", names, others)
	holds := func(now []string) bool {
		counts := map[string]int{}
		for _, name := range now {
			if !slices.Contains(names, name) {
				counts[name[:strings.Index(name, "/")]]++
			}
		}
		for _, name := range names {
			if !slices.Contains(now, name) {
				return false
			}
		}
		return fmt.Sprint(counts) == fmt.Sprint(others)
	}
	if s.delayed && s.UntilBound(s.ctx, 4*time.Second, what, holds) != nil {
		s.wake()
	}
	s.check(s.UntilBoundFor(s.ctx, quiet, patience, what, holds))
}

// wake changes an annotation of all quotas, which makes the scheduler retry rejected pods. The plugin of
// scheduler-plugins reads quotas and pods from caches of its own: if those are behind the event that wakes a pod, it
// rejects the pod for a former state, and nothing wakes it again.
func (s *stage) wake() {
	_, err := s.Kubectl(s.ctx, nil, "annotate", "--all", "--all-namespaces", "--overwrite", "elasticquotas",
		fmt.Sprintf("woken=%d", time.Now().UnixNano()))
	s.check(err)
}

// rejected waits until the scheduler has rejected the pod.
func (s *stage) rejected(namespace, name string) {
	s.check(controlplane.Until(s.ctx, patience, "the rejection of "+name, func() (bool, error) {
		pod, err := s.Client.CoreV1().Pods(namespace).Get(s.ctx, name, metav1.GetOptions{})
		return err == nil && slices.ContainsFunc(pod.Status.Conditions, func(c v1.PodCondition) bool {
			return c.Type == v1.PodScheduled && c.Status == v1.ConditionFalse
		}), err
	}))
}

// berth runs a command of berth, and returns its output with single spaces between words.
func (s *stage) berth(args ...string) string {
	command := exec.CommandContext(s.ctx, s.options.Berth, append(args, "--kubeconfig="+s.AdminKubeconfig)...)
	out, err := command.CombinedOutput()
	if err != nil {
		s.check(fmt.Errorf("berth %s: %w: %s", strings.Join(args, " "), err, out))
	}
	return folded(string(out))
}

func folded(text string) string { return strings.Join(strings.Fields(text), " ") }

// has waits until the metrics of berth contain these samples.
func (s *stage) has(samples ...string) {
	var text string
	err := controlplane.Until(s.ctx, patience, fmt.Sprintf("the samples %q", samples), func() (bool, error) {
		response, err := http.Get("http://" + s.plain + "/metrics")
		if err != nil {
			return false, err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		text = "\n" + string(body)
		return err == nil && !slices.ContainsFunc(samples, func(sample string) bool { return !strings.Contains(text, "\n"+sample+"\n") }), err
	})
	if err != nil {
		var quotas []string
		for _, line := range strings.Split(text, "\n") {
			if strings.HasPrefix(line, "berth_quota_") {
				quotas = append(quotas, line)
			}
		}
		s.check(fmt.Errorf("%w; there are %q", err, quotas))
	}
}
