package main

import (
	"context"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"berth.test/cluster/controlplane"
)

// checkAccess reads the running scheduler with kubectl's plugin: by its Lease and a port that kubectl forwards through
// the API server and a kubelet, with --server, as an ordinary user, and without a reachable scheduler.
func (s *stage) checkAccess() (wrong []string) {
	for _, err := range []error{controlplane.Played(func() { s.readScheduler(&wrong) }), s.clean()} {
		if err != nil {
			wrong = append(wrong, err.Error())
		}
	}
	return wrong
}

func (s *stage) readScheduler(wrong *[]string) {
	s.node("alpha")
	s.create(pod("web", "cpu: 6"))
	s.awaitPending("web")
	kubelet, err := startKubelet(s.Authority)
	s.check(err)
	s.schedulerPod(kubelet.port())
	server := fmt.Sprintf("--server=https://127.0.0.1:%d", s.port)
	developer, err := s.developer()
	s.check(err)
	anonymous, err := s.WriteTokenKubeconfig(s.URL, "anonymous", "")
	s.check(err)
	const answer = "default/web is in the queue (unschedulable) for "
	const advice = "lower the cpu request from 6 to 4"
	for _, one := range []struct {
		about string
		args  []string
		code  int
		parts []string
	}{
		{"status through the kubelet", []string{"status"}, 0,
			[]string{"scheduler   pod kube-system/kube-scheduler-master", "role        leader", "queue       1 unschedulable"}},
		{"queue through the kubelet", []string{"queue"}, 0,
			[]string{"1 pod in the queue: unschedulable 1", "default     web   unschedulable", "NodeResourcesFit"}},
		{"the queue of another namespace", []string{"queue", "-n", "other"}, 0, []string{"No pod matches the flags."}},
		{"why through the kubelet", []string{"why", "pod/web"}, 0,
			[]string{answer, "1 node: Insufficient cpu [NodeResourcesFit]", "retried earlier for NodeResourcesFit after ", "(/configz)", advice}},
		{"JSON", []string{"status", "-o", "json"}, 0, []string{`"leading":true`}},
		{"YAML", []string{"queue", "-o", "yaml"}, 0, []string{"namespace: default"}},
		{"a certificate without an authority", []string{"status", server}, 1, []string{"certificate"}},
		{"a certificate that is not verified", []string{"status", server, "--insecure-skip-tls-verify"}, 0, []string{"role        leader"}},
		{"a server without TLS", []string{"status", "--server=http://127.0.0.1:1"}, 1, []string{"--server", "expected https://"}},
		{"a Lease that does not exist", []string{"status", "--lease=kube-system/none"}, 1, []string{"there is no Lease kube-system/none"}},
		{"a flag with a wrong value", []string{"status", "--lease=none"}, 1, []string{"--lease: none: expected NAMESPACE/NAME"}},
		{"a misspelled command", []string{"statsu"}, 1, []string{`did you mean "status"?`}},
		{"a user without credentials", []string{"status", server, "--insecure-skip-tls-verify", "--kubeconfig=" + anonymous}, 1,
			[]string{"forbidden", "needed: get on the path /berth.dev/v1alpha1/status"}},
		{"a user who may only read pods and nodes", []string{"status", server, "--insecure-skip-tls-verify", "--kubeconfig=" + developer}, 1,
			[]string{"forbidden", "needed: get on the path /berth.dev/v1alpha1/status"}},
		{"a retry", []string{"retry", "pod/web", server, "--insecure-skip-tls-verify"}, 0, []string{"default/web retried"}},
		{"a retry through the kubelet of a pod that does not exist", []string{"retry", "pod/wbe"}, 1,
			[]string{`pod "default/wbe" is not pending in this scheduler`}},
		{"a retry by a user who may only read pods and nodes",
			[]string{"retry", "pod/web", server, "--insecure-skip-tls-verify", "--kubeconfig=" + developer}, 1,
			[]string{"forbidden", "needed: post on the path /berth.dev/v1alpha1/pods/default/web/retry"}},
		{"that user's own pod", []string{"why", "pod/web", server, "--insecure-skip-tls-verify", "--kubeconfig=" + developer}, 0,
			[]string{answer, advice}},
	} {
		*wrong = append(*wrong, s.plugin(one.about, one.args, one.code, one.parts)...)
	}
	*wrong = append(*wrong, s.localPage()...)
	const configured = "Note: evaluated with the configuration of "
	for _, one := range []struct{ flag, source string }{
		{"--server=" + fmt.Sprintf("https://127.0.0.1:%d", s.port), fmt.Sprintf("https://127.0.0.1:%d (/configz)", s.port)},
		{"--lease=kube-system/kube-scheduler", "pod kube-system/kube-scheduler-master (/configz)"},
	} {
		out, err := s.berth("what-if", "--insecure-skip-tls-verify", one.flag)
		if err != nil || !strings.Contains(out, configured+one.source) {
			*wrong = append(*wrong, fmt.Sprintf("berth what-if %s: %v: expected %q in %s", one.flag, err, configured+one.source, out))
		}
	}
	kubelet.stop()
	*wrong = append(*wrong, s.plugin("why without a reachable scheduler", []string{"why", "pod/web"}, 0,
		[]string{"Note: the running scheduler was not read: kubectl port-forward", advice})...)
}

// localPage reads the scheduler through kubectl berth ui, which reaches it through the kubelet.
func (s *stage) localPage() (wrong []string) {
	program := []string{filepath.Join(s.Directory, "bin", "kubectl-berth"), "ui", "--kubeconfig=" + s.AdminKubeconfig}
	page, err := s.children.StartWith("ui", program, "PATH="+filepath.Join(s.Directory, "bin")+":"+os.Getenv("PATH"))
	s.check(err)
	defer func() {
		if ended := page.Stop(); ended != "" {
			wrong = append(wrong, "kubectl berth ui ended with "+ended)
		}
	}()
	var url, key string
	s.check(controlplane.Until(s.ctx, 30*time.Second, "the address that kubectl berth ui prints", func() (bool, error) {
		log, _ := os.ReadFile(filepath.Join(s.Directory, "ui.log"))
		found := regexp.MustCompile(`(http://127\.0\.0\.1:\d+)/ui/#key=(\S+)`).FindStringSubmatch(string(log))
		if found != nil {
			url, key = found[1], found[2]
		}
		return found != nil, nil
	}))
	for _, one := range []struct {
		path, key string
		status    int
		part      string
	}{
		{"/ui/", "", http.StatusOK, "<html"},
		{"/apis/berth.dev/v1alpha1/status", key, http.StatusOK, `"leading":true`},
		{"/apis/berth.dev/v1alpha1/pods/default/web/explanation?view=nodes", key, http.StatusOK, "lower the cpu request from 6 to 4"},
		{"/apis/berth.dev/v1alpha1/pods/default/none", key, http.StatusNotFound, "is not pending in this scheduler"},
		{"/apis/berth.dev/v1alpha1/status", "wrong", http.StatusUnauthorized, ""},
		{"/metrics", key, http.StatusNotFound, ""},
	} {
		status, body, err := fetch(s.ctx, url+one.path, one.key)
		s.check(err)
		if status != one.status || !strings.Contains(body, one.part) {
			wrong = append(wrong, fmt.Sprintf("kubectl berth ui: %s: %d instead of %d with %q: %s", one.path, status, one.status, one.part, body))
		}
	}
	return wrong
}

func fetch(ctx context.Context, url, key string) (int, string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}

// plugin runs the program as kubectl would, with kubectl in PATH.
func (s *stage) plugin(about string, args []string, code int, parts []string) (wrong []string) {
	folder := filepath.Join(s.Directory, "bin")
	s.check(os.MkdirAll(folder, 0o755))
	for name, program := range map[string]string{"kubectl": s.options.Real, "kubectl-berth": s.options.Berth} {
		if err := os.Symlink(program, filepath.Join(folder, name)); err != nil && !os.IsExist(err) {
			s.check(err)
		}
	}
	if !strings.Contains(strings.Join(args, " "), "--kubeconfig=") {
		args = append(args, "--kubeconfig="+s.AdminKubeconfig)
	}
	command := exec.CommandContext(s.ctx, filepath.Join(folder, "kubectl-berth"), args...)
	command.Env = append(os.Environ(), "PATH="+folder+":"+os.Getenv("PATH"))
	out, _ := command.CombinedOutput()
	if command.ProcessState.ExitCode() != code {
		wrong = append(wrong, fmt.Sprintf("%s: exit code %d, expected %d", about, command.ProcessState.ExitCode(), code))
	}
	for _, part := range parts {
		if !strings.Contains(string(out), part) {
			wrong = append(wrong, fmt.Sprintf("%s: expected %q", about, part))
		}
	}
	if wrong != nil {
		wrong = append(wrong, fmt.Sprintf("%s: %s prints\n%s", about, strings.Join(args, " "), out))
	}
	return wrong
}

// schedulerPod creates the node of the scheduler and its static pod, as a kubelet would report them. The name of the
// node is the host name, with which the scheduler's identity in the Lease begins.
func (s *stage) schedulerPod(kubeletPort int) {
	host, err := os.Hostname()
	s.check(err)
	s.node(host, cordoned, func(n *v1.Node) {
		n.Status.Addresses = []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: "127.0.0.1"}}
		n.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(kubeletPort)
	})
	pods := s.Client.CoreV1().Pods("kube-system")
	created, err := pods.Create(s.ctx, &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "kube-scheduler-master", Labels: map[string]string{"component": "kube-scheduler"}},
		Spec: v1.PodSpec{NodeName: host, HostNetwork: true, Containers: []v1.Container{{Name: "kube-scheduler", Image: "registry.example/berth:1",
			Command: []string{"kube-scheduler", fmt.Sprintf("--secure-port=%d", s.port)}}}},
	}, metav1.CreateOptions{})
	s.check(err)
	created.Status.Phase = v1.PodRunning
	_, err = pods.UpdateStatus(s.ctx, created, metav1.UpdateOptions{})
	s.check(err)
}

// developer is a user who may read nodes and pods, and nothing of the scheduler; returns the kubeconfig.
func (s *stage) developer() (string, error) {
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "developer"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"pods", "nodes"}, Verbs: []string{"get", "list"}}}}
	if _, err := s.Client.RbacV1().ClusterRoles().Create(s.ctx, role, metav1.CreateOptions{}); err != nil {
		return "", err
	}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "developer"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "developer"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "developer"}}}
	if _, err := s.Client.RbacV1().ClusterRoleBindings().Create(s.ctx, binding, metav1.CreateOptions{}); err != nil {
		return "", err
	}
	return s.WriteCertificateKubeconfig(s.URL, "developer", pkix.Name{CommonName: "developer"})
}
