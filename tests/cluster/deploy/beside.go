package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"berth.test/cluster/controlplane"
)

// beside tests Berth as a second scheduler, as in docs/guide/install-beside.md.
func (s *stage) beside(ctx context.Context) error {
	// Schedules Berth's own pods.
	first, err := s.control.StartScheduler(s.children, "kube-scheduler", []string{s.Real, "kube-scheduler"}, "default-scheduler", "cert")
	if err != nil {
		return err
	}
	defer first.Stop()
	source, err := startPrometheus()
	if err != nil {
		return err
	}
	defer source.server.Close()
	n, stop := s.startNodes(ctx)
	defer stop()
	for _, step := range []func(context.Context) error{n.installed, n.known, n.measured, n.leaderDies, n.reconfigured(source), n.checkLogs, n.misconfigured, n.uninstalled} {
		if err := step(ctx); err != nil {
			for name, c := range n.replicas() {
				lines := strings.Split(strings.TrimSpace(c.Logged()), "\n")
				err = fmt.Errorf("%w\n%s: ...\n%s", err, name, strings.Join(lines[max(0, len(lines)-15):], "\n"))
			}
			return err
		}
	}
	return s.checkGuide("install-beside.md")
}

const rollout = "kubectl -n kube-system rollout status deployment/berth --timeout=60s"

// apply applies a kustomization and waits for the replicas.
func (n *nodes) apply(ctx context.Context, folder string) error {
	if err := n.shows(ctx, "kubectl apply -k "+folder, "deployment.apps/berth ", "configmap/berth-config-"); err != nil {
		return err
	}
	if err := n.shows(ctx, rollout, `deployment "berth" successfully rolled out`); err != nil {
		return err
	}
	return controlplane.Until(ctx, stepTimeout, "the previous replicas to end", func() (bool, error) { return len(n.replicas()) == 3, nil })
}

// installed checks that three replicas are ready, one leads, and pods are scheduled.
func (n *nodes) installed(ctx context.Context) error {
	if err := n.apply(ctx, "deploy/second-scheduler"); err != nil {
		return err
	}
	leader, err := n.leader(ctx)
	if err != nil {
		return err
	}
	if err := n.shows(ctx, "kubectl -n kube-system get pods -l app.kubernetes.io/name=berth", slices.Collect(maps.Keys(n.replicas()))...); err != nil {
		return err
	}
	if err := n.shows(ctx, "kubectl -n kube-system get lease berth", leader+"_"); err != nil {
		return err
	}
	if err := n.shows(ctx, `kubectl run hello --image=nginx --overrides='{"spec":{"schedulerName":"berth"}}'`, "pod/hello created"); err != nil {
		return err
	}
	if _, err := n.bound(ctx, "hello", "berth"); err != nil {
		return err
	}
	if err := n.shows(ctx, "kubectl events --for pod/hello", "Scheduled", "Successfully assigned default/hello to node"); err != nil {
		return err
	}
	// kube-scheduler continues to schedule pods with other scheduler names.
	_, err = n.placed(ctx, "of-the-others", "default-scheduler")
	return err
}

// known checks that the disruption budget and the Service select the replicas.
func (n *nodes) known(ctx context.Context) error {
	err := controlplane.Until(ctx, stepTimeout, "the disruption budget to count three replicas", func() (bool, error) {
		budget, err := n.control.Client.PolicyV1().PodDisruptionBudgets(system).Get(ctx, "berth", metav1.GetOptions{})
		return err == nil && budget.Status.CurrentHealthy == 3 && budget.Status.DisruptionsAllowed == 1, err
	})
	if err != nil {
		return err
	}
	return controlplane.Until(ctx, stepTimeout, "the Service to select three replicas", func() (bool, error) {
		slices, err := n.control.Client.DiscoveryV1().EndpointSlices(system).List(ctx, metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=berth"})
		if err != nil || len(slices.Items) != 1 || len(slices.Items[0].Ports) != 1 {
			return false, err
		}
		return len(slices.Items[0].Endpoints) == 3 && *slices.Items[0].Ports[0].Port == 10259, nil
	})
}

var leads = regexp.MustCompile(`(?m)^leader_election_master_status\{name="kube-scheduler"\} (\d)`)

// measured checks that Prometheus' account can read the metrics of each replica, others cannot, and exactly
// one replica leads.
func (n *nodes) measured(ctx context.Context) error {
	folder, err := n.kustomization("monitored", "second-scheduler", "monitoring")
	if err != nil {
		return err
	}
	before := n.replicas()
	if err := n.apply(ctx, folder); err != nil {
		return err
	}
	if after := n.replicas(); !maps.Equal(before, after) {
		n.AddError("monitoring alone has replaced the replicas: %v, %v", before, after)
	}
	leading := 0
	for account, status := range map[string]int{"prometheus": http.StatusOK, "unrelated": http.StatusForbidden} {
		token, err := n.token(ctx, "monitoring", account)
		if err != nil {
			return err
		}
		for name, c := range n.replicas() {
			got, text, err := request("https://"+c.Address+":10259/metrics", token)
			if err != nil {
				return err
			}
			if got != status {
				n.AddError("%s is answered %d by %s, not %d", account, got, name, status)
			}
			if found := leads.FindStringSubmatch(text); found != nil && found[1] == "1" {
				leading++
			}
		}
	}
	if leading != 1 {
		n.AddError("%d replicas lead, by their metrics", leading)
	}
	return nil
}

// token creates a service account and a token for it.
func (s *stage) token(ctx context.Context, namespace, account string) (string, error) {
	client := s.control.Client.CoreV1()
	_, err := client.Namespaces().Create(ctx, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return "", err
	}
	if _, err = client.ServiceAccounts(namespace).Create(ctx, &v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account}}, metav1.CreateOptions{}); err != nil {
		return "", err
	}
	made, err := client.ServiceAccounts(namespace).CreateToken(ctx, account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	return made.Status.Token, nil
}

// leaderDies kills the leader; another replica takes over after the lease expires, and schedules the next
// pod.
func (n *nodes) leaderDies(ctx context.Context) error {
	leader, err := n.leader(ctx)
	if err != nil {
		return err
	}
	killed := time.Now()
	n.replicas()[leader].Child.Kill()
	if _, err := n.placed(ctx, "after-the-crash", "berth"); err != nil {
		return err
	}
	if n.verbose {
		fmt.Printf("the next pod was bound %.1f s after the leader was killed\n", time.Since(killed).Seconds())
	}
	next, err := n.leader(ctx)
	if err != nil {
		return err
	}
	// The killed replica was restarted with another identity.
	if next == leader {
		n.AddError("the replica that was killed leads again: %s", next)
	}
	return n.shows(ctx, rollout, "successfully rolled out")
}

// reconfigured applies each overlay: a new ConfigMap causes a rollout, after which the new configuration is
// used.
func (n *nodes) reconfigured(source *prometheus) func(context.Context) error {
	return func(ctx context.Context) error {
		for _, change := range []struct {
			overlay string
			pods    map[string]string // profile to the expected node
		}{
			{"load-aware", map[string]string{"berth": idleNode}},
			{"tenants", map[string]string{"berth": "", "flink": idleNode, "batch": ""}},
			{"network-traffic", map[string]string{"berth": ""}},
		} {
			before, requests := n.replicas(), source.requests.Load()
			if err := n.apply(ctx, "deploy/"+change.overlay); err != nil {
				return err
			}
			for name := range n.replicas() {
				if _, old := before[name]; old {
					n.AddError("%s: %s was not replaced", change.overlay, name)
				}
			}
			if source.requests.Load() == requests {
				n.AddError("%s: there was no request to Prometheus", change.overlay)
			}
			for _, profile := range slices.Sorted(maps.Keys(change.pods)) {
				// The nodes differ only in their load: otherwise six pods would hardly all be on the same
				// one.
				for i := range 6 {
					node, err := n.placed(ctx, fmt.Sprintf("%s-%s-%d", change.overlay, profile, i), profile)
					if err != nil {
						return err
					}
					if want := change.pods[profile]; want != "" && node != want {
						n.AddError("%s: pod %d of %s is on %s, not on the idle %s", change.overlay, i, profile, node, want)
					}
				}
			}
		}
		return nil
	}
}

// misconfigured rolls out an invalid file: the new replicas do not become ready, and enough old ones continue
// until the file is restored.
func (n *nodes) misconfigured(ctx context.Context) error {
	folder := filepath.Join(n.directory, "misconfigured")
	if err := os.CopyFS(folder, os.DirFS(n.deploy)); err != nil {
		return err
	}
	file := folder + "/network-traffic/scheduler.yaml"
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, append(text, "paralelism: 4\n"...), 0o600); err != nil {
		return err
	}
	if err := n.shows(ctx, "kubectl apply -k "+folder+"/network-traffic", "deployment.apps/berth configured"); err != nil {
		return err
	}
	failed := ""
	err = controlplane.Until(ctx, stepTimeout, "a replica to reject its configuration", func() (bool, error) {
		for _, c := range n.replicas() {
			if strings.Contains(c.Logged(), `did you mean \"parallelism\"`) {
				failed = c.Name
			}
		}
		return failed != "", nil
	})
	if err != nil {
		return err
	}
	if _, err := n.kubectl(ctx, "-n", system, "rollout", "status", "deployment/berth", "--timeout=2s"); err == nil {
		n.AddError("replicas with a wrong configuration were rolled out")
	}
	if _, err := n.placed(ctx, "misconfigured", "berth"); err != nil {
		return err
	}
	if err := n.shows(ctx, "kubectl -n kube-system rollout undo deployment/berth", "rolled back"); err != nil {
		return err
	}
	return n.shows(ctx, rollout, "successfully rolled out")
}

// uninstalled checks that only the scheduled pods are left.
func (n *nodes) uninstalled(ctx context.Context) error {
	if err := n.shows(ctx, "kubectl get pods -A --field-selector spec.schedulerName=berth", "hello"); err != nil {
		return err
	}
	// Objects that the base does not contain would stay otherwise.
	if err := n.shows(ctx, "kubectl delete -k deploy/network-traffic", `deployment.apps "berth" deleted`); err != nil {
		return err
	}
	err := controlplane.Until(ctx, stepTimeout, "the replicas to end", func() (bool, error) { return len(n.replicas()) == 0, nil })
	if err != nil {
		return err
	}
	left, err := n.kubectl(ctx, "get", "--all-namespaces", "-o", "name", "-l", "app.kubernetes.io/name=berth",
		"deployments,services,poddisruptionbudgets,networkpolicies")
	if err != nil {
		return err
	}
	if strings.TrimSpace(left) != "" && !strings.Contains(left, "No resources found") {
		n.AddError("left behind: %s", left)
	}
	return nil
}

var asking = &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}

// ask sends one request with a token.
func request(url, token string) (int, string, error) {
	question, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	question.Header.Set("Authorization", "Bearer "+token)
	answer, err := asking.Do(question)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text), err
}
