package main

import (
	"context"
	"crypto/x509/pkix"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"berth.test/cluster/controlplane"
)

// manager is a controller manager with webhooks, Kueue's or JobSet's.
type manager struct {
	name   string
	module string // of its CustomResourceDefinitions and webhooks
	// webhooks are those that the program serves, with the field that limits them as in the project's own installation.
	webhooks map[string]string
	// command is the command line for these ports and this directory with tls.crt and tls.key.
	command func(control *controlplane.ControlPlane, webhooks, health int, certificates string) ([]string, error)
}

// notOfSystem is the restriction of Kueue's webhooks for pods.
const notOfSystem = `namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system, kueue-system]}]}`

// ofJobSets is the restriction of JobSet's webhooks for pods.
const ofJobSets = `objectSelector: {matchExpressions: [{key: jobset.sigs.k8s.io/jobset-name, operator: Exists}]}`

func kueue(program, configuration string) manager {
	return manager{
		name:   "kueue",
		module: "sigs.k8s.io/kueue@v0.17.0",
		webhooks: map[string]string{
			"mclusterqueue.kb.io": "", "vclusterqueue.kb.io": "", "vcohort.kb.io": "", "mresourceflavor.kb.io": "", "vresourceflavor.kb.io": "",
			"mworkload.kb.io": "", "vworkload.kb.io": "", "mjob.kb.io": "", "vjob.kb.io": "", "mjobset.kb.io": "", "vjobset.kb.io": "",
			"mpod.kb.io": notOfSystem, "vpod.kb.io": notOfSystem,
		},
		command: func(control *controlplane.ControlPlane, webhooks, health int, certificates string) ([]string, error) {
			file := control.File("kueue.yaml")
			text := fmt.Sprintf(kueueConfiguration, health, webhooks, certificates) + configuration
			return []string{program, "--config=" + file}, os.WriteFile(file, []byte(text), 0o600)
		},
	}
}

const kueueConfiguration = `apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
health: {healthProbeBindAddress: "127.0.0.1:%d"}
metrics: {bindAddress: "0"}
webhook: {host: 127.0.0.1, port: %d, certDir: %s}
leaderElection: {leaderElect: false}
internalCertManagement: {enable: false}
clientConnection: {qps: 500, burst: 500}
integrations: {frameworks: [batch/job, pod, jobset.x-k8s.io/jobset]}
`

func jobset(program string) manager {
	return manager{
		name:     "jobset",
		module:   "sigs.k8s.io/jobset@v0.11.1",
		webhooks: map[string]string{"mjobset.kb.io": "", "vjobset.kb.io": "", "mpod.kb.io": ofJobSets, "vpod.kb.io": ofJobSets},
		command: func(_ *controlplane.ControlPlane, webhooks, health int, certificates string) ([]string, error) {
			return []string{program, fmt.Sprintf("--webhook-port=%d", webhooks), fmt.Sprintf("--health=127.0.0.1:%d", health),
				"--certificates=" + certificates}, nil
		},
	}
}

// start creates the manager's definitions, starts it, and registers its webhooks when it serves them.
func (m manager) start(ctx context.Context, control *controlplane.ControlPlane, children *controlplane.Children) (*controlplane.Child, error) {
	module, err := controlplane.ModuleDirectory(m.module)
	if err != nil {
		return nil, err
	}
	components := filepath.Join(module, "config/components")
	if _, err := control.Kubectl(ctx, nil, "apply", "--server-side", "-f", filepath.Join(components, "crd/bases")); err != nil {
		return nil, err
	}
	if _, err := control.Kubectl(ctx, nil, "wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"); err != nil {
		return nil, err
	}
	certificates, err := m.writeCertificate(control)
	if err != nil {
		return nil, err
	}
	ports, err := controlplane.FreePorts(2)
	if err != nil {
		return nil, err
	}
	command, err := m.command(control, ports[0], ports[1], certificates)
	if err != nil {
		return nil, err
	}
	program, err := children.StartWith(m.name, command, "KUBECONFIG="+control.AdminKubeconfig)
	if err != nil {
		return nil, err
	}
	if err := untilReady(ctx, program, fmt.Sprintf("http://127.0.0.1:%d/readyz", ports[1])); err != nil {
		return nil, err
	}
	manifests, err := m.configurations(filepath.Join(components, "webhook/manifests.yaml"), fmt.Sprintf("https://127.0.0.1:%d", ports[0]), control.Authority.PEM)
	if err != nil {
		return nil, err
	}
	return program, control.Apply(ctx, manifests...)
}

// writeCertificate writes the webhooks' certificate and returns its directory.
func (m manager) writeCertificate(control *controlplane.ControlPlane) (string, error) {
	directory := control.File(m.name + "-certificates")
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return "", err
	}
	pair, err := control.Authority.Sign(pkix.Name{CommonName: m.name}, true)
	if err != nil {
		return "", err
	}
	return directory, pair.Write(directory, "tls")
}

func untilReady(ctx context.Context, program *controlplane.Child, url string) error {
	return controlplane.Until(ctx, 2*time.Minute, program.Name+" to be ready", func() (bool, error) {
		if !program.Running() {
			return false, program.Gone()
		}
		response, err := http.Get(url)
		if err != nil {
			return false, nil
		}
		defer response.Body.Close()
		return response.StatusCode == http.StatusOK, nil
	})
}

// configurations are the project's webhook configurations, with the webhooks that the program serves at this URL.
func (m manager) configurations(path, url string, authority []byte) ([]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var manifests []string
	for document := range strings.SplitSeq(string(text), "---\n") {
		if strings.TrimSpace(document) == "" {
			continue
		}
		var configuration struct {
			APIVersion string           `json:"apiVersion"`
			Kind       string           `json:"kind"`
			Metadata   map[string]any   `json:"metadata"`
			Webhooks   []map[string]any `json:"webhooks"`
		}
		if err := yaml.Unmarshal([]byte(document), &configuration); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		configuration.Metadata["name"] = m.name
		served := configuration.Webhooks[:0]
		for _, webhook := range configuration.Webhooks {
			restriction, found := m.webhooks[webhook["name"].(string)]
			if !found {
				continue
			}
			if restriction != "" {
				if err := yaml.Unmarshal([]byte(restriction), &webhook); err != nil {
					return nil, err
				}
			}
			service := webhook["clientConfig"].(map[string]any)["service"].(map[string]any)
			webhook["clientConfig"] = map[string]any{"url": url + service["path"].(string), "caBundle": base64.StdEncoding.EncodeToString(authority)}
			served = append(served, webhook)
		}
		configuration.Webhooks = served
		manifest, err := yaml.Marshal(configuration)
		if err != nil {
			return nil, err
		}
		manifests = append(manifests, string(manifest))
	}
	return manifests, nil
}
