package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"berth.test/cluster/controlplane"
)

// plugin loads examples/loaded-plugins/headroom.c from a ConfigMap.
func (s *stage) plugin(ctx context.Context) error {
	first, err := s.kubeScheduler("kube-scheduler-plugin", false)
	if err != nil {
		return err
	}
	defer first.Stop()
	root := filepath.Join(s.chart, "../../..")
	library := s.control.File("headroom.so")
	if _, err := s.run(ctx, "cc", "-std=c99", "-O2", "-s", "-shared", "-fPIC", "-I"+root+"/src/scheduler/plugin_host",
		root+"/examples/loaded-plugins/headroom.c", "-o", library); err != nil {
		return err
	}
	if _, err := s.control.Kubectl(ctx, nil, "-n", system, "create", "configmap", "headroom", "--from-file="+library); err != nil {
		return err
	}
	return s.withPods(ctx,
		func(ctx context.Context) error {
			_, err := s.install(ctx, "berth", `replicas: 1
plugins: [{name: headroom, file: headroom.so, configMap: headroom}]
configuration: {profiles: [{schedulerName: roomy, plugins: {multiPoint: {enabled: [{name: Headroom}]}}}]}
`)
			return err
		},
		func(ctx context.Context) error { return s.placed(ctx, "with-plugin", "roomy", "roomy") },
		s.checked,
		func(ctx context.Context) error { return s.uninstall(ctx, "berth") },
	)
}

// replacement installs Berth beside kube-scheduler with the same lease, stops kube-scheduler, and starts it again.
func (s *stage) replacement(ctx context.Context) error {
	first, err := s.kubeScheduler("kube-scheduler-leading", true)
	if err != nil {
		return err
	}
	defer func() { first.Stop() }()
	return s.withPods(ctx,
		func(ctx context.Context) error {
			_, err := s.install(ctx, "berth", "mode: replacement\nreplicas: 2\n")
			return err
		},
		func(ctx context.Context) error {
			return s.placed(ctx, "before", "default-scheduler", "default-scheduler")
		},
		func(ctx context.Context) error {
			first.Stop()
			if _, err := s.holder(ctx, "kube-scheduler"); err != nil {
				return err
			}
			return s.placed(ctx, "replaced", "default-scheduler", "default-scheduler")
		},
		func(ctx context.Context) error {
			_, err := s.helmDoes(ctx, "test", "berth")
			return err
		},
		s.checked,
		func(ctx context.Context) (err error) {
			if first, err = s.kubeScheduler("kube-scheduler-back", true); err != nil {
				return err
			}
			if err := s.uninstall(ctx, "berth"); err != nil {
				return err
			}
			return s.placed(ctx, "back", "default-scheduler", "default-scheduler")
		},
	)
}

// shadow compares kube-scheduler's decisions, and its report is readable with an administrator's certificate.
func (s *stage) shadow(ctx context.Context) error {
	first, err := s.kubeScheduler("kube-scheduler-watched", false)
	if err != nil {
		return err
	}
	defer first.Stop()
	admin, err := s.client(pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}})
	if err != nil {
		return err
	}
	for _, reviews := range []bool{false, true} {
		err := s.withPods(ctx,
			func(ctx context.Context) error {
				_, err := s.install(ctx, "observer", fmt.Sprintf("mode: shadow\nshadow: {reviews: %t}\n", reviews))
				return err
			},
			func(ctx context.Context) error {
				return s.placed(ctx, fmt.Sprintf("watched-%t", reviews), "default-scheduler", "default-scheduler")
			},
			func(ctx context.Context) error {
				return controlplane.Until(ctx, stepTimeout, "the report to contain a decision", func() (bool, error) {
					for _, c := range s.pods.Replicas() {
						status, text, err := send(ctx, admin, http.MethodGet, "https://"+c.Address+":10259/debug/berth/shadow", "")
						if err != nil {
							return false, err
						}
						if status != http.StatusOK {
							return false, fmt.Errorf("the report with reviews %t: status %d: %s", reviews, status, text)
						}
						if strings.Contains(text, "profile default-scheduler: ") && !strings.Contains(text, "profile default-scheduler: 0 ") {
							return true, nil
						}
					}
					return false, nil
				})
			},
			s.checked,
			func(ctx context.Context) error { return s.uninstall(ctx, "observer") },
		)
		if err != nil {
			return err
		}
	}
	return nil
}

// extender serves filter to clients with a certificate, and bind only with extender.bind.
func (s *stage) extender(ctx context.Context) error {
	first, err := s.kubeScheduler("kube-scheduler-extended", false)
	if err != nil {
		return err
	}
	defer first.Stop()
	serving, err := s.control.Authority.Sign(pkix.Name{CommonName: "berth-extender"}, true)
	if err != nil {
		return err
	}
	secrets := fmt.Sprintf(`apiVersion: v1
kind: Secret
metadata: {name: serving, namespace: kube-system}
type: kubernetes.io/tls
data: {tls.crt: %s, tls.key: %s}
---
apiVersion: v1
kind: Secret
metadata: {name: clients, namespace: kube-system}
data: {ca.crt: %s}
`, base64.StdEncoding.EncodeToString(serving.Certificate), base64.StdEncoding.EncodeToString(serving.Key), base64.StdEncoding.EncodeToString(s.control.Authority.PEM))
	if _, err := s.control.Kubectl(ctx, strings.NewReader(secrets), "create", "-f", "-"); err != nil {
		return err
	}
	known, err := s.client(pkix.Name{CommonName: "scheduler"})
	if err != nil {
		return err
	}
	return s.withPods(ctx,
		func(ctx context.Context) error {
			_, err := s.install(ctx, "ext", "mode: extender\nservingCertificateSecret: serving\nextender: {clientCASecret: clients}\n")
			return err
		},
		func(ctx context.Context) error {
			if count := len(s.pods.Replicas()); count != 2 {
				s.AddError("%d replicas of the extender run, not 2", count)
			}
			for name, c := range s.pods.Replicas() {
				for what, client := range map[string]*http.Client{"with": known, "without": {Transport: unverified(), Timeout: 10 * time.Second}} {
					status, text, err := send(ctx, client, http.MethodPost, "https://"+c.Address+":8443/filter", filterRequest)
					if err != nil {
						return err
					}
					if expected := map[string]int{"with": http.StatusOK, "without": http.StatusUnauthorized}[what]; status != expected {
						s.AddError("%s, %s a certificate: status %d, not %d: %s", name, what, status, expected, text)
					}
					var reply struct{ NodeNames []string }
					if what == "with" && (json.Unmarshal([]byte(text), &reply) != nil || len(reply.NodeNames) != 2) {
						s.AddError("%s: both nodes are feasible: %s", name, text)
					}
				}
			}
			return nil
		},
		func(ctx context.Context) error { return s.binds(ctx, known, http.StatusNotFound) },
		func(ctx context.Context) error {
			_, err := s.install(ctx, "ext", "mode: extender\nreplicas: 1\nservingCertificateSecret: serving\nextender: {clientCASecret: clients, bind: true}\n")
			return err
		},
		func(ctx context.Context) error {
			return controlplane.Until(ctx, stepTimeout, "the previous replicas to end", func() (bool, error) { return len(s.pods.Replicas()) == 1, nil })
		},
		func(ctx context.Context) error { return s.binds(ctx, known, http.StatusOK) },
		s.checked,
		func(ctx context.Context) error { return s.uninstall(ctx, "ext") },
	)
}

// binds sends a bind request for a new pod to one replica. With this status 200 the pod must be bound afterwards.
func (s *stage) binds(ctx context.Context, client *http.Client, expected int) error {
	name := fmt.Sprintf("bound-by-extender-%d", expected)
	pod, err := s.control.Client.CoreV1().Pods("default").Create(ctx, &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1.PodSpec{SchedulerName: "absent", Containers: []v1.Container{{Name: "c", Image: "example/app"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	request := fmt.Sprintf(`{"PodName":%q,"PodNamespace":"default","PodUID":%q,"Node":"node1"}`, name, pod.UID)
	for _, c := range s.pods.Replicas() {
		status, text, err := send(ctx, client, http.MethodPost, "https://"+c.Address+":8443/bind", request)
		if err != nil {
			return err
		}
		if status != expected {
			return fmt.Errorf("bind: status %d, not %d: %s", status, expected, text)
		}
		break
	}
	if expected != http.StatusOK {
		return nil
	}
	_, err = s.control.NodeOf(ctx, stepTimeout, name)
	return err
}

const filterRequest = `{"Pod":{"metadata":{"name":"p","namespace":"default","uid":"1"},"spec":{"containers":[{"name":"c"}]}},"Nodes":null,"NodeNames":["node1","node2"]}`

// client is a client with a certificate of the cluster's authority.
func (s *stage) client(name pkix.Name) (*http.Client, error) {
	pair, err := s.control.Authority.Sign(name, false)
	if err != nil {
		return nil, err
	}
	certificate, err := tls.X509KeyPair(pair.Certificate, pair.Key)
	if err != nil {
		return nil, err
	}
	transport := unverified()
	transport.TLSClientConfig.Certificates = []tls.Certificate{certificate}
	return &http.Client{Transport: transport, Timeout: 10 * time.Second}, nil
}

// unverified accepts every certificate: those of the pods are not for their addresses here.
func unverified() *http.Transport {
	return &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}
}

func send(ctx context.Context, client *http.Client, method, url, body string) (int, string, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader([]byte(body)))
	if err != nil {
		return 0, "", err
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text), err
}
