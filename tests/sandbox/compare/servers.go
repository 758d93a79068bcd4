package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"berth.test/cluster/controlplane"
)

// server is one of the two compared servers.
type server struct {
	name   string
	url    string
	token  string
	client *http.Client
}

// processes are the programs of this run; they end with it.
type processes struct {
	directory string
	running   []*exec.Cmd
}

func (p *processes) start(name string, args ...string) error {
	log, err := os.Create(filepath.Join(p.directory, name+".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	command := exec.Command(args[0], args[1:]...)
	command.Dir = p.directory
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", name, err)
	}
	p.running = append(p.running, command)
	return nil
}

func (p *processes) stop() {
	for i := len(p.running) - 1; i >= 0; i-- {
		_ = p.running[i].Process.Kill()
		_ = p.running[i].Wait()
	}
}

// startReal runs etcd and kube-apiserver. The token has the permissions of system:masters. The self-signed certificate
// is not checked: the server is local.
func startReal(ctx context.Context, p *processes, program string) (*server, error) {
	ports, err := controlplane.FreePorts(3)
	if err != nil {
		return nil, err
	}
	const token = "compare"
	tokens := filepath.Join(p.directory, "tokens.csv")
	if err := os.WriteFile(tokens, []byte(token+",admin,admin,system:masters\n"), 0o600); err != nil {
		return nil, err
	}
	key, err := writeKey(p.directory)
	if err != nil {
		return nil, err
	}
	client, peerURL := fmt.Sprintf("http://127.0.0.1:%d", ports[0]), fmt.Sprintf("http://127.0.0.1:%d", ports[1])
	if err := p.start("etcd", program, "etcd",
		"--data-dir="+filepath.Join(p.directory, "etcd"), "--unsafe-no-fsync",
		"--listen-client-urls="+client, "--advertise-client-urls="+client,
		"--listen-peer-urls="+peerURL, "--initial-advertise-peer-urls="+peerURL, "--initial-cluster=default="+peerURL); err != nil {
		return nil, err
	}
	if err := p.start("kube-apiserver", program, "kube-apiserver",
		"--etcd-servers="+client, "--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", ports[2]),
		"--cert-dir="+filepath.Join(p.directory, "certificates"), "--token-auth-file="+tokens,
		"--authorization-mode=RBAC", "--service-cluster-ip-range=10.0.0.0/24",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file="+key, "--service-account-signing-key-file="+key,
		// No controller creates service accounts or removes the taint of new nodes.
		"--disable-admission-plugins=ServiceAccount,TaintNodesByCondition"); err != nil {
		return nil, err
	}
	s := &server{
		name: "kube-apiserver", url: fmt.Sprintf("https://127.0.0.1:%d", ports[2]), token: token,
		client: &http.Client{
			Timeout:   30 * time.Second,
			Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
		},
	}
	return s, s.await(ctx, "/api/v1/namespaces/default")
}

func startSandbox(ctx context.Context, p *processes, berth string, flags ...string) (*server, error) {
	ports, err := controlplane.FreePorts(1)
	if err != nil {
		return nil, err
	}
	args := append([]string{berth, "sandbox", "--nodes=0", "--no-controllers", "--pod-start=3600", "--pod-stop=3600", fmt.Sprintf("--port=%d", ports[0])}, flags...)
	if err := p.start("sandbox", args...); err != nil {
		return nil, err
	}
	s := &server{
		name: "sandbox", url: fmt.Sprintf("http://127.0.0.1:%d", ports[0]),
		client: &http.Client{Timeout: 30 * time.Second},
	}
	return s, s.await(ctx, "/api/v1/namespaces/default")
}

// await waits until the server responds at that path.
func (s *server) await(ctx context.Context, path string) error {
	last := errors.New("no request yet")
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); {
		var response *response
		if response, last = s.do(ctx, request{method: "GET", path: path}); last == nil {
			if response.status == http.StatusOK {
				return nil
			}
			last = fmt.Errorf("HTTP %d", response.status)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
	return fmt.Errorf("%s is not ready after two minutes: %w", s.name, last)
}
