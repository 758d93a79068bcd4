{{/* Names, labels and the image. */}}

{{- define "berth.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- if .Values.fullnameOverride }}{{ .Values.fullnameOverride | trunc 50 | trimSuffix "-" }}
{{- else if contains $name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "berth.selector" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "berth.labels" -}}
{{ include "berth.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The metadata of a namespaced object. Arguments: root, name; optional: namespace. */}}
{{- define "berth.metadata" -}}
name: {{ .name }}
namespace: {{ default .root.Release.Namespace .namespace }}
labels:
  {{- include "berth.labels" .root | nindent 2 }}
{{- end }}

{{- define "berth.account" -}}
{{- if .Values.serviceAccount.create }}{{ default (include "berth.fullname" .) .Values.serviceAccount.name }}
{{- else }}{{ default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "berth.image" -}}
{{- if .Values.image.digest }}{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else }}{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end }}
{{- end }}

{{- define "berth.replicas" -}}
{{- if kindIs "invalid" .Values.replicas }}{{ get (dict "second" 3 "replacement" 3 "extender" 2 "shadow" 1) .Values.mode }}
{{- else }}{{ int .Values.replicas }}
{{- end }}
{{- end }}

{{- define "berth.port" -}}
{{- if eq .Values.mode "extender" }}{{ int .Values.extender.port }}{{ else }}{{ int .Values.securePort }}{{ end }}
{{- end }}
