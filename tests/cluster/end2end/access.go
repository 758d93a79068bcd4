package main

import (
	"bufio"
	"context"
	"crypto/x509/pkix"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"berth.test/cluster/controlplane"
)

// way is a way to connect to the API server and to authenticate.
type way struct {
	name string
	// prepare creates a kubeconfig, and the value of KUBECONFIG to use instead of a flag, if any.
	prepare func(*controlplane.ControlPlane, *clientcmdapi.Config) (environment string, err error)
	// used checks that this way was really used.
	used func() error
}

// runAccess connects the scheduler in every way to real servers, and binds some pods.
func runAccess(ctx context.Context, o *options, directory string, out io.Writer) error {
	printf := newPrinter(out)
	children := &controlplane.Children{Directory: directory}
	defer children.StopAll()
	control, err := controlplane.Start(ctx, o.Real, directory, children)
	if err != nil {
		return err
	}
	ways, err := allWays(control)
	if err != nil {
		return err
	}
	const perWay = 10
	work := newPlainWorkload(20, perWay*len(ways))
	if err := work.prepare(ctx, control.Client); err != nil {
		return err
	}
	reader, err := startReader(ctx, control.Client)
	if err != nil {
		return err
	}
	defer reader.stop()
	for i, w := range ways {
		if err := tryWay(ctx, o, control, children, w, fmt.Sprint("way-", i), reader, &workload{fitting: work.fitting[i*perWay : (i+1)*perWay]}); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		printf("%s: all bound", w.name)
	}
	return verdict(reader.history().check(work), out, printf)
}

func tryWay(ctx context.Context, o *options, control *controlplane.ControlPlane, children *controlplane.Children, w way, name string, r *reader, work *workload) error {
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: control.URL, CertificateAuthorityData: control.Authority.PEM}
	config.AuthInfos["u"] = clientcmdapi.NewAuthInfo()
	config.AuthInfos["u"].Token = control.Token
	config.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.CurrentContext = "x"
	environment, err := w.prepare(control, config)
	if err != nil {
		return err
	}
	ports, err := controlplane.FreePorts(1)
	if err != nil {
		return err
	}
	command := o.scheduler
	args := o.berthFlags(ports[0])
	if environment != "" {
		command = append([]string{"env", environment}, command...)
		args = append(args, "--berth-use-kubeconfig-variable")
	} else {
		path := control.File(name + ".kubeconfig")
		if err := clientcmd.WriteToFile(*config, path); err != nil {
			return err
		}
		args = append(args, "--kubeconfig="+path)
	}
	scheduler, err := children.Start(name, command, args...)
	if err != nil {
		return err
	}
	defer scheduler.Stop()
	if err := bindAll(ctx, control, r, work.fitting, scheduler); err != nil {
		return err
	}
	if w.used == nil {
		return nil
	}
	return w.used()
}

func allWays(control *controlplane.ControlPlane) ([]way, error) {
	tunnels, err := startConnectProxy("user", "pass")
	if err != nil {
		return nil, err
	}
	socks, err := startSocksProxy()
	if err != nil {
		return nil, err
	}
	carried := func(count *atomic.Int64) func() error {
		return func() error {
			if count.Load() == 0 {
				return fmt.Errorf("nothing came through the proxy")
			}
			return nil
		}
	}
	return []way{
		{name: "a plugin with a token, not believed at first", prepare: tokenPlugin, used: func() error { return ranTwice(control) }},
		{name: "a plugin with a certificate", prepare: certificatePlugin},
		{name: "an HTTP proxy with a password", prepare: func(_ *controlplane.ControlPlane, config *clientcmdapi.Config) (string, error) {
			config.Clusters["c"].ProxyURL = "http://user:pass@" + tunnels.address
			return "", nil
		}, used: carried(&tunnels.count)},
		{name: "a SOCKS5 proxy", prepare: func(_ *controlplane.ControlPlane, config *clientcmdapi.Config) (string, error) {
			config.Clusters["c"].ProxyURL = "socks5://" + socks.address
			return "", nil
		}, used: carried(&socks.count)},
		{name: "three merged files", prepare: threeFiles},
	}, nil
}

// tokenPlugin first returns an invalid token, then the valid one.
func tokenPlugin(control *controlplane.ControlPlane, config *clientcmdapi.Config) (string, error) {
	script := fmt.Sprintf(`#!/bin/sh
case "$KUBERNETES_EXEC_INFO" in
*'"server":"%s"'*) ;;
*) echo "what is my cluster? $KUBERNETES_EXEC_INFO" >&2; exit 3 ;;
esac
[ "$GREETING" = hello ] && [ "$1" = argument ] || exit 4
token=wrong
[ -e '%s' ] && token=%s
echo run >> '%s'
echo '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"'$token'"}}'
`, control.URL, control.File("plugin.runs"), control.Token, control.File("plugin.runs"))
	if err := os.WriteFile(control.File("token-plugin"), []byte(script), 0o700); err != nil {
		return "", err
	}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{Exec: &clientcmdapi.ExecConfig{
		APIVersion: "client.authentication.k8s.io/v1", Command: "./token-plugin", Args: []string{"argument"},
		Env:                []clientcmdapi.ExecEnvVar{{Name: "GREETING", Value: "hello"}},
		ProvideClusterInfo: true, InteractiveMode: clientcmdapi.NeverExecInteractiveMode,
	}}
	return "", nil
}

func ranTwice(control *controlplane.ControlPlane) error {
	text, err := os.ReadFile(control.File("plugin.runs"))
	if err != nil {
		return err
	}
	// At most twice by each of the two clients, the second of which writes events.
	if runs := strings.Count(string(text), "run"); runs < 2 || runs > 4 {
		return fmt.Errorf("the plugin ran %d times", runs)
	}
	return nil
}

func certificatePlugin(control *controlplane.ControlPlane, config *clientcmdapi.Config) (string, error) {
	pair, err := control.Authority.Sign(pkix.Name{CommonName: "system:kube-scheduler"}, false)
	if err != nil {
		return "", err
	}
	credential, err := json.Marshal(map[string]any{
		"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1beta1",
		"status": map[string]string{"clientCertificateData": string(pair.Certificate), "clientKeyData": string(pair.Key)},
	})
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(control.File("credential.json"), credential, 0o600); err != nil {
		return "", err
	}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{Exec: &clientcmdapi.ExecConfig{
		APIVersion: "client.authentication.k8s.io/v1beta1", Command: "cat", Args: []string{control.File("credential.json")},
		InteractiveMode: clientcmdapi.IfAvailableExecInteractiveMode,
	}}
	return "", nil
}

// threeFiles splits the configuration; for a known name later files are ignored.
func threeFiles(control *controlplane.ControlPlane, config *clientcmdapi.Config) (string, error) {
	parts := []*clientcmdapi.Config{clientcmdapi.NewConfig(), clientcmdapi.NewConfig(), clientcmdapi.NewConfig()}
	parts[0].Clusters["c"] = config.Clusters["c"]
	parts[1].AuthInfos = config.AuthInfos
	parts[1].Clusters["c"] = &clientcmdapi.Cluster{Server: "https://127.0.0.1:1"}
	parts[2].Contexts, parts[2].CurrentContext = config.Contexts, config.CurrentContext
	var paths []string
	for i, part := range parts {
		path := filepath.Join(control.Directory, fmt.Sprint("part-", i))
		if err := clientcmd.WriteToFile(*part, path); err != nil {
			return "", err
		}
		paths = append(paths, path, path+"-that-is-not-there")
	}
	return "KUBECONFIG=" + strings.Join(paths, ":"), nil
}

// proxy forwards connections and counts them.
type proxy struct {
	address string
	count   atomic.Int64
}

func startConnectProxy(user, password string) (*proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{address: listener.Addr().String()}
	go http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requested := http.Request{Header: http.Header{"Authorization": r.Header["Proxy-Authorization"]}}
		if u, pw, _ := requested.BasicAuth(); r.Method != http.MethodConnect || u != user || pw != password {
			http.Error(w, "who are you?", http.StatusProxyAuthRequired)
			return
		}
		server, err := net.Dial("tcp", r.Host)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		w.WriteHeader(http.StatusOK)
		client, buffered, err := w.(http.Hijacker).Hijack()
		if err != nil {
			server.Close()
			return
		}
		p.count.Add(1)
		join(client, buffered, server)
	}))
	return p, nil
}

// startSocksProxy implements the minimum of RFC 1928: no authentication, CONNECT to an IPv4 address.
func startSocksProxy() (*proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{address: listener.Addr().String()}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go p.socks(client)
		}
	}()
	return p, nil
}

func (p *proxy) socks(client net.Conn) {
	greeting := make([]byte, 2)
	if _, err := io.ReadFull(client, greeting); err != nil || greeting[0] != 5 {
		client.Close()
		return
	}
	io.CopyN(io.Discard, client, int64(greeting[1]))
	client.Write([]byte{5, 0})
	request := make([]byte, 10)
	if _, err := io.ReadFull(client, request); err != nil || request[1] != 1 || request[3] != 1 {
		client.Write([]byte{5, 7, 0, 1, 0, 0, 0, 0, 0, 0})
		client.Close()
		return
	}
	target := &net.TCPAddr{IP: net.IP(request[4:8]), Port: int(request[8])<<8 | int(request[9])}
	server, err := net.DialTCP("tcp", nil, target)
	if err != nil {
		client.Write([]byte{5, 5, 0, 1, 0, 0, 0, 0, 0, 0})
		client.Close()
		return
	}
	client.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	p.count.Add(1)
	join(client, client, server)
}

// join copies bytes in both directions until one side closes.
func join(client net.Conn, fromClient io.Reader, server net.Conn) {
	if buffered, ok := fromClient.(*bufio.ReadWriter); ok {
		fromClient = buffered.Reader
	}
	done := make(chan struct{}, 2)
	go func() { io.Copy(server, fromClient); done <- struct{}{} }()
	go func() { io.Copy(client, server); done <- struct{}{} }()
	<-done
	client.Close()
	server.Close()
}
