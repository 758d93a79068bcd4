package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"berth.test/cluster/controlplane"
)

// holder is a scheduler with secrets in its configuration and the most verbose log.
type holder struct {
	name    string
	secrets map[string]string // description: secret
	user    *clientcmdapi.AuthInfo
	server  string // empty: the API server
	proxy   string
	flags   []string
	works   bool // otherwise the server or the kubeconfig is invalid, and the error text is checked
	corrupt func(text string) string
	child   *controlplane.Child
	answers string // of its endpoints
}

const lettersOnly = "qKzWvXyJpRtGmNbLsDfHcVxZ"

// holders returns one for each kind of credential, valid and invalid ones.
func (s *stage) holders(collector string) ([]*holder, error) {
	good, err := s.Authority.Sign(commonName("system:kube-scheduler"), false)
	if err != nil {
		return nil, err
	}
	headers := s.File("otlp-headers")
	if err := os.WriteFile(headers, []byte("Authorization: Bearer headers-"+lettersOnly+"\n"), 0o600); err != nil {
		return nil, err
	}
	tokenFile := s.File("token")
	if err := os.WriteFile(tokenFile, []byte(s.Token+"\n"), 0o600); err != nil {
		return nil, err
	}
	tracing := []string{"--berth-otlp-endpoint=" + collector, "--berth-otlp-headers-file=" + headers, "--berth-trace-ratio=1"}
	basic := &clientcmdapi.AuthInfo{Username: "anna", Password: "password-" + lettersOnly}
	return []*holder{
		{name: "token", works: true, user: &clientcmdapi.AuthInfo{Token: s.Token}, flags: tracing, secrets: map[string]string{
			"the token": s.Token, "the collector's token": "headers-" + lettersOnly}},
		{name: "token-file", works: true, user: &clientcmdapi.AuthInfo{TokenFile: tokenFile}, secrets: map[string]string{"the token": s.Token}},
		{name: "key", works: true, user: &clientcmdapi.AuthInfo{ClientCertificateData: good.Certificate, ClientKeyData: good.Key},
			flags: []string{"--tls-cert-file=" + s.File("apiserver.crt"), "--tls-private-key-file=" + s.File("apiserver.key")}, secrets: map[string]string{
				"the key": middle(good.Key), "the key in the kubeconfig": base64.StdEncoding.EncodeToString(good.Key)[40:80], "the server's key": middle(s.read("apiserver.key"))}},
		{name: "exec", works: true, user: &clientcmdapi.AuthInfo{Exec: &clientcmdapi.ExecConfig{APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: clientcmdapi.NeverExecInteractiveMode,
			Command: "/bin/sh", Args: []string{"-c", `printf '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"%s"}}' "$(cat ` + tokenFile + `)"`}}},
			secrets: map[string]string{"the token": s.Token}},
		{name: "password", user: basic, secrets: basicSecrets(basic)},
		{name: "wrong-token", user: &clientcmdapi.AuthInfo{Token: "wrong-" + lettersOnly}, secrets: map[string]string{"the token": "wrong-" + lettersOnly}},
		{name: "proxy", proxy: "http://anna:proxy-" + lettersOnly + "@127.0.0.1:1", user: &clientcmdapi.AuthInfo{Token: s.Token}, secrets: map[string]string{
			"the token": s.Token, "the proxy's password": "proxy-" + lettersOnly, "the same in base64": base64.StdEncoding.EncodeToString([]byte("anna:proxy-" + lettersOnly))}},
		{name: "odd-proxy", proxy: "odd://anna:proxy-" + lettersOnly + "@127.0.0.1:1", user: &clientcmdapi.AuthInfo{Token: s.Token}, secrets: map[string]string{
			"the token": s.Token, "the proxy's password": "proxy-" + lettersOnly}},
		{name: "server", server: "https://anna:server-" + lettersOnly + "@127.0.0.1:1", user: &clientcmdapi.AuthInfo{}, secrets: map[string]string{"the password": "server-" + lettersOnly}},
		{name: "two-ways", user: &clientcmdapi.AuthInfo{Token: s.Token, Username: basic.Username, Password: basic.Password}, secrets: basicSecrets(basic)},
		// The parser has already read the secret when it reports the error.
		{name: "broken", user: basic, secrets: basicSecrets(basic), corrupt: func(text string) string {
			return strings.ReplaceAll(text, "password: ", "password: [")
		}},
		{name: "misspelt", user: basic, secrets: basicSecrets(basic), corrupt: func(text string) string {
			return strings.ReplaceAll(text, "password: ", "password: {a: b}\n    pasword: ")
		}},
		{name: "wrong-type", user: basic, secrets: basicSecrets(basic), corrupt: func(text string) string {
			return strings.ReplaceAll(text, "password: ", "client-key-data: ")
		}},
	}, nil
}

func basicSecrets(user *clientcmdapi.AuthInfo) map[string]string {
	return map[string]string{"the password": user.Password,
		"the same in base64": base64.StdEncoding.EncodeToString([]byte(user.Username + ":" + user.Password))}
}

// middle returns the part of a key that is unique.
func middle(key []byte) string {
	block, _ := pem.Decode(key)
	return base64.StdEncoding.EncodeToString(block.Bytes)[64:124]
}

func (s *stage) read(name string) []byte {
	text, _ := os.ReadFile(s.File(name))
	return text
}

// checkSecrets searches all output of berth for secrets.
func (s *stage) checkSecrets(ctx context.Context) ([]string, error) {
	var shown atomic.Pointer[string] // sent to the collector
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		token := r.Header.Get("Authorization")
		shown.Store(&token)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer collector.Close()
	holders, err := s.holders(collector.URL)
	if err != nil {
		return nil, err
	}
	for _, h := range holders {
		if err := s.launch(h); err != nil {
			return nil, fmt.Errorf("%s: %w", h.name, err)
		}
	}
	// An attempt that is traced, logged and written as an event.
	pods := s.Client.CoreV1().Pods("default")
	if _, err := pods.Create(ctx, unschedulablePod(), metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline) && shown.Load() == nil; {
		if err := controlplane.Pause(ctx, 100*time.Millisecond); err != nil {
			return nil, err
		}
	}
	if err := pods.Delete(ctx, unschedulablePod().Name, metav1.DeleteOptions{}); err != nil {
		return nil, err
	}
	var found []string
	for _, h := range holders {
		if h.works {
			s.request(h)
		}
		h.child.Signal(syscall.SIGTERM)
	}
	for _, h := range holders {
		h.child.Exited(10 * time.Second)
		log := string(s.read("secrets-" + h.name + ".log"))
		if works := strings.Contains(log, "Caches are synced"); works != h.works || log == "" {
			found = append(found, fmt.Sprintf("%s: works: %v, not %v; see secrets-%s.log", h.name, works, h.works, h.name))
		}
		for what, secret := range h.secrets {
			if strings.Contains(log, secret) {
				found = append(found, fmt.Sprintf("%s: %s is in the log", h.name, what))
			}
			if strings.Contains(h.answers, secret) {
				found = append(found, fmt.Sprintf("%s: %s is in a response", h.name, what))
			}
		}
	}
	if token := shown.Load(); token == nil || *token != "Bearer headers-"+lettersOnly {
		found = append(found, "the collector got no token")
	}
	events, err := s.Client.CoreV1().Events("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(events)
	if err != nil {
		return nil, err
	}
	if len(events.Items) == 0 {
		found = append(found, "there are no events")
	}
	for _, h := range holders {
		for what, secret := range h.secrets {
			if bytes.Contains(text, []byte(secret)) {
				found = append(found, fmt.Sprintf("%s: %s is in an event", h.name, what))
			}
		}
	}
	return found, nil
}

// unschedulablePod fits no node.
func unschedulablePod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "unschedulable", Namespace: "default"},
		Spec: corev1.PodSpec{NodeSelector: map[string]string{"no": "where"},
			Containers: []corev1.Container{{Name: "a", Image: "a"}}},
	}
}

// launch starts one.
func (s *stage) launch(h *holder) error {
	name := "secrets-" + h.name
	config := clientcmdapi.NewConfig()
	cluster := &clientcmdapi.Cluster{Server: s.URL, CertificateAuthorityData: s.Authority.PEM, ProxyURL: h.proxy}
	if h.server != "" {
		cluster.Server = h.server
	}
	config.Clusters["c"], config.AuthInfos["u"] = cluster, h.user
	config.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.CurrentContext = "x"
	text, err := clientcmd.Write(*config)
	if err != nil {
		return err
	}
	if h.corrupt != nil {
		text = []byte(h.corrupt(string(text)))
	}
	kubeconfig := s.File(name + ".kubeconfig")
	if err := os.WriteFile(kubeconfig, text, 0o600); err != nil {
		return err
	}
	ports, err := controlplane.FreePorts(1)
	if err != nil {
		return err
	}
	h.child, err = s.children.Start(name, []string{s.berth, "scheduler"}, append([]string{"-v=10", "--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		"--leader-elect-resource-name=" + name, "--leader-elect=true", "--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", ports[0]),
		"--berth-http-address=127.0.0.1:0"}, h.flags...)...)
	s.secretPorts[h.name] = ports[0]
	return err
}

// request requests every endpoint, also with tokens, which are secret, too.
func (s *stage) request(h *holder) {
	s.ports[h.name] = s.secretPorts[h.name]
	defer delete(s.ports, h.name)
	h.secrets["a client's token"] = s.tokens["scraper"]
	h.secrets["a client's wrong token"] = s.tokens["wrong"]
	for _, token := range []string{"scraper", "wrong"} {
		_, _ = s.send(h.name, request{path: "/metrics", token: token})
	}
	for _, path := range []string{"/configz", "/flagz", "/statusz", "/metrics", "/metrics/resources", "/readyz?verbose"} {
		answer, err := s.send(h.name, request{path: path, cert: "master"})
		if err != nil || answer.status != http.StatusOK {
			h.answers += fmt.Sprintf("%s: %v %v", path, answer, err)
			continue
		}
		h.answers += answer.body
	}
}
