package main

import (
	"context"
	"crypto/rand"
	"crypto/x509/pkix"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// referenceName is the profile under which the real kube-scheduler works for comparison.
const referenceName = "reference"

// tokenUser may do what system:kube-scheduler may, but is another user.
const tokenUser = "berth-scheduler"

// controlPlane is etcd and kube-apiserver, with an administrator's client.
type controlPlane struct {
	directory string
	url       string
	etcd      string
	program   string
	apiserver *child
	children  *children
	authority *authority
	token     string
	client    kubernetes.Interface
}

func startControlPlane(ctx context.Context, program, directory string, children *children) (*controlPlane, error) {
	ports, err := freePorts(3)
	if err != nil {
		return nil, err
	}
	ca, err := newAuthority()
	if err != nil {
		return nil, err
	}
	secret := make([]byte, 16)
	if _, err := rand.Read(secret); err != nil {
		return nil, err
	}
	c := &controlPlane{
		directory: directory,
		url:       fmt.Sprintf("https://127.0.0.1:%d", ports[2]),
		authority: ca,
		token:     hex.EncodeToString(secret),
	}
	if err := c.writeFiles(); err != nil {
		return nil, err
	}
	etcdURL, peerURL := fmt.Sprintf("http://127.0.0.1:%d", ports[0]), fmt.Sprintf("http://127.0.0.1:%d", ports[1])
	etcd, err := children.start("etcd", []string{program, "etcd"},
		"--data-dir="+filepath.Join(directory, "etcd"),
		"--listen-client-urls="+etcdURL, "--advertise-client-urls="+etcdURL,
		"--listen-peer-urls="+peerURL, "--initial-advertise-peer-urls="+peerURL,
		"--initial-cluster=default="+peerURL,
		// The data is thrown away in a minute; nothing is gained by waiting for the disk.
		"--unsafe-no-fsync",
	)
	if err != nil {
		return nil, err
	}
	c.etcd, c.program, c.children = etcdURL, program, children
	if err := c.startAPIServer(); err != nil {
		return nil, err
	}
	admin, err := ca.sign(pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}}, false)
	if err != nil {
		return nil, err
	}
	c.client, err = kubernetes.NewForConfig(&rest.Config{
		Host:            c.url,
		QPS:             -1,
		TLSClientConfig: rest.TLSClientConfig{CAData: ca.pem, CertData: admin.certificate, KeyData: admin.key},
	})
	if err != nil {
		return nil, err
	}
	if err := c.waitUntilReady(ctx, etcd, c.apiserver); err != nil {
		return nil, err
	}
	return c, c.grantToken(ctx)
}

// startAPIServer starts kube-apiserver, also once more after it was killed.
func (c *controlPlane) startAPIServer() (err error) {
	c.apiserver, err = c.children.start("kube-apiserver", []string{c.program, "kube-apiserver"},
		"--etcd-servers="+c.etcd,
		"--bind-address=127.0.0.1", "--secure-port="+c.url[strings.LastIndex(c.url, ":")+1:],
		"--tls-cert-file="+c.file("apiserver.crt"), "--tls-private-key-file="+c.file("apiserver.key"),
		"--client-ca-file="+c.file("ca.crt"), "--token-auth-file="+c.file("tokens.csv"),
		"--authorization-mode=RBAC",
		"--service-cluster-ip-range=10.0.0.0/24",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file="+c.file("accounts.crt"), "--service-account-signing-key-file="+c.file("accounts.key"),
		// Without a controller manager there are no service accounts, and nobody takes the taint of a new node off.
		"--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
	)
	return err
}

func (c *controlPlane) file(name string) string { return filepath.Join(c.directory, name) }

// writeFiles makes what kube-apiserver reads at its start.
func (c *controlPlane) writeFiles() error {
	server, err := c.authority.sign(pkix.Name{CommonName: "kube-apiserver"}, true)
	if err != nil {
		return err
	}
	if err := server.write(c.directory, "apiserver"); err != nil {
		return err
	}
	accounts, err := c.authority.sign(pkix.Name{CommonName: "service-accounts"}, false)
	if err != nil {
		return err
	}
	if err := accounts.write(c.directory, "accounts"); err != nil {
		return err
	}
	if err := os.WriteFile(c.file("ca.crt"), c.authority.pem, 0o600); err != nil {
		return err
	}
	return os.WriteFile(c.file("tokens.csv"), []byte(c.token+","+tokenUser+","+tokenUser+"\n"), 0o600)
}

func (c *controlPlane) waitUntilReady(ctx context.Context, needed ...*child) error {
	deadline := time.Now().Add(2 * time.Minute)
	var last error
	for time.Now().Before(deadline) {
		for _, child := range needed {
			if !child.running() {
				return child.gone()
			}
		}
		asking, cancel := context.WithTimeout(ctx, 2*time.Second)
		_, last = c.client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(asking)
		cancel()
		if last == nil {
			// The default namespace is made by a controller of the API server, a little later.
			if _, last = c.client.CoreV1().Namespaces().Get(ctx, "default", metav1.GetOptions{}); last == nil {
				return nil
			}
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("kube-apiserver is not ready after two minutes: %w", last)
}

// grantToken gives the token's user the scheduler's roles. The API server makes those roles itself, shortly
// after it is ready.
func (c *controlPlane) grantToken(ctx context.Context) error {
	subject := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: tokenUser}}
	for _, role := range []string{"system:kube-scheduler", "system:volume-scheduler"} {
		_, err := c.client.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: tokenUser + "-" + strings.TrimPrefix(role, "system:")},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   subject,
		}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
	}
	_, err := c.client.RbacV1().RoleBindings("kube-system").Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: tokenUser},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "extension-apiserver-authentication-reader"},
		Subjects:   subject,
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return nil
}

// startScheduler starts a scheduler that takes kube-scheduler's flags.
func (c *controlPlane) startScheduler(children *children, name string, command []string, profile, auth string, more ...string) (*child, error) {
	return c.startSchedulerAt(c.url, children, name, command, profile, auth, more...)
}

// startSchedulerAt has it talk to the API server through something at another URL.
func (c *controlPlane) startSchedulerAt(url string, children *children, name string, command []string, profile, auth string, more ...string) (*child, error) {
	kubeconfig, err := c.writeKubeconfig(url, name, auth)
	if err != nil {
		return nil, err
	}
	config := c.file(name + ".yaml")
	if err := os.WriteFile(config, []byte(schedulerConfig(profile, kubeconfig)), 0o600); err != nil {
		return nil, err
	}
	ports, err := freePorts(1)
	if err != nil {
		return nil, err
	}
	args := append([]string{"--kubeconfig=" + kubeconfig, "--config=" + config,
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", ports[0])}, more...)
	return children.start(name, command, args...)
}

func (c *controlPlane) writeKubeconfig(url, name, auth string) (string, error) {
	user := clientcmdapi.NewAuthInfo()
	if auth == "token" {
		user.Token = c.token
	} else {
		pair, err := c.authority.sign(pkix.Name{CommonName: "system:kube-scheduler"}, false)
		if err != nil {
			return "", err
		}
		user.ClientCertificateData, user.ClientKeyData = pair.certificate, pair.key
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["end2end"] = &clientcmdapi.Cluster{Server: url, CertificateAuthorityData: c.authority.pem}
	config.AuthInfos["scheduler"] = user
	config.Contexts["end2end"] = &clientcmdapi.Context{Cluster: "end2end", AuthInfo: "scheduler"}
	config.CurrentContext = "end2end"
	path := c.file(name + ".kubeconfig")
	return path, clientcmd.WriteToFile(*config, path)
}

// schedulerConfig names the kubeconfig too: kube-scheduler does not look at --kubeconfig beside --config. The
// client's limits are high enough not to bind.
func schedulerConfig(profile, kubeconfig string) string {
	return fmt.Sprintf(`apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection:
  kubeconfig: %s
  qps: 5000
  burst: 5000
leaderElection:
  leaderElect: false
profiles:
- schedulerName: %s
  plugins:
    multiPoint:
      disabled:
      - name: "*"
      enabled:
      - name: SchedulingGates
      - name: PrioritySort
      - name: NodeName
      - name: NodeUnschedulable
      - name: TaintToleration
        weight: 3
      - name: NodeAffinity
        weight: 2
      - name: NodePorts
      - name: NodeResourcesFit
        weight: 1
      - name: NodeResourcesBalancedAllocation
        weight: 1
      - name: ImageLocality
        weight: 1
      - name: DefaultBinder
`, kubeconfig, profile)
}

// freePorts finds ports nobody listens on.
func freePorts(count int) ([]int, error) {
	var ports []int
	for range count {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		// All stay open until all are found, so that they differ.
		defer listener.Close()
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// pause waits, but not beyond the end of the run.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
