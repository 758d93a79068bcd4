package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"berth.test/cluster/controlplane"
)

const (
	system   = "kube-system"
	account  = "berth-rebalance"
	podCores = 2.5
	// extraCores overload a node with one pod.
	extraCores = 6.8
	// history is how long the pods have run, according to Prometheus: their usage is a rate of five minutes.
	history = 330 * time.Second
	step    = 5 * time.Second
	// noReturn ends about a minute after the second node is overloaded.
	noReturn = 150 * time.Second
)

// stage is the cluster and its monitoring.
type stage struct {
	*options
	control     *controlplane.ControlPlane
	children    *controlplane.Children
	controllers *controlplane.Child
	audit       *controlplane.AuditLog
	machines    map[string]*machine
	cadvisor    string // address
	prometheus  string // URL
	began       time.Time

	hot, target, second string // nodes: overloaded, of the replacement, overloaded later
	accountKubeconfig   string
	readerToken         string
	replicas            []*replica

	mutex    sync.Mutex
	since    map[string]time.Time // the start of the first pods
	requests []controlplane.Request
	wrong    []string
}

type replica struct {
	name  string
	child *controlplane.Child
	port  int
	proxy *controlplane.HTTPSProxy
}

func (s *stage) setUp(ctx context.Context, directory string) (err error) {
	s.control, err = controlplane.StartAudited(ctx, s.Real, directory, s.children, fmt.Sprintf("users: [\"system:serviceaccount:%s:%s\"]", system, account))
	if err != nil {
		return err
	}
	s.audit, s.machines, s.since = s.control.AuditLog(), map[string]*machine{}, map[string]time.Time{}
	for i := range 3 {
		name := fmt.Sprintf("worker-%d", i+1)
		s.machines[name] = &machine{name: name, procfs: s.control.File("proc-" + name), processes: map[string]*process{}, began: time.Now()}
		room := controlplane.Resources("cpu", strconv.Itoa(cores), "memory", "64Gi", "pods", "110")
		if _, err := s.control.Client.CoreV1().Nodes().Create(ctx, controlplane.ReadyNode(name, room), metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	if s.controllers, err = s.control.StartControllers("deployment-controller", "replicaset-controller", "disruption-controller"); err != nil {
		return err
	}
	ports, err := controlplane.FreePorts(1)
	if err != nil {
		return err
	}
	s.prometheus = fmt.Sprintf("http://127.0.0.1:%d", ports[0])
	if err := s.startScheduler(); err != nil {
		return err
	}
	if err := s.makeWorkload(ctx); err != nil {
		return err
	}
	go s.playKubelet(ctx)
	if err := s.wait(ctx, 60*time.Second, "running pods", func() bool {
		pods, err := s.pods(ctx)
		nodes := map[string]bool{}
		for _, node := range pods {
			nodes[node] = true
		}
		return err == nil && len(pods) == len(s.machines) && len(nodes) == len(s.machines)
	}); err != nil {
		return err
	}
	s.hot = "worker-1"
	if err := s.machines[s.hot].heat(s, extraCores); err != nil {
		return err
	}
	return s.startMonitoring(ctx, ports[0])
}

// --- configuration ---

const schedulerConfig = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: %s}
leaderElection: {leaderElect: false}
profiles:
- schedulerName: default-scheduler
  plugins: {multiPoint: {enabled: [{name: LoadAware, weight: 20}]}}
  pluginConfig:
  - name: LoadAware
    args:
      prometheusAddress: main
      preset: none
      signals:
      - {name: cpu, window: 30s, weight: 1, threshold: 90, estimate: {from: history, resource: cpu}}
`

func (s *stage) writeConfig(name, kubeconfig string) (string, error) {
	path := s.control.File(name)
	return path, os.WriteFile(path, fmt.Appendf(nil, schedulerConfig, kubeconfig), 0o600)
}

func (s *stage) sources() string { return s.control.File("sources.yaml") }

func (s *stage) startScheduler() error {
	sources := fmt.Sprintf("sources: [{name: main, addresses: [%q], pollInterval: 2s, timeout: 10s}]\n", s.prometheus)
	if err := os.WriteFile(s.sources(), []byte(sources), 0o600); err != nil {
		return err
	}
	config, err := s.writeConfig("scheduler.yaml", s.control.AdminKubeconfig)
	if err != nil {
		return err
	}
	_, err = s.children.Start("scheduler", []string{s.Berth, "scheduler"}, "--config="+config, "--secure-port=0",
		"--berth-http-address=127.0.0.1:0", "--berth-metric-sources="+s.sources())
	return err
}

func (s *stage) makeWorkload(ctx context.Context) error {
	replicas, labels := int32(len(s.machines)), map[string]string{"app": "web"}
	_, err := s.control.Client.AppsV1().Deployments("default").Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: v1.PodSpec{
				Containers: []v1.Container{{Name: "c", Image: "example.org/app:v1",
					Resources: v1.ResourceRequirements{Requests: controlplane.Resources("cpu", "500m", "memory", "1Gi")}}}}}},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	one := intstr.FromInt32(1)
	_, err = s.control.Client.PolicyV1().PodDisruptionBudgets("default").Create(ctx, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &one, Selector: &metav1.LabelSelector{MatchLabels: labels}},
	}, metav1.CreateOptions{})
	return err
}

func (s *stage) changeBudget(ctx context.Context) error {
	budgets := s.control.Client.PolicyV1().PodDisruptionBudgets("default")
	budget, err := budgets.Get(ctx, "web", metav1.GetOptions{})
	if err != nil {
		return err
	}
	two := intstr.FromInt32(2)
	budget.Spec.MaxUnavailable = &two
	_, err = budgets.Update(ctx, budget, metav1.UpdateOptions{})
	return err
}

// --- the kubelet ---

// playKubelet runs a process for each bound pod, and ends it when the pod is deleted.
func (s *stage) playKubelet(ctx context.Context) {
	known := map[string]string{} // node, by pod
	for ; ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
		list, err := s.control.Client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
		if err != nil {
			continue
		}
		there := map[string]bool{}
		for _, pod := range list.Items {
			machine := s.machines[pod.Spec.NodeName]
			switch {
			case machine == nil:
				continue
			case pod.DeletionTimestamp != nil:
				now := int64(0)
				_ = s.control.Client.CoreV1().Pods("default").Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &now})
				continue
			case known[pod.Name] == "":
				if err := s.startPod(ctx, machine, &pod); err != nil {
					continue
				}
				known[pod.Name] = machine.name
			}
			there[pod.Name] = true
		}
		for name, node := range known {
			if !there[name] {
				s.machines[node].end(name)
				delete(known, name)
			}
		}
	}
}

func (s *stage) startPod(ctx context.Context, m *machine, pod *v1.Pod) error {
	now := metav1.Now()
	pod.Status.Phase, pod.Status.StartTime = v1.PodRunning, &now
	pod.Status.Conditions = append(pod.Status.Conditions, v1.PodCondition{Type: v1.PodReady, Status: v1.ConditionTrue, LastTransitionTime: now})
	if _, err := s.control.Client.CoreV1().Pods("default").UpdateStatus(ctx, pod, metav1.UpdateOptions{}); err != nil {
		return err
	}
	s.mutex.Lock()
	if len(s.since) < len(s.machines) {
		s.since[pod.Name] = now.Time
	}
	s.mutex.Unlock()
	return m.run(s, pod.Name, podCores)
}

func (s *stage) stopPods() {
	for _, m := range s.machines {
		for pod := range m.usage() {
			m.end(pod)
		}
		m.end("")
	}
}

// exportContainers serves the metrics of the kubelets' cAdvisor. The first pods have a past.
func (s *stage) exportContainers(w http.ResponseWriter, _ *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, m := range s.machines {
		for pod, seconds := range m.usage() {
			if _, first := s.since[pod]; first {
				seconds += podCores * history.Seconds()
			}
			fmt.Fprintf(w, "container_cpu_usage_seconds_total{%s} %.3f\n", containerLabels(pod), seconds)
			fmt.Fprintf(w, "container_memory_working_set_bytes{%s} %d\n", containerLabels(pod), 1<<28)
		}
	}
}

func containerLabels(pod string) string {
	return fmt.Sprintf(`namespace="default",pod=%q,container="c"`, pod)
}

// --- monitoring ---

func (s *stage) startMonitoring(ctx context.Context, port int) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.cadvisor = listener.Addr().String()
	go http.Serve(listener, http.HandlerFunc(s.exportContainers))
	var nodes []string
	for _, m := range s.machines {
		if err := m.startExporter(s); err != nil {
			return err
		}
		nodes = append(nodes, fmt.Sprintf(`{targets: ["127.0.0.1:%d"], labels: {node: %s}}`, m.exporter, m.name))
	}
	config, data := s.control.File("prometheus.yaml"), s.control.File("prometheus")
	text := fmt.Sprintf(`global: {scrape_interval: 2s, scrape_timeout: 2s}
scrape_configs:
- {job_name: node-exporter, static_configs: [%s]}
- {job_name: kubelets, static_configs: [{targets: [%q]}]}
`, strings.Join(nodes, ", "), s.cadvisor)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return err
	}
	if err := s.writePast(ctx, data); err != nil {
		return err
	}
	_, err = s.children.Start("prometheus", []string{"prometheus"}, "--config.file="+config, "--storage.tsdb.path="+data,
		fmt.Sprintf("--web.listen-address=127.0.0.1:%d", port))
	return err
}

// writePast writes the usage of the first pods before the test began: Prometheus' rate of a counter that is younger than
// its window is too small.
func (s *stage) writePast(ctx context.Context, data string) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	path := s.control.File("past.txt")
	var text strings.Builder
	text.WriteString("# TYPE container_cpu_usage_seconds counter\n")
	for pod, start := range s.since {
		for ago := history; ago > 0; ago -= step {
			fmt.Fprintf(&text, "container_cpu_usage_seconds_total{%s,instance=%q,job=\"kubelets\"} %.3f %.3f\n", containerLabels(pod), s.cadvisor,
				podCores*(history-ago).Seconds(), float64(start.Add(-ago).UnixMilli())/1000)
		}
	}
	text.WriteString("# EOF\n")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, "promtool", "tsdb", "create-blocks-from", "openmetrics", path, data).CombinedOutput()
	if err != nil {
		return fmt.Errorf("promtool: %w: %s", err, out)
	}
	return nil
}

// --- replicas of berth rebalance ---

func (s *stage) apply(ctx context.Context, files ...string) error {
	for _, file := range files {
		if _, err := s.control.Kubectl(ctx, nil, "apply", "-f", s.manifests+"/"+file); err != nil {
			return err
		}
	}
	return nil
}

// startReplicas starts two; the second one receives no streamed lists.
func (s *stage) startReplicas(name string, flags ...string) error {
	token, err := s.control.Client.CoreV1().ServiceAccounts(system).CreateToken(context.Background(), account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	s.replicas = nil
	for i := range 2 {
		r := &replica{name: fmt.Sprintf("%s-%d", name, i)}
		r.proxy, err = controlplane.StartHTTPSProxy(s.control, func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
				if i == 0 || !controlplane.RefuseStreamedList(w, request) {
					next.ServeHTTP(w, request)
				}
			})
		})
		if err != nil {
			return err
		}
		kubeconfig, err := s.control.WriteTokenKubeconfig(r.proxy.URL, r.name, token.Status.Token)
		if err != nil {
			return err
		}
		config, err := s.writeConfig(r.name+".yaml", kubeconfig)
		if err != nil {
			return err
		}
		ports, err := controlplane.FreePorts(1)
		if err != nil {
			return err
		}
		r.port = ports[0]
		r.child, err = s.children.Start(r.name, []string{s.Berth, "rebalance"}, append([]string{"--config=" + config, "--berth-metric-sources=" + s.sources(),
			"--window=1m", "--cool-down=3s", "--interval=10s", "--http-address=", "--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", r.port),
			"--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig}, flags...)...)
		if err != nil {
			return err
		}
		s.replicas = append(s.replicas, r)
	}
	return nil
}

// leader returns the replica that leads; nil: none.
func (s *stage) leader() *replica {
	for _, r := range s.replicas {
		if strings.Contains(s.log(r.name), "Leading: rounds begin") {
			return r
		}
	}
	return nil
}

func (s *stage) stopReplicas() error {
	for _, r := range s.replicas {
		if how := r.child.Stop(); how != "" {
			return fmt.Errorf("%s ended with %s", r.name, how)
		}
		r.proxy.Stop()
	}
	return nil
}

func (s *stage) log(name string) string {
	text, _ := os.ReadFile(s.control.File(name + ".log"))
	return string(text)
}

var insecure = &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}

func get(url, token string) (int, string, error) {
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := insecure.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text), err
}

// metricsReader returns the token of a service account that may read metrics.
func (s *stage) metricsReader(ctx context.Context) (string, error) {
	if s.readerToken != "" {
		return s.readerToken, nil
	}
	const name = "metrics-reader"
	rbac := s.control.Client.RbacV1()
	if _, err := s.control.Client.CoreV1().ServiceAccounts(system).Create(ctx, &v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		return "", err
	}
	if _, err := rbac.ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name},
		Rules: []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}}}, metav1.CreateOptions{}); err != nil {
		return "", err
	}
	if _, err := rbac.ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: system, Name: name}},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}}, metav1.CreateOptions{}); err != nil {
		return "", err
	}
	token, err := s.control.Client.CoreV1().ServiceAccounts(system).CreateToken(ctx, name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err == nil {
		s.readerToken = token.Status.Token
	}
	return s.readerToken, err
}

// metric returns a metric of the leader: the highest value of all replicas; -1: none has it.
func (s *stage) metric(name string) float64 {
	highest := -1.0
	token, err := s.metricsReader(context.Background())
	if err != nil {
		return highest
	}
	for _, r := range s.replicas {
		_, text, err := get(fmt.Sprintf("https://127.0.0.1:%d/metrics", r.port), token)
		if err != nil {
			continue
		}
		for line := range strings.Lines(text) {
			if value, found := strings.CutPrefix(line, name+" "); found {
				if number, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil {
					highest = max(highest, number)
				}
			}
		}
	}
	return highest
}

// rejections returns why pods stayed, from the metrics.
func (s *stage) rejections() (lines []string) {
	for _, r := range s.replicas {
		if _, text, err := get(fmt.Sprintf("https://127.0.0.1:%d/metrics", r.port), s.readerToken); err == nil {
			for line := range strings.Lines(text) {
				if strings.HasPrefix(line, "berth_rebalance_rejected_total") {
					lines = append(lines, strings.TrimSpace(line))
				}
			}
		}
	}
	return lines
}

// --- observations ---

func (s *stage) wait(ctx context.Context, timeout time.Duration, what string, happened func() bool) error {
	deadline := time.Now().Add(timeout)
	for !happened() {
		if time.Now().After(deadline) {
			return fmt.Errorf("waited %s for %s; pods were rejected for these reasons: %v", timeout, what, s.rejections())
		}
		if err := controlplane.Pause(ctx, 300*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// pods returns the nodes of the running pods, by name.
func (s *stage) pods(ctx context.Context) (map[string]string, error) {
	list, err := s.control.Client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	nodes := map[string]string{}
	for _, pod := range list.Items {
		if pod.Status.Phase == v1.PodRunning && pod.DeletionTimestamp == nil {
			nodes[pod.Name] = pod.Spec.NodeName
		}
	}
	return nodes, nil
}

// other returns the node that is neither the first overloaded one nor this one.
func (s *stage) other(node string) string {
	for name := range s.machines {
		if name != node && name != s.hot {
			return name
		}
	}
	return ""
}

func (s *stage) eventOf(ctx context.Context, reason string) (note string, err error) {
	err = s.wait(ctx, 20*time.Second, "the event "+reason, func() bool {
		list, err := s.control.Client.EventsV1().Events("default").List(ctx, metav1.ListOptions{})
		if err != nil {
			return false
		}
		for _, e := range list.Items {
			if e.Reason == reason && e.ReportingController == account && e.Regarding.Kind == "Pod" {
				note = e.Note
				return true
			}
		}
		return false
	})
	return note, err
}

func (s *stage) moves(ctx context.Context) (string, error) {
	stored, err := s.control.Client.CoreV1().ConfigMaps(system).Get(ctx, account, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	moves := stored.Data["moves.json"]
	if !json.Valid([]byte(moves)) {
		return "", fmt.Errorf("not JSON: %s", moves)
	}
	return moves, nil
}

func (s *stage) holder(ctx context.Context) (string, error) {
	lease, err := s.control.Client.CoordinationV1().Leases(system).Get(ctx, account, metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil {
		return "", err
	}
	return *lease.Spec.HolderIdentity, nil
}

// shippedPermissions are those of all roles in the manifests.
func (s *stage) shippedPermissions(ctx context.Context) (all []controlplane.Permission, err error) {
	for _, name := range []string{account, account + "-evict", account + "-serving"} {
		wide, err := s.control.Client.RbacV1().ClusterRoles().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		narrow, err := s.control.Client.RbacV1().Roles(system).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		all = append(append(all, controlplane.PermissionsOf("", wide.Rules)...), controlplane.PermissionsOf(system, narrow.Rules)...)
	}
	return all, nil
}

func (s *stage) readAudit() error {
	requests, err := s.audit.Next("")
	s.requests = append(s.requests, requests...)
	return err
}

func (s *stage) permissionUsed(p controlplane.Permission) bool {
	if s.readAudit() != nil {
		return false
	}
	for _, r := range s.requests {
		if r.ObjectRef != nil && r.ResponseStatus.Code != http.StatusForbidden && p.Covers(r) {
			return true
		}
	}
	return false
}
