package main

import (
	"context"
	"crypto/tls"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"berth.test/cluster/controlplane"
)

// stage is a control plane with all clients of the tests.
type stage struct {
	*controlplane.ControlPlane
	program   string
	berth     string
	children  *controlplane.Children
	proxyCA   *controlplane.Authority
	certs     map[string]*tls.Certificate
	untrusted *controlplane.Authority
	tokens    map[string]string
	ports     map[string]int
	// of the holders of secrets
	secretPorts map[string]int
}

func newStage(ctx context.Context, directory string, children *controlplane.Children) (*stage, error) {
	program, err := controlplane.BuildReal()
	if err != nil {
		return nil, err
	}
	plane, err := controlplane.Start(ctx, program, directory, children)
	if err != nil {
		return nil, err
	}
	s := &stage{ControlPlane: plane, program: program, children: children,
		certs: map[string]*tls.Certificate{}, tokens: map[string]string{"wrong": "not-a-token"}, ports: map[string]int{}, secretPorts: map[string]int{}}
	if err := s.makeCertificates(); err != nil {
		return nil, err
	}
	if err := s.makeTokens(ctx); err != nil {
		return nil, err
	}
	return s, s.makeObjects(ctx)
}

func (s *stage) makeCertificates() (err error) {
	if s.proxyCA, err = controlplane.NewAuthority(); err != nil {
		return err
	}
	if err := os.WriteFile(s.File("proxy-ca.crt"), s.proxyCA.PEM, 0o600); err != nil {
		return err
	}
	if s.untrusted, err = controlplane.NewAuthority(); err != nil {
		return err
	}
	subject := commonName
	var problems []error
	add := func(name string, pair *controlplane.KeyPair, err error) {
		if err == nil {
			var certificate tls.Certificate
			certificate, err = tls.X509KeyPair(pair.Certificate, pair.Key)
			s.certs[name] = &certificate
		}
		problems = append(problems, err)
	}
	sign := func(name string, by *controlplane.Authority, subject pkix.Name, server bool) {
		pair, err := by.Sign(subject, server)
		add(name, pair, err)
	}
	sign("master", s.Authority, subject("root", "system:masters"), false)
	sign("reader", s.Authority, subject("reader", "team <a> & b"), false)
	sign("no-permissions", s.Authority, subject("no \"body\" <x> & co"), false)
	sign("nameless", s.Authority, subject(""), false)
	sign("server", s.Authority, subject("reader"), true)
	sign("untrusted", s.untrusted, subject("root", "system:masters"), false)
	for _, user := range apiUsers {
		sign(user, s.Authority, subject(user), false)
	}
	sign("proxy", s.proxyCA, subject("front-proxy"), false)
	sign("other-proxy", s.proxyCA, subject("another-name"), false)
	expired, err := s.Authority.SignExpired(subject("root", "system:masters"))
	add("expired", expired, err)
	return errors.Join(problems...)
}

func commonName(name string, groups ...string) pkix.Name {
	return pkix.Name{CommonName: name, Organization: groups}
}

// makeTokens creates service accounts: one may read the metrics, the other has no permission.
func (s *stage) makeTokens(ctx context.Context) error {
	_, err := s.Client.RbacV1().ClusterRoles().Create(ctx, &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "metrics-reader"},
		Rules: []rbacv1.PolicyRule{{
			Verbs:           []string{"get", "post", "head", "options"},
			NonResourceURLs: []string{"/metrics", "/metrics/*", "/configz", "/statusz", "/readyz/*"},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	subjects := []rbacv1.Subject{
		{Kind: "ServiceAccount", Namespace: "default", Name: "scraper"},
		{Kind: "User", APIGroup: rbacv1.GroupName, Name: "reader"},
	}
	_, err = s.Client.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "metrics-reader"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "metrics-reader"},
		Subjects:   subjects,
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	for _, name := range []string{"scraper", "visitor", "late"} {
		accounts := s.Client.CoreV1().ServiceAccounts("default")
		if _, err := accounts.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			return err
		}
		token, err := accounts.CreateToken(ctx, name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		s.tokens[name] = token.Status.Token
	}
	return nil
}

// makeObjects creates a node and pods for the resource metrics.
func (s *stage) makeObjects(ctx context.Context) error {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}
	if _, err := s.Client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
		return err
	}
	for i, list := range []corev1.ResourceRequirements{
		{Requests: corev1.ResourceList{"cpu": resource.MustParse("250m"), "memory": resource.MustParse("1Gi"), "example.com/gpu": resource.MustParse("2")},
			Limits: corev1.ResourceList{"cpu": resource.MustParse("1"), "memory": resource.MustParse("1.5Gi"), "example.com/gpu": resource.MustParse("2")}},
		{Requests: corev1.ResourceList{"ephemeral-storage": resource.MustParse("1G"), "hugepages-2Mi": resource.MustParse("4Mi"), "cpu": resource.MustParse("100m")},
			Limits: corev1.ResourceList{"hugepages-2Mi": resource.MustParse("4Mi")}},
		{},
	} {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pod-%d", i), Namespace: "default"},
			Spec: corev1.PodSpec{
				NodeName:   "node-1",
				Containers: []corev1.Container{{Name: "a", Image: "a", Resources: list}, {Name: "b", Image: "b", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("50m")}}}},
			},
		}
		if i == 1 {
			// No scheduler has this name, so the pod has no node in both outputs.
			pod.Spec.NodeName = ""
			pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/later"}}
		}
		if _, err := s.Client.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// Of the processes with leader election.
const leading, standingBy = "-leads", "-stands-by"

// elect starts four more: per program a leader and a standby.
func (s *stage) elect(ctx context.Context) error {
	for _, role := range []string{leading, standingBy} {
		reference, candidate, err := s.startPair(ctx, role, "--leader-elect=true")
		if err != nil {
			return err
		}
		for _, name := range []string{reference, candidate} {
			if err := s.waitForElection(name, map[string]string{leading: "1", standingBy: "0"}[role]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *stage) waitForElection(name, status string) error {
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		answer, err := s.send(name, request{path: "/metrics", cert: "master"})
		if err == nil && strings.Contains(answer.body, `leader_election_master_status{name="kube-scheduler"} `+status) {
			return nil
		}
	}
	return fmt.Errorf("leader_election_master_status of %s is not %s after half a minute", name, status)
}

// startPair starts one of each program, and returns their names.
func (s *stage) startPair(ctx context.Context, role string, more ...string) (reference, candidate string, err error) {
	if reference, err = s.start(ctx, "kube-scheduler"+role, []string{s.program, "kube-scheduler"}, append(more, "--leader-elect-resource-name=kube")...); err != nil {
		return "", "", err
	}
	more = append(more, "--leader-elect-resource-name=berth", "--berth-http-address=127.0.0.1:0")
	candidate, err = s.start(ctx, "berth"+role, []string{s.berth, "scheduler"}, more...)
	return reference, candidate, err
}

// start starts a scheduler and waits until it is ready; it returns its name.
func (s *stage) start(ctx context.Context, name string, command []string, more ...string) (string, error) {
	kubeconfig, err := s.WriteKubeconfig(s.URL, name, "cert")
	if err != nil {
		return "", err
	}
	ports, err := controlplane.FreePorts(1)
	if err != nil {
		return "", err
	}
	child, err := s.children.Start(name, command, append([]string{
		"--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", ports[0]),
		"--requestheader-client-ca-file=" + s.File("proxy-ca.crt"), "--requestheader-allowed-names=front-proxy",
		"--requestheader-uid-headers=x-remote-uid",
		"--authorization-always-allow-paths=/healthz,/readyz,/livez,/open/*",
	}, more...)...)
	if err != nil {
		return "", err
	}
	s.ports[name] = ports[0]
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if !child.Running() {
			return "", child.Gone()
		}
		answer, err := s.send(name, request{path: "/readyz"})
		if err == nil && answer.status == 200 && strings.TrimSpace(answer.body) == "ok" {
			return name, nil
		}
	}
	return "", fmt.Errorf("%s is not ready after a minute; see %s.log", name, name)
}

// trustUntrusted adds the other authority to the cluster's ConfigMap and waits until both schedulers accept it.
func (s *stage) trustUntrusted(ctx context.Context) error {
	maps := s.Client.CoreV1().ConfigMaps("kube-system")
	known, err := maps.Get(ctx, "extension-apiserver-authentication", metav1.GetOptions{})
	if err != nil {
		return err
	}
	known.Data["client-ca-file"] += string(s.untrusted.PEM)
	if _, err := maps.Update(ctx, known, metav1.UpdateOptions{}); err != nil {
		return err
	}
	for name := range s.ports {
		for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
			answer, err := s.send(name, request{path: "/livez/ping", cert: "untrusted"})
			if err == nil && answer.status == 200 {
				break
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("%s does not accept the new authority after twenty seconds", name)
			}
		}
	}
	return nil
}
