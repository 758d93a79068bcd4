package main

import (
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

var began = metav1.NewTime(time.Date(2026, 10, 1, 8, 30, 0, 0, time.UTC))

// deployed is the i-th pod of a Deployment as the API server returns it: two containers, platform additions and managed
// fields. 8 KB of JSON. Without a node it is pending.
func deployed(i int, node string) *v1.Pod {
	replicaSet := "checkout-service-7d9c5b6f48"
	token := fmt.Sprintf("kube-api-access-%05x", i)
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("%s-%05x", replicaSet, i), GenerateName: replicaSet + "-", Namespace: "shop",
			UID: types.UID(fmt.Sprintf("%08x-5a1e-4c6b-9d3f-%012x", i, i)), ResourceVersion: fmt.Sprint(100000 + i), Generation: 1,
			CreationTimestamp: began,
			Labels: map[string]string{"app.kubernetes.io/name": "checkout-service", "app.kubernetes.io/part-of": "shop",
				"app.kubernetes.io/version": "1.42.0", "pod-template-hash": "7d9c5b6f48", "team": "payments"},
			Annotations: map[string]string{"prometheus.io/scrape": "true", "prometheus.io/port": "9090",
				"checksum/config": strings.Repeat("0af3", 16), "kubectl.kubernetes.io/restartedAt": "2026-09-30T22:14:03Z"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: replicaSet,
				UID: "c1f1a7f2-30cf-4a5e-8f0b-6e3b7b4f0b11", Controller: new(true), BlockOwnerDeletion: new(true)}},
			ManagedFields: []metav1.ManagedFieldsEntry{managed("kube-controller-manager", "", "f:metadata f:generateName f:annotations "+
				"f:labels f:ownerReferences f:spec f:containers f:env f:image f:imagePullPolicy f:livenessProbe f:failureThreshold "+
				"f:httpGet f:path f:port f:scheme f:initialDelaySeconds f:periodSeconds f:successThreshold f:timeoutSeconds f:name "+
				"f:ports f:readinessProbe f:resources f:limits f:cpu f:memory f:requests f:securityContext f:terminationMessagePath "+
				"f:terminationMessagePolicy f:volumeMounts f:dnsPolicy f:enableServiceLinks f:restartPolicy f:schedulerName f:volumes")},
		},
		Spec: v1.PodSpec{
			Containers:    []v1.Container{container("main", "registry.internal/shop/checkout-service:1.42.0", token, "250m", "512Mi"), container("proxy", "registry.internal/mesh/proxy:v1.24.2", token, "50m", "64Mi")},
			RestartPolicy: v1.RestartPolicyAlways, TerminationGracePeriodSeconds: new(int64(30)), DNSPolicy: v1.DNSClusterFirst,
			ServiceAccountName: "checkout", DeprecatedServiceAccount: "checkout", NodeName: node, SchedulerName: "default-scheduler",
			SecurityContext:   &v1.PodSecurityContext{RunAsNonRoot: new(true), FSGroup: new(int64(2000))},
			PriorityClassName: "standard", Priority: new(int32(1000)), PreemptionPolicy: new(v1.PreemptLowerPriority), EnableServiceLinks: new(true),
			Tolerations: []v1.Toleration{
				{Key: v1.TaintNodeNotReady, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: new(int64(300))},
				{Key: v1.TaintNodeUnreachable, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: new(int64(300))}},
			TopologySpreadConstraints: []v1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.ScheduleAnyway,
				LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/name": "checkout-service"}}}},
			Volumes: []v1.Volume{
				{Name: "config", VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: "checkout-config"}, DefaultMode: new(int32(420))}}},
				{Name: "tmp", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}},
				{Name: token, VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{DefaultMode: new(int32(420)), Sources: []v1.VolumeProjection{
					{ServiceAccountToken: &v1.ServiceAccountTokenProjection{ExpirationSeconds: new(int64(3607)), Path: "token"}},
					{ConfigMap: &v1.ConfigMapProjection{LocalObjectReference: v1.LocalObjectReference{Name: "kube-root-ca.crt"}, Items: []v1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}}}},
					{DownwardAPI: &v1.DownwardAPIProjection{Items: []v1.DownwardAPIVolumeFile{{Path: "namespace", FieldRef: &v1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"}}}}}}}}}},
		},
		Status: v1.PodStatus{Phase: v1.PodPending, QOSClass: v1.PodQOSBurstable},
	}
	if node != "" {
		running(pod, i)
	}
	return pod
}

// managed turns "f:a f:b" into {"f:a":{},"f:b":{}}.
func managed(manager, subresource, fields string) metav1.ManagedFieldsEntry {
	text := `{"` + strings.Join(strings.Fields(fields), `":{},"`) + `":{}}`
	return metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &began,
		FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{Raw: []byte(text)}, Subresource: subresource}
}

func container(name, image, token, cpu, memory string) v1.Container {
	amounts := v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse(memory)}
	probe := &v1.Probe{ProbeHandler: v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: "/healthz", Port: intstr.FromString("http"), Scheme: v1.URISchemeHTTP}},
		InitialDelaySeconds: 5, TimeoutSeconds: 1, PeriodSeconds: 10, SuccessThreshold: 1, FailureThreshold: 3}
	env := []v1.EnvVar{
		{Name: "POD_NAME", ValueFrom: &v1.EnvVarSource{FieldRef: &v1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.name"}}},
		{Name: "DATABASE_PASSWORD", ValueFrom: &v1.EnvVarSource{SecretKeyRef: &v1.SecretKeySelector{LocalObjectReference: v1.LocalObjectReference{Name: "checkout-db"}, Key: "password"}}},
		{Name: "LOG_LEVEL", Value: "info"}, {Name: "HTTP_PORT", Value: "8080"}, {Name: "OTEL_EXPORTER_OTLP_ENDPOINT", Value: "http://otel-collector.monitoring:4317"},
	}
	return v1.Container{Name: name, Image: image, Args: []string{"--config=/etc/checkout/config.yaml", "--listen=:8080"}, Env: env,
		Ports:     []v1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: v1.ProtocolTCP}, {Name: "metrics", ContainerPort: 9090, Protocol: v1.ProtocolTCP}},
		Resources: v1.ResourceRequirements{Limits: v1.ResourceList{v1.ResourceMemory: amounts[v1.ResourceMemory]}, Requests: amounts},
		VolumeMounts: []v1.VolumeMount{{Name: "config", ReadOnly: true, MountPath: "/etc/checkout"}, {Name: "tmp", MountPath: "/tmp"},
			{Name: token, ReadOnly: true, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"}},
		LivenessProbe: probe, ReadinessProbe: probe, TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: v1.TerminationMessageReadFile,
		ImagePullPolicy: v1.PullIfNotPresent, SecurityContext: &v1.SecurityContext{AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
			Capabilities: &v1.Capabilities{Drop: []v1.Capability{"ALL"}}}}
}

// running adds what the kubelet writes.
func running(pod *v1.Pod, i int) {
	pod.ManagedFields = append(pod.ManagedFields, managed("kubelet", "status", "f:status f:conditions f:lastProbeTime f:lastTransitionTime "+
		"f:status f:type f:containerStatuses f:hostIP f:hostIPs f:phase f:podIP f:podIPs f:startTime"))
	pod.Status.Phase, pod.Status.StartTime = v1.PodRunning, &began
	address := fmt.Sprintf("10.%d.%d.%d", i>>16&255, i>>8&255, i&255)
	pod.Status.HostIP, pod.Status.HostIPs = "192.168.7.9", []v1.HostIP{{IP: "192.168.7.9"}}
	pod.Status.PodIP, pod.Status.PodIPs = address, []v1.PodIP{{IP: address}}
	for _, kind := range []v1.PodConditionType{v1.PodReadyToStartContainers, v1.PodInitialized, v1.PodReady, v1.ContainersReady, v1.PodScheduled} {
		pod.Status.Conditions = append(pod.Status.Conditions, v1.PodCondition{Type: kind, ObservedGeneration: 1, Status: v1.ConditionTrue, LastTransitionTime: began})
	}
	for _, c := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, v1.ContainerStatus{Name: c.Name, Image: c.Image, Ready: true, Started: new(true),
			ImageID: "registry.internal/shop@sha256:" + strings.Repeat("7f", 32), ContainerID: "containerd://" + fmt.Sprintf("%064x", i),
			State:              v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: began}},
			AllocatedResources: c.Resources.Requests, Resources: &v1.ResourceRequirements{Limits: c.Resources.Limits, Requests: c.Resources.Requests}})
	}
}
