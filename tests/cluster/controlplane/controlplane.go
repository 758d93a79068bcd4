package controlplane

import (
	"context"
	"crypto/rand"
	"crypto/x509/pkix"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

// ReferenceName is the profile of the real kube-scheduler in comparisons.
const ReferenceName = "reference"

// TokenUser has the permissions of system:kube-scheduler under another name.
const TokenUser = "berth-scheduler"

// ControlPlane is etcd and kube-apiserver, with an administrator's client.
type ControlPlane struct {
	Directory string
	URL       string
	Etcd      string
	APIServer *Child
	Authority *Authority
	// Token is that of TokenUser.
	Token  string
	Client kubernetes.Interface
	// AdminKubeconfig is the path of an administrator's kubeconfig.
	AdminKubeconfig string

	program  string
	children *Children
	more     []string
}

// Start starts etcd and kube-apiserver with additional flags, and returns when they are ready.
func Start(ctx context.Context, program, directory string, children *Children, apiServerFlags ...string) (*ControlPlane, error) {
	return StartWithEtcdOf(ctx, program, program, directory, children, apiServerFlags...)
}

// StartWithEtcdOf is Start with etcd of another program, that of another release.
func StartWithEtcdOf(ctx context.Context, etcdProgram, program, directory string, children *Children, apiServerFlags ...string) (*ControlPlane, error) {
	ports, err := FreePorts(3)
	if err != nil {
		return nil, err
	}
	ca, err := NewAuthority()
	if err != nil {
		return nil, err
	}
	secret := make([]byte, 16)
	if _, err := rand.Read(secret); err != nil {
		return nil, err
	}
	c := &ControlPlane{
		Directory: directory,
		URL:       fmt.Sprintf("https://127.0.0.1:%d", ports[2]),
		Authority: ca,
		Token:     hex.EncodeToString(secret),
	}
	if err := c.writeFiles(); err != nil {
		return nil, err
	}
	etcdURL, peerURL := fmt.Sprintf("http://127.0.0.1:%d", ports[0]), fmt.Sprintf("http://127.0.0.1:%d", ports[1])
	etcd, err := children.Start("etcd", []string{etcdProgram, "etcd"},
		"--data-dir="+filepath.Join(directory, "etcd"),
		"--listen-client-urls="+etcdURL, "--advertise-client-urls="+etcdURL,
		"--listen-peer-urls="+peerURL, "--initial-advertise-peer-urls="+peerURL,
		"--initial-cluster=default="+peerURL,
		// The data is temporary: durability is not needed.
		"--unsafe-no-fsync",
		// Tests that write large objects exceed the default of 2 GiB before the first compaction.
		fmt.Sprintf("--quota-backend-bytes=%d", 8<<30),
	)
	if err != nil {
		return nil, err
	}
	c.Etcd, c.program, c.children, c.more = etcdURL, program, children, apiServerFlags
	if err := c.StartAPIServer(); err != nil {
		return nil, err
	}
	if c.Client, err = c.ClientOf(""); err != nil {
		return nil, err
	}
	if c.AdminKubeconfig, err = c.WriteKubeconfig(c.URL, "admin", "admin"); err != nil {
		return nil, err
	}
	if err := c.WaitUntilReady(ctx, etcd, c.APIServer); err != nil {
		return nil, err
	}
	return c, c.grantToken(ctx)
}

// ClientOf is an administrator's client with this content type; empty is client-go's default.
func (c *ControlPlane) ClientOf(contentType string) (kubernetes.Interface, error) {
	return c.ClientAs(pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}}, contentType)
}

// ClientAs is the client of a user: the common name, with organizations as groups.
func (c *ControlPlane) ClientAs(user pkix.Name, contentType string) (kubernetes.Interface, error) {
	pair, err := c.Authority.Sign(user, false)
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(&rest.Config{
		Host:            c.URL,
		QPS:             -1,
		ContentConfig:   rest.ContentConfig{ContentType: contentType},
		TLSClientConfig: rest.TLSClientConfig{CAData: c.Authority.PEM, CertData: pair.Certificate, KeyData: pair.Key},
	})
}

// disabledAdmission is the flag whose default of StartAPIServer a test may replace.
const disabledAdmission = "--disable-admission-plugins="

// ServiceAddress is the address of the service "kubernetes", at which pods reach the API server.
const ServiceAddress = "10.0.0.1"

// StartAPIServer starts kube-apiserver, also again after it was killed.
func (c *ControlPlane) StartAPIServer() (err error) {
	more := c.more
	if !slices.ContainsFunc(more, func(flag string) bool { return strings.HasPrefix(flag, disabledAdmission) }) {
		// Without a controller manager there are no service accounts, and the taint of new nodes is never
		// removed.
		more = append(more[:len(more):len(more)], disabledAdmission+"ServiceAccount,TaintNodesByCondition")
	}
	c.APIServer, err = c.children.Start("kube-apiserver", []string{c.program, "kube-apiserver"}, append([]string{
		"--etcd-servers=" + c.Etcd,
		"--bind-address=127.0.0.1", "--secure-port=" + c.URL[strings.LastIndex(c.URL, ":")+1:],
		"--tls-cert-file=" + c.File("apiserver.crt"), "--tls-private-key-file=" + c.File("apiserver.key"),
		"--client-ca-file=" + c.File("ca.crt"), "--token-auth-file=" + c.File("tokens.csv"),
		"--authorization-mode=RBAC",
		"--service-cluster-ip-range=10.0.0.0/24",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + c.File("accounts.crt"), "--service-account-signing-key-file=" + c.File("accounts.key"),
	}, more...)...)
	return err
}

// ReplaceAPIServer stops kube-apiserver and starts that of another program at the same address, with the same data and flags. It
// returns when the new one is ready.
func (c *ControlPlane) ReplaceAPIServer(ctx context.Context, program string) error {
	c.APIServer.Stop()
	c.program = program
	if err := c.StartAPIServer(); err != nil {
		return err
	}
	return c.WaitUntilReady(ctx, c.APIServer)
}

// File is the path of a file of this control plane.
func (c *ControlPlane) File(name string) string { return filepath.Join(c.Directory, name) }

// writeFiles creates the files that kube-apiserver reads at its start.
func (c *ControlPlane) writeFiles() error {
	server, err := c.Authority.Sign(pkix.Name{CommonName: "kube-apiserver"}, true)
	if err != nil {
		return err
	}
	if err := server.Write(c.Directory, "apiserver"); err != nil {
		return err
	}
	accounts, err := c.Authority.Sign(pkix.Name{CommonName: "service-accounts"}, false)
	if err != nil {
		return err
	}
	if err := accounts.Write(c.Directory, "accounts"); err != nil {
		return err
	}
	if err := os.WriteFile(c.File("ca.crt"), c.Authority.PEM, 0o600); err != nil {
		return err
	}
	return os.WriteFile(c.File("tokens.csv"), []byte(c.Token+","+TokenUser+","+TokenUser+"\n"), 0o600)
}

// WaitUntilReady waits for the API server while the needed programs run.
func (c *ControlPlane) WaitUntilReady(ctx context.Context, needed ...*Child) error {
	deadline := time.Now().Add(2 * time.Minute)
	var last error
	for time.Now().Before(deadline) {
		for _, child := range needed {
			if !child.Running() {
				return child.Gone()
			}
		}
		asking, cancel := context.WithTimeout(ctx, 2*time.Second)
		_, last = c.Client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(asking)
		cancel()
		if last == nil {
			// A controller of the API server creates the default namespace a little later.
			if _, last = c.Client.CoreV1().Namespaces().Get(ctx, "default", metav1.GetOptions{}); last == nil {
				return nil
			}
		}
		if err := Pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("kube-apiserver is not ready after two minutes: %w", last)
}

// grantToken binds the token's user to the scheduler's roles. The API server creates those roles shortly
// after it is ready.
func (c *ControlPlane) grantToken(ctx context.Context) error {
	subject := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: TokenUser}}
	for _, role := range []string{"system:kube-scheduler", "system:volume-scheduler"} {
		_, err := c.Client.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: TokenUser + "-" + strings.TrimPrefix(role, "system:")},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   subject,
		}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
	}
	for _, role := range []string{"extension-apiserver-authentication-reader", "system::leader-locking-kube-scheduler"} {
		_, err := c.Client.RbacV1().RoleBindings("kube-system").Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: TokenUser + "-" + strings.TrimPrefix(role, "system::")},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role},
			Subjects:   subject,
		}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}

// StartScheduler starts a scheduler that takes kube-scheduler's flags.
func (c *ControlPlane) StartScheduler(children *Children, name string, command []string, profile, auth string, more ...string) (*Child, error) {
	return c.StartSchedulerAt(c.URL, children, name, command, profile, auth, more...)
}

// StartSchedulerAt is StartScheduler with another URL of the API server.
func (c *ControlPlane) StartSchedulerAt(url string, children *Children, name string, command []string, profile, auth string, more ...string) (*Child, error) {
	return c.startScheduler(url, children, name, command, noElection, profile, auth, more)
}

// LeaseName is the name of kube-scheduler's Lease in kube-system.
const LeaseName = "kube-scheduler"

// StartElectedAt is StartSchedulerAt for a scheduler that stands by until it is the leader.
func (c *ControlPlane) StartElectedAt(url string, children *Children, name string, command []string, election Election, profile, auth string, more ...string) (*Child, error) {
	return c.startScheduler(url, children, name, command, election.Config(LeaseName), profile, auth, more)
}

func (c *ControlPlane) startScheduler(url string, children *Children, name string, command []string, election, profile, auth string, more []string) (*Child, error) {
	kubeconfig, err := c.WriteKubeconfig(url, name, auth)
	if err != nil {
		return nil, err
	}
	config := c.File(name + ".yaml")
	if err := os.WriteFile(config, []byte(schedulerConfig(kubeconfig, election, profile)), 0o600); err != nil {
		return nil, err
	}
	ports, err := FreePorts(1)
	if err != nil {
		return nil, err
	}
	args := append([]string{"--kubeconfig=" + kubeconfig, "--config=" + config,
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", ports[0])}, more...)
	return children.Start(name, command, args...)
}

// StartControllers starts kube-controller-manager with these controllers only.
func (c *ControlPlane) StartControllers(controllers ...string) (*Child, error) {
	kubeconfig, err := c.WriteKubeconfig(c.URL, "controllers", "admin")
	if err != nil {
		return nil, err
	}
	ports, err := FreePorts(1)
	if err != nil {
		return nil, err
	}
	return c.children.Start("kube-controller-manager", []string{c.program, "kube-controller-manager"},
		"--kubeconfig="+kubeconfig, "--authentication-kubeconfig="+kubeconfig, "--authorization-kubeconfig="+kubeconfig,
		"--leader-elect=false", "--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", ports[0]),
		"--kube-api-qps=1000", "--kube-api-burst=1000", "--use-service-account-credentials=false",
		"--service-account-private-key-file="+c.File("accounts.key"), "--root-ca-file="+c.File("ca.crt"),
		"--controllers="+strings.Join(controllers, ","))
}

// WriteKubeconfig writes a kubeconfig for this kind of authentication: cert or token for a scheduler, admin
// for the administrator. It returns the path.
func (c *ControlPlane) WriteKubeconfig(url, name, auth string) (string, error) {
	if auth == "token" {
		return c.WriteTokenKubeconfig(url, name, c.Token)
	}
	subject := pkix.Name{CommonName: "system:kube-scheduler"}
	if auth == "admin" {
		subject = pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}}
	}
	return c.WriteCertificateKubeconfig(url, name, subject)
}

// WriteCertificateKubeconfig writes a kubeconfig for a user with a client certificate.
func (c *ControlPlane) WriteCertificateKubeconfig(url, name string, subject pkix.Name) (string, error) {
	pair, err := c.Authority.Sign(subject, false)
	if err != nil {
		return "", err
	}
	return c.writeKubeconfig(url, name, &clientcmdapi.AuthInfo{ClientCertificateData: pair.Certificate, ClientKeyData: pair.Key})
}

// WriteTokenKubeconfig writes a kubeconfig for a token.
func (c *ControlPlane) WriteTokenKubeconfig(url, name, token string) (string, error) {
	return c.writeKubeconfig(url, name, &clientcmdapi.AuthInfo{Token: token})
}

func (c *ControlPlane) writeKubeconfig(url, name string, user *clientcmdapi.AuthInfo) (string, error) {
	config := clientcmdapi.NewConfig()
	config.Clusters["end2end"] = &clientcmdapi.Cluster{Server: url, CertificateAuthorityData: c.Authority.PEM}
	config.AuthInfos["scheduler"] = user
	config.Contexts["end2end"] = &clientcmdapi.Context{Cluster: "end2end", AuthInfo: "scheduler"}
	config.CurrentContext = "end2end"
	path := c.File(name + ".kubeconfig")
	return path, clientcmd.WriteToFile(*config, path)
}

// SchedulerConfig is kube-scheduler's default configuration, the same in every profile. It contains the
// kubeconfig, because kube-scheduler ignores --kubeconfig with --config. The client's limits are so high that
// they do not take effect; VolumeBinding's timeout is short, but sufficient for a busy machine.
func SchedulerConfig(kubeconfig string, profiles ...string) string {
	return schedulerConfig(kubeconfig, noElection, profiles...)
}

func schedulerConfig(kubeconfig, election string, profiles ...string) string {
	var text strings.Builder
	fmt.Fprintf(&text, `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection:
  kubeconfig: %s
  qps: 5000
  burst: 5000
%sprofiles:
`, kubeconfig, election)
	for _, profile := range profiles {
		fmt.Fprintf(&text, `- schedulerName: %s
  pluginConfig:
  - name: VolumeBinding
    args:
      bindTimeoutSeconds: %d
`, profile, BindTimeoutSeconds)
	}
	return text.String()
}

// BindTimeoutSeconds is VolumeBinding's timeout.
const BindTimeoutSeconds = 6

// BuildReal runs the script tests/cluster/build, from the root of the tree or from tests/.
func BuildReal() (string, error) {
	for _, script := range []string{"tests/cluster/build", "cluster/build", "../build"} {
		if _, err := os.Stat(script); err != nil {
			continue
		}
		command := exec.Command(script)
		command.Stderr = os.Stderr
		out, err := command.Output()
		return strings.TrimSpace(string(out)), err
	}
	return "", errors.New("tests/cluster/build is not here; call this from the root of the tree or give --real")
}
