{{/* The parts of the pod. */}}

{{- define "berth.configMapData" -}}
scheduler.yaml: |
  {{- include "berth.configurationText" . | nindent 2 }}
{{- with .Values.metricSources }}
sources.yaml: |
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "berth.configMapName" -}}
{{ include "berth.fullname" . }}-config-{{ include "berth.configMapData" . | sha256sum | trunc 10 }}
{{- end }}

{{- define "berth.args" -}}
{{- $extender := eq .Values.mode "extender" -}}
- {{ ternary "extender" "scheduler" $extender }}
- --config=/etc/berth/scheduler.yaml
- --v={{ int .Values.logLevel }}
{{- if $extender }}
- --secure-port={{ int .Values.extender.port }}
{{- with .Values.extender.profile }}
- --profile={{ . }}
{{- end }}
{{- if .Values.extender.clientCASecret }}
- --client-ca-file=/etc/berth-client-ca/ca.crt
{{- end }}
{{- if not .Values.extender.bind }}
- --no-bind
{{- end }}
{{- if .Values.extender.stretchScores }}
- --stretch-scores
{{- end }}
{{- else }}
# Disables plain HTTP: all requests use the HTTPS port.
- --berth-http-address=127.0.0.1:0
{{- if ne (int .Values.securePort) 10259 }}
- --secure-port={{ int .Values.securePort }}
{{- end }}
{{- with .Values.featureGates }}
{{- $gates := list }}
{{- range $gate, $on := . }}{{ $gates = append $gates (printf "%s=%t" $gate $on) }}{{ end }}
- --feature-gates={{ join "," $gates }}
{{- end }}
{{- end }}
{{- if eq .Values.mode "shadow" }}
- --berth-shadow
{{- if not .Values.shadow.reviews }}
- --authentication-skip-lookup
- --client-ca-file=/var/run/secrets/kubernetes.io/serviceaccount/ca.crt
{{- end }}
{{- end }}
{{- if .Values.servingCertificateSecret }}
- --tls-cert-file=/etc/berth-tls/tls.crt
- --tls-private-key-file=/etc/berth-tls/tls.key
{{- end }}
{{- if .Values.metricSources }}
- --berth-metric-sources=/etc/berth/sources.yaml
{{- end }}
{{- range .Values.plugins }}
- --berth-plugin=/plugins/{{ .name }}/{{ .file }}
{{- end }}
{{- range .Values.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end }}

{{- define "berth.mounts" -}}
- {name: config, mountPath: /etc/berth, readOnly: true}
{{- if .Values.servingCertificateSecret }}
- {name: serving-certificate, mountPath: /etc/berth-tls, readOnly: true}
{{- end }}
{{- if and (eq .Values.mode "extender") .Values.extender.clientCASecret }}
- {name: client-ca, mountPath: /etc/berth-client-ca, readOnly: true}
{{- end }}
{{- range $index, $secret := .Values.secretMounts }}
- {name: secret-{{ $index }}, mountPath: {{ $secret.mountPath | quote }}, readOnly: true}
{{- end }}
{{- range .Values.plugins }}
- {name: plugin-{{ .name }}, mountPath: /plugins/{{ .name }}, readOnly: true}
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "berth.volumes" -}}
- name: config
  configMap: {name: {{ include "berth.configMapName" . }}}
{{- with .Values.servingCertificateSecret }}
- name: serving-certificate
  secret: {secretName: {{ . | quote }}}
{{- end }}
{{- if and (eq .Values.mode "extender") .Values.extender.clientCASecret }}
- name: client-ca
  secret: {secretName: {{ .Values.extender.clientCASecret | quote }}, items: [{key: ca.crt, path: ca.crt}]}
{{- end }}
{{- range $index, $secret := .Values.secretMounts }}
- name: secret-{{ $index }}
  secret:
    secretName: {{ $secret.secretName | quote }}
    {{- with $secret.items }}
    items:
      {{- toYaml . | nindent 6 }}
    {{- end }}
{{- end }}
{{- range .Values.plugins }}
- name: plugin-{{ .name }}
  {{- if .image }}
  image:
    {{- toYaml .image | nindent 4 }}
  {{- else if .configMap }}
  configMap: {name: {{ .configMap | quote }}}
  {{- else }}
  emptyDir: {}
  {{- end }}
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "berth.initContainers" -}}
{{- $root := . }}
{{- range .Values.plugins }}
{{- if .initContainer }}
- name: plugin-{{ .name }}
  image: {{ .initContainer.image | quote }}
  {{- with .initContainer.command }}
  command:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    {{- toYaml $root.Values.containerSecurityContext | nindent 4 }}
  volumeMounts:
  - {name: plugin-{{ .name }}, mountPath: /plugins/{{ .name }}}
{{- end }}
{{- end }}
{{- with .Values.extraInitContainers }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "berth.affinity" -}}
nodeAffinity:
  preferredDuringSchedulingIgnoredDuringExecution:
  - weight: 50
    preference:
      matchExpressions:
      - {key: node-role.kubernetes.io/control-plane, operator: Exists}
podAntiAffinity:
  preferredDuringSchedulingIgnoredDuringExecution:
  - weight: 100
    podAffinityTerm:
      topologyKey: kubernetes.io/hostname
      labelSelector:
        matchLabels:
          {{- include "berth.selector" . | nindent 10 }}
{{- end }}

{{- define "berth.spread" -}}
- maxSkew: 1
  topologyKey: topology.kubernetes.io/zone
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels:
      {{- include "berth.selector" . | nindent 6 }}
  # Replicas of the old revision do not count during a rollout.
  matchLabelKeys: [pod-template-hash]
{{- end }}
