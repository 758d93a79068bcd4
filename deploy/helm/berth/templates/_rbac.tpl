{{/* Rules of the roles; tests/helm compares them with deploy/rbac and deploy/shadow. */}}

{{/* The state of the cluster, read only: modes shadow and extender. */}}
{{- define "berth.readRules" -}}
- apiGroups: [""]
  resources: [pods, nodes, namespaces, services, replicationcontrollers, persistentvolumes, persistentvolumeclaims]
  verbs: [list, watch]
- apiGroups: [apps]
  resources: [replicasets, statefulsets]
  verbs: [list, watch]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [list, watch]
- apiGroups: [storage.k8s.io]
  resources: [storageclasses, csinodes, csidrivers, csistoragecapacities, volumeattachments]
  verbs: [list, watch]
- apiGroups: [resource.k8s.io]
  resources: [deviceclasses, resourceclaims, resourceslices, devicetaintrules]
  verbs: [list, watch]
{{- end }}

{{/* What a scheduler writes. */}}
{{- define "berth.writeRules" -}}
# Pods: to schedule them, to evict pods of lower priority, and to read a pod again after the response to its binding
# was lost.
- apiGroups: [""]
  resources: [pods]
  verbs: [get, delete]
- apiGroups: [""]
  resources: [pods/binding]
  verbs: [create]
- apiGroups: [""]
  resources: [pods/status]
  verbs: [patch]
# Volumes: to bind a volume to a claim, and to set the selected node of a claim.
- apiGroups: [""]
  resources: [persistentvolumes, persistentvolumeclaims]
  verbs: [patch]
# Allocations of devices. API servers from 1.36 on also check resourceclaims/binding when a status is written.
- apiGroups: [resource.k8s.io]
  resources: [resourceclaims, resourceclaims/status, resourceclaims/binding]
  verbs: [patch]
# Claims for extended resources that a DeviceClass provides.
- apiGroups: [resource.k8s.io]
  resources: [resourceclaims]
  verbs: [create, delete]
# Events about pods; a repeated event increments the count of the first.
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
{{- end }}

{{/* Authentication and authorization of clients that read metrics and other endpoints. */}}
{{- define "berth.reviewRules" -}}
- apiGroups: [authentication.k8s.io]
  resources: [tokenreviews]
  verbs: [create]
- apiGroups: [authorization.k8s.io]
  resources: [subjectaccessreviews]
  verbs: [create]
{{- end }}

{{- define "berth.leaseRules" -}}
{{- $file := include "berth.configuration" . | fromYaml -}}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [{{ $file.leaderElection.resourceName }}]
  verbs: [get, update, watch]
# Creation cannot be restricted by name.
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]
# Events about new leaders; these use the core API group.
- apiGroups: [""]
  resources: [events]
  verbs: [create]
{{- end }}

{{- define "berth.authorityRules" -}}
# The certificate authorities for client certificates.
- apiGroups: [""]
  resources: [configmaps]
  resourceNames: [extension-apiserver-authentication]
  verbs: [get, list, watch]
{{- end }}

{{/* Pod groups, whose condition PodGroupInitiallyScheduled a scheduler writes. */}}
{{- define "berth.podGroupRules" -}}
- apiGroups: [scheduling.k8s.io]
  resources: [podgroups, compositepodgroups]
  verbs: [list, watch]
{{- if has .Values.mode (list "second" "replacement") }}
- apiGroups: [scheduling.k8s.io]
  resources: [podgroups/status]
  verbs: [patch]
{{- end }}
{{- end }}

{{/* Groups of other projects, which the plugins Gangs and Coscheduling read. */}}
{{- define "berth.gangRules" -}}
- apiGroups: [scheduling.x-k8s.io, scheduling.volcano.sh]
  resources: [podgroups]
  verbs: [list, watch]
- apiGroups: [batch]
  resources: [jobs]
  verbs: [list, watch]
{{- end }}

{{/* Elastic quotas, which the plugin CapacityScheduling reads. */}}
{{- define "berth.quotaRules" -}}
- apiGroups: [scheduling.x-k8s.io, scheduling.sigs.k8s.io]
  resources: [elasticquotas]
  verbs: [list, watch]
{{- end }}

{{/* Topologies of nodes, which the plugin NodeResourceTopologyMatch reads. */}}
{{- define "berth.numaRules" -}}
- apiGroups: [topology.node.k8s.io]
  resources: [noderesourcetopologies]
  verbs: [list, watch]
{{- end }}

{{/* Priority classes, which the plugin PreemptionToleration reads. */}}
{{- define "berth.priorityClassRules" -}}
- apiGroups: [scheduling.k8s.io]
  resources: [priorityclasses]
  verbs: [list, watch]
{{- end }}

{{/* All rules of the cluster role. */}}
{{- define "berth.clusterRules" -}}
{{ include "berth.readRules" . }}
{{- if has .Values.mode (list "second" "replacement") }}
{{ include "berth.writeRules" . }}
{{- end }}
{{- if eq (include "berth.reviews" .) "true" }}
{{ include "berth.reviewRules" . }}
{{- end }}
{{- if and (eq .Values.mode "extender") .Values.extender.bind }}
- apiGroups: [""]
  resources: [pods/binding]
  verbs: [create]
{{- end }}
{{- end }}

{{/* "true" if Berth authenticates and authorizes clients by requests to the API server. */}}
{{- define "berth.reviews" -}}
{{- or (has .Values.mode (list "second" "replacement")) (and (eq .Values.mode "shadow") .Values.shadow.reviews) }}
{{- end }}

{{/* The name of cluster roles contains the namespace outside of kube-system, so that releases do not share them. */}}
{{- define "berth.clusterName" -}}
{{- $name := include "berth.fullname" . }}
{{- ternary $name (printf "%s-%s" .Release.Namespace $name) (eq .Release.Namespace "kube-system") }}
{{- end }}

{{/* A role and its binding. Arguments: root, name, rules; a Role if there is a namespace, else a ClusterRole. */}}
{{- define "berth.role" -}}
{{- $kind := ternary "Role" "ClusterRole" (hasKey . "namespace") -}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}
metadata:
  name: {{ .name }}
  {{- with .namespace }}
  namespace: {{ . }}
  {{- end }}
  labels:
    {{- include "berth.labels" .root | nindent 4 }}
rules:
{{ .rules | trim }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}Binding
metadata:
  name: {{ .name }}
  {{- with .namespace }}
  namespace: {{ . }}
  {{- end }}
  labels:
    {{- include "berth.labels" .root | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ $kind }}
  name: {{ .name }}
subjects:
- kind: ServiceAccount
  name: {{ include "berth.account" .root }}
  namespace: {{ .root.Release.Namespace }}
{{ end }}
