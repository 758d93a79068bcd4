{{/* The configuration file, and what other objects need from it. */}}

{{/* The defaults of the mode, as YAML. */}}
{{- define "berth.defaultConfiguration" -}}
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
{{- if eq .Values.mode "second" }}
leaderElection:
  leaderElect: true
  # A separate lease: with kube-scheduler's lease, only one of the two would schedule.
  resourceName: {{ include "berth.fullname" . }}
  resourceNamespace: {{ .Release.Namespace }}
profiles:
- schedulerName: {{ include "berth.fullname" . }}
{{- else if eq .Values.mode "replacement" }}
leaderElection:
  leaderElect: true
  resourceName: kube-scheduler
  resourceNamespace: kube-system
profiles:
- schedulerName: default-scheduler
{{- else if eq .Values.mode "shadow" }}
leaderElection:
  leaderElect: false
profiles:
- schedulerName: default-scheduler
{{- end }}
{{- end }}

{{/* The text of the file. */}}
{{- define "berth.configurationText" -}}
{{- if .Values.configurationFile }}{{ .Values.configurationFile }}
{{- else }}{{ mergeOverwrite (include "berth.defaultConfiguration" . | fromYaml) (deepCopy .Values.configuration) | toYaml }}
{{- end }}
{{- end }}

{{/* The same as a value, with kube-scheduler's defaults for the lease, as YAML. */}}
{{- define "berth.configuration" -}}
{{- $file := include "berth.configurationText" . | fromYaml }}
{{- if hasKey $file "Error" }}{{ fail (printf "configurationFile: no YAML object: %s" $file.Error) }}{{ end }}
{{- $lease := dict "leaderElect" true "resourceName" "kube-scheduler" "resourceNamespace" "kube-system" }}
{{- $file := set $file "leaderElection" (mergeOverwrite $lease (default dict $file.leaderElection)) }}
{{- if not $file.profiles }}{{ $file = set $file "profiles" (list dict) }}{{ end }}
{{- $names := list }}
{{- range $file.profiles }}{{ $names = append $names (default "default-scheduler" .schedulerName) }}{{ end }}
{{- set $file "schedulerNames" $names | toYaml }}
{{- end }}

{{/* "true" if a profile enables one of the plugins `names`. */}}
{{- define "berth.enables" -}}
{{- $names := .names }}
{{- $found := false }}
{{- range (include "berth.configuration" .root | fromYaml).profiles }}
{{- range $point, $set := (default dict .plugins) }}
{{- range (default list $set.enabled) }}{{ if has .name $names }}{{ $found = true }}{{ end }}{{ end }}
{{- end }}
{{- end }}
{{- $found }}
{{- end }}

{{/* "true" if a profile enables one of the plugins that read groups of other projects. */}}
{{- define "berth.readsGangs" -}}
{{- if kindIs "invalid" .Values.rbac.gangs }}{{ include "berth.enables" (dict "root" . "names" (list "Gangs" "Coscheduling")) }}{{ else }}{{ .Values.rbac.gangs }}{{ end }}
{{- end }}

{{/* "true" if a profile enables the plugin that reads elastic quotas. */}}
{{- define "berth.readsQuotas" -}}
{{- if kindIs "invalid" .Values.rbac.quotas }}{{ include "berth.enables" (dict "root" . "names" (list "CapacityScheduling")) }}{{ else }}{{ .Values.rbac.quotas }}{{ end }}
{{- end }}

{{/* "true" if a profile enables the plugin that reads topologies of nodes. */}}
{{- define "berth.readsTopologies" -}}
{{- if kindIs "invalid" .Values.rbac.numa }}{{ include "berth.enables" (dict "root" . "names" (list "NodeResourceTopologyMatch")) }}{{ else }}{{ .Values.rbac.numa }}{{ end }}
{{- end }}

{{/* "true" if a profile enables the plugin that reads priority classes. */}}
{{- define "berth.readsPriorityClasses" -}}
{{- if kindIs "invalid" .Values.rbac.priorityClasses }}{{ include "berth.enables" (dict "root" . "names" (list "PreemptionToleration")) }}{{ else }}{{ .Values.rbac.priorityClasses }}{{ end }}
{{- end }}

{{/* Combinations that the schema cannot express. */}}
{{- define "berth.check" -}}
{{- $mode := .Values.mode }}
{{- $file := include "berth.configuration" . | fromYaml }}
{{- $lease := printf "%s/%s" $file.leaderElection.resourceNamespace $file.leaderElection.resourceName }}
{{- $elects := $file.leaderElection.leaderElect }}
{{- if and .Values.configurationFile .Values.configuration }}
{{- fail "configuration and configurationFile: only one may be set" }}
{{- end }}
{{- if eq $mode "second" }}
{{- if and $elects (eq $lease "kube-system/kube-scheduler") }}
{{- fail "leaderElection.resourceName: kube-scheduler's own lease: with mode=second only one of the two would schedule. Set a name of its own, or mode=replacement" }}
{{- end }}
{{- if has "default-scheduler" $file.schedulerNames }}
{{- fail "profiles[].schedulerName: default-scheduler is kube-scheduler's: with mode=second both would bind the same pods. Set another name, or mode=replacement" }}
{{- end }}
{{- else if eq $mode "replacement" }}
{{- if or (not $elects) (ne $lease "kube-system/kube-scheduler") }}
{{- fail (printf "leaderElection: the lease is %s: mode=replacement needs kube-system/kube-scheduler, so that Berth and kube-scheduler never schedule at the same time" (ternary $lease "disabled" $elects)) }}
{{- end }}
{{- end }}
{{- if and (has $mode (list "second" "replacement")) (not $elects) (gt (int (include "berth.replicas" .)) 1) }}
{{- fail (printf "replicas: %s replicas without leaderElection.leaderElect would all schedule: set replicas=1" (include "berth.replicas" .)) }}
{{- end }}
{{- if and (eq $mode "shadow") $file.extenders }}
{{- fail "extenders: mode=shadow accepts no extenders, because each would receive every request twice" }}
{{- end }}
{{- if and (eq $mode "extender") .Values.extender.bind (not .Values.extender.clientCASecret) }}
{{- fail "extender.bind: needs extender.clientCASecret, otherwise every client that reaches the port could bind pods" }}
{{- end }}
{{- if and (eq $mode "extender") .Values.featureGates }}
{{- fail "featureGates: berth extender has no feature gates" }}
{{- end }}
{{- if and (eq $mode "shadow") .Values.monitoring.serviceMonitor.enabled (not .Values.shadow.reviews) }}
{{- fail "monitoring.serviceMonitor: with mode=shadow Prometheus can be authenticated only with shadow.reviews=true" }}
{{- end }}
{{- if and (has $mode (list "shadow" "extender")) .Values.monitoring.rules.enabled }}
{{- fail (printf "monitoring.rules: the alerts are those of a scheduler; mode=%s has other metrics" $mode) }}
{{- end }}
{{- range .Values.plugins }}
{{- $sources := 0 }}
{{- range list .image .initContainer .configMap }}{{ if . }}{{ $sources = add1 $sources }}{{ end }}{{ end }}
{{- if ne (int $sources) 1 }}{{ fail (printf "plugins: %s: expected exactly one of image, initContainer and configMap, found %d" .name (int $sources)) }}{{ end }}
{{- end }}
{{- end }}
