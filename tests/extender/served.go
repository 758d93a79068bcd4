package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"berth.test/cluster/controlplane"
)

// The load of the nodes, in percent. Above 80 a node is rejected.
var heat = map[string]int{"n-1": 70, "n-2": 10, "n-3": 95}

const servedConfig = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: load
  plugins:
    multiPoint: {enabled: [{name: LoadAware}]}
    score: {disabled: [{name: '*'}], enabled: [{name: LoadAware, weight: 1}]}
  pluginConfig:
  - name: LoadAware
    args:
      prometheusAddress: %s
      preset: none
      signals: [{name: heat, query: "max by ($node) (heat)", full: 100, threshold: 80, estimate: {from: none}}]
`

// served runs two real kube-schedulers, one that sends names and one that sends nodes, with berth extender over TLS
// with client certificates: by load it filters, scores, reviews victims, and binds.
func served(ctx context.Context, control *controlplane.ControlPlane, children *controlplane.Children, berth, real string) error {
	s := &service{environment: environment{client: control.Client}, control: control, children: children, berth: berth, real: real}
	for name := range heat {
		if err := s.addNode(ctx, name); err != nil {
			return err
		}
	}
	if err := s.start(ctx); err != nil {
		return err
	}
	var failures []error
	for _, kind := range []string{"names", "whole"} {
		failures = append(failures, s.places(ctx, kind), s.refuses(ctx, kind))
	}
	failures = append(failures, s.reviews(ctx), s.verbsCalled(), s.rejectsUntrusted(), s.bindsForAuthenticated(ctx), s.checked())
	if err := errors.Join(failures...); err != nil {
		log, _ := os.ReadFile(control.File("berth-extender.log"))
		return fmt.Errorf("%w\n%s", err, log)
	}
	fmt.Println("two kube-schedulers placed, preempted and bound by berth extender's scores")
	return nil
}

type service struct {
	environment
	control     *controlplane.ControlPlane
	children    *controlplane.Children
	berth, real string
	url         string
}

func (s *service) start(ctx context.Context) error {
	prometheus := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		var series []string
		if strings.Contains(r.Form.Get("query"), "heat") {
			for node, value := range heat {
				series = append(series, fmt.Sprintf(`{"metric":{"node":%q},"value":[%d,"%d"]}`, node, time.Now().Unix(), value))
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"status":"success","data":{"resultType":"vector","result":[%s]}}`, strings.Join(series, ","))
	}))
	context.AfterFunc(ctx, prometheus.Close)
	for name, server := range map[string]bool{"extender": true, "asker": false} {
		pair, err := s.control.Authority.Sign(pkix.Name{CommonName: name}, server)
		if err != nil {
			return err
		}
		if err := pair.Write(s.control.Directory, name); err != nil {
			return err
		}
	}
	kubeconfig, err := s.control.WriteKubeconfig(s.control.URL, "berth", "cert")
	if err != nil {
		return err
	}
	ports, err := controlplane.FreePorts(1)
	if err != nil {
		return err
	}
	s.url = fmt.Sprintf("https://127.0.0.1:%d", ports[0])
	config := s.control.File("served.yaml")
	if err := os.WriteFile(config, []byte(fmt.Sprintf(servedConfig, prometheus.URL)), 0o600); err != nil {
		return err
	}
	child, err := s.children.Start("berth-extender", []string{s.berth, "extender"}, "--kubeconfig="+kubeconfig, "--config="+config, "--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", ports[0]), "--path-prefix=/scheduler", "--client-ca-file="+s.control.File("ca.crt"),
		"--tls-cert-file="+s.control.File("extender.crt"), "--tls-private-key-file="+s.control.File("extender.key"), "-v=2")
	if err != nil {
		return err
	}
	for !s.measured() {
		if !child.Running() {
			return child.Gone()
		}
		if err := controlplane.Pause(ctx, 100*time.Millisecond); err != nil {
			return fmt.Errorf("berth extender has no nodes: %w", err)
		}
	}
	for _, kind := range []string{"names", "whole"} {
		if err := s.startScheduler(kind); err != nil {
			return err
		}
	}
	return nil
}

func (s *service) startScheduler(kind string) error {
	kubeconfig, err := s.control.WriteKubeconfig(s.control.URL, kind, "cert")
	if err != nil {
		return err
	}
	text := controlplane.SchedulerConfig(kubeconfig, kind) + fmt.Sprintf(`extenders:
- urlPrefix: %s/scheduler
  filterVerb: filter
  prioritizeVerb: prioritize
  preemptVerb: preempt
  bindVerb: bind
  weight: 100
  nodeCacheCapable: %t
  enableHTTPS: true
  tlsConfig: {caFile: %s, certFile: %s, keyFile: %s}
`, s.url, kind == "names", s.control.File("ca.crt"), s.control.File("asker.crt"), s.control.File("asker.key"))
	config := s.control.File(kind + ".yaml")
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return err
	}
	ports, err := controlplane.FreePorts(1)
	if err != nil {
		return err
	}
	_, err = s.children.Start(kind, []string{s.real, "kube-scheduler"}, "--config="+config, "--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", ports[0]))
	return err
}

var measuredNodes = regexp.MustCompile(`berth_measurement_nodes\{signal="heat",source="[^"]*",state="measured"\} 3\n`)

func (s *service) measured() bool {
	text, _, err := s.get("/metrics", false)
	return err == nil && measuredNodes.MatchString(text)
}

// get sends a request with or without the client's certificate.
func (s *service) get(path string, named bool) (string, int, error) {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(s.control.Authority.PEM)
	config := &tls.Config{RootCAs: roots}
	if named {
		pair, err := tls.LoadX509KeyPair(s.control.File("asker.crt"), s.control.File("asker.key"))
		if err != nil {
			return "", 0, err
		}
		config.Certificates = []tls.Certificate{pair}
	}
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{TLSClientConfig: config}}
	defer client.CloseIdleConnections()
	response, err := client.Get(s.url + path)
	if err != nil {
		return "", 0, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return string(text), response.StatusCode, err
}

// pod creates a pod and waits until it is bound or has a condition.
func (s *service) pod(ctx context.Context, kind, name string, more func(*v1.Pod)) (string, error) {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: kind + "-" + name},
		Spec: v1.PodSpec{SchedulerName: kind, Containers: []v1.Container{{Name: "c", Image: "i", Resources: v1.ResourceRequirements{
			Requests: v1.ResourceList{"cpu": resource.MustParse("10m")}}}}}}
	if more != nil {
		more(pod)
	}
	if _, err := s.client.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		return "", err
	}
	return s.outcome(ctx, kind, livePod{name: name})
}

func (s *service) places(ctx context.Context, kind string) error {
	for i := range 5 {
		got, err := s.pod(ctx, kind, fmt.Sprintf("cool-%d", i), nil)
		if err != nil {
			return err
		}
		if got != "on n-2" {
			return fmt.Errorf("%s: pod cool-%d is %s, and n-2 carries least", kind, i, got)
		}
	}
	return nil
}

func (s *service) refuses(ctx context.Context, kind string) error {
	got, err := s.pod(ctx, kind, "hot", func(pod *v1.Pod) {
		// Not by the node's name: a pod with a node name is bound there, whatever the load.
		elsewhere := v1.NodeSelectorTerm{}
		for _, node := range []string{"n-1", "n-2"} {
			elsewhere.MatchFields = append(elsewhere.MatchFields, v1.NodeSelectorRequirement{Key: "metadata.name", Operator: v1.NodeSelectorOpNotIn, Values: []string{node}})
		}
		pod.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{elsewhere}}}}
		pod.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("20m")
	})
	if err == nil && (!strings.Contains(got, "heat") || strings.HasPrefix(got, "on ")) {
		return fmt.Errorf("%s: a pod for the hot node is %s", kind, got)
	}
	return err
}

// reviews fills all nodes. The victims on the overloaded node would be the cheapest, but their eviction does not help.
func (s *service) reviews(ctx context.Context) error {
	for name, value := range map[string]int32{"low": 1, "middle": 50, "high": 100} {
		class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value}
		if _, err := s.client.SchedulingV1().PriorityClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	big := func(class, node string) func(*v1.Pod) {
		return func(pod *v1.Pod) {
			pod.Spec.PriorityClassName, pod.Spec.NodeName = class, node
			pod.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("60")
		}
	}
	for node, class := range map[string]string{"n-1": "middle", "n-2": "middle", "n-3": "low"} {
		if _, err := s.pod(ctx, "names", "victim-"+node, big(class, node)); err != nil {
			return err
		}
	}
	for _, kind := range []string{"names", "whole"} {
		if _, err := s.pod(ctx, kind, "high", big("high", "")); err != nil {
			return err
		}
		for {
			pod, err := s.client.CoreV1().Pods("default").Get(ctx, kind+"-high", metav1.GetOptions{})
			if err != nil {
				return err
			}
			if where := pod.Status.NominatedNodeName; where == "n-3" {
				return fmt.Errorf("%s: preemption on the hot node, where the pod may not go", kind)
			} else if where != "" {
				break
			}
			if err := controlplane.Pause(ctx, 100*time.Millisecond); err != nil {
				return fmt.Errorf("%s: no pod is preempted: %w", kind, err)
			}
		}
	}
	return nil
}

// verbsCalled checks that every verb was called.
func (s *service) verbsCalled() error {
	text, _, err := s.get("/metrics", true)
	if err != nil {
		return err
	}
	for _, verb := range []string{"filter", "prioritize", "preempt", "bind"} {
		if !strings.Contains(text, fmt.Sprintf(`berth_extender_server_requests_total{result="success",verb=%q}`, verb)) {
			err = errors.Join(err, fmt.Errorf("no request for %s", verb))
		}
		if strings.Contains(text, fmt.Sprintf(`berth_extender_server_requests_total{result="bad_request",verb=%q}`, verb)) {
			err = errors.Join(err, fmt.Errorf("a request of kube-scheduler for %s was rejected", verb))
		}
	}
	return err
}

// rejectsUntrusted checks that untrusted clients get no reply.
func (s *service) rejectsUntrusted() error {
	if _, status, err := s.get("/scheduler/filter", false); err != nil || status != http.StatusUnauthorized {
		return fmt.Errorf("without a certificate: status %d, %v", status, err)
	}
	if _, status, err := s.get("/scheduler/filter", true); err != nil || status != http.StatusMethodNotAllowed {
		return fmt.Errorf("with a certificate: status %d, %v", status, err)
	}
	return nil
}

// bindsForAuthenticated checks that an extender without client certificates binds only if a flag allows it.
func (s *service) bindsForAuthenticated(ctx context.Context) error {
	kubeconfig, err := s.control.WriteKubeconfig(s.control.URL, "berth", "cert")
	if err != nil {
		return err
	}
	for flag, expected := range map[string]int{"": http.StatusNotFound, "--allow-anonymous-bind": http.StatusOK} {
		ports, err := controlplane.FreePorts(1)
		if err != nil {
			return err
		}
		arguments := []string{"--kubeconfig=" + kubeconfig, fmt.Sprintf("--http-address=127.0.0.1:%d", ports[0])}
		if flag != "" {
			arguments = append(arguments, flag)
		}
		child, err := s.children.Start(fmt.Sprintf("berth-extender-plain%s", flag), []string{s.berth, "extender"}, arguments...)
		if err != nil {
			return err
		}
		url := fmt.Sprintf("http://127.0.0.1:%d", ports[0])
		err = controlplane.Until(ctx, 30*time.Second, "the extender to be ready", func() (bool, error) {
			answer, err := http.Get(url + "/readyz")
			if err != nil {
				return false, nil
			}
			answer.Body.Close()
			return answer.StatusCode == http.StatusOK, nil
		})
		if err != nil {
			return err
		}
		answer, err := http.Post(url+"/bind", "application/json", strings.NewReader(`{"PodName":"absent","PodNamespace":"default","PodUID":"u","Node":"n"}`))
		if err != nil {
			return err
		}
		answer.Body.Close()
		child.Stop()
		if answer.StatusCode != expected {
			return fmt.Errorf("POST /bind without a certificate, flags %q: status %d, expected %d", flag, answer.StatusCode, expected)
		}
	}
	return nil
}

// checked runs the conformance check on it.
func (s *service) checked() error {
	out, err := exec.Command(s.berth, "extender", "check", s.url+"/scheduler", "--bind", "--ca-file", s.control.File("ca.crt"),
		"--cert-file", s.control.File("asker.crt"), "--key-file", s.control.File("asker.key")).CombinedOutput()
	if err != nil || !strings.Contains(string(out), " 0 warn, 0 wrong") {
		return fmt.Errorf("berth extender check: %v\n%s", err, out)
	}
	return nil
}
