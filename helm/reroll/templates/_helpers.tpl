{{/* Puts the settings that the chart looks at, with their defaults, next to the values: .S. Every template begins with it. A scope is the root with
     the name of a part as well: set (omit $ "part") "part" $part. With mode single, the only part is serve. */}}
{{- define "reroll.init" -}}
{{- $defaults := dict
  "scope" (dict "namespaces" list "namespacesToIgnore" list "namespaceSelector" list "resourcesToIgnore" list "ignoredWorkloadTypes" list)
  "reload" (dict "autoAll" false "onDelete" false "argoRollouts" false "csi" false "dialects" list "annotationKeys" dict "webhookURL" "")
  "hotReload" (dict "enabled" false "exec" false)
  "ingest" (dict "canaryInterval" "1m" "tokenFile" "") "api" (dict "auth" (ternary "token" "none" .Values.api.service.enabled) "audiences" list) }}
{{- $_ := set . "S" (mergeOverwrite $defaults (deepCopy .Values.config)) }}
{{- end -}}

{{- define "reroll.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* At most 46 characters, so that suffixes and the pod's revision label stay within 63. */}}
{{- define "reroll.fullname" -}}
{{- $name := include "reroll.name" . -}}
{{- default (contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name)) .Values.fullnameOverride | trunc 46 | trimSuffix "-" -}}
{{- end -}}

{{/* Cluster-scoped names carry the namespace: two releases of one name may live in two namespaces. */}}
{{- define "reroll.clusterFullname" -}}
{{- printf "%s:%s" .Release.Namespace (include "reroll.fullname" .) -}}
{{- end -}}

{{/* The parts that run, separated by commas. */}}
{{- define "reroll.parts" -}}
{{- if eq .Values.mode "split" -}}
{{ if ne .Values.source "watch" }}ingest,{{ end }}dispatch,api{{ if .Values.admission.enabled }},admission{{ end }}
{{- else -}}
{{ ternary "api" "serve" (eq .Values.mode "hub") }}
{{- end -}}
{{- end -}}

{{/* Of a scope: the components that its processes run, separated by commas. */}}
{{- define "reroll.components" -}}
{{- if eq .part "serve" -}}
{{ if or (include "reroll.makesTLS" .) (and .Values.ingest.tls.existingSecret (ne .Values.source "watch")) }}ingest,{{ end }}dispatch,api{{ if .Values.admission.enabled }},admission{{ end }}
{{- else -}}
{{ .part }}
{{- end -}}
{{- end -}}

{{/* Of a scope and a component: something if it runs that. */}}
{{- define "reroll.runs" -}}
{{- if has (last .) (splitList "," (include "reroll.components" (first .))) }}true{{ end -}}
{{- end -}}

{{/* Of a scope: something if it asks the API server. */}}
{{- define "reroll.asksKubernetes" -}}
{{- if or (has .part (list "serve" "dispatch" "admission")) (and (eq .part "api") (eq .S.api.auth "token")) }}true{{ end -}}
{{- end -}}

{{/* Of a scope: what its pods, and what is about them, are called. */}}
{{- define "reroll.partName" -}}
{{- include "reroll.fullname" . }}{{ if ne .part "serve" }}-{{ .part }}{{ end -}}
{{- end -}}

{{- define "reroll.selectorLabels" -}}
app.kubernetes.io/name: {{ include "reroll.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- if not (has (.part | default "serve") (list "serve" "")) }}
app.kubernetes.io/component: {{ .part }}
{{- end }}
{{- end -}}

{{- define "reroll.labels" -}}
{{ include "reroll.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: reroll
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* A scope, a name, and annotations or none: the metadata of an object in the release's namespace. */}}
{{- define "reroll.meta" -}}
metadata:
  name: {{ index . 1 }}
  namespace: {{ (first .).Release.Namespace }}
  labels: {{- include "reroll.labels" (first .) | nindent 4 }}
  {{- if gt (len .) 2 }}
  {{- with last . }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- end }}
{{- end -}}

{{/* Of a scope: the ServiceAccount of its pods. */}}
{{- define "reroll.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "reroll.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- required "serviceAccount.name is needed when serviceAccount.create is false" .Values.serviceAccount.name -}}
{{- end -}}
{{- if ne .part "serve" }}-{{ .part }}{{ end -}}
{{- end -}}

{{/* Of a scope: how many. In a dry run no Lease is written that would distinguish several dispatchers. */}}
{{- define "reroll.replicas" -}}
{{- $replicas := int (eq .part "serve" | ternary .Values.replicaCount (index .Values (ternary "api" .part (eq .part "serve"))).replicaCount) -}}
{{- if and .Values.dryRun (has .part (list "serve" "dispatch")) }}{{ $replicas = min 1 $replicas }}{{ end -}}
{{- $replicas -}}
{{- end -}}

{{/* Something if several replicas decide, so that a Lease elects the active one. */}}
{{- define "reroll.elects" -}}
{{- if or (eq .Values.mode "split") (and (eq .Values.mode "single") (gt (int .Values.replicaCount) 1)) }}true{{ end -}}
{{- end -}}

{{- define "reroll.ingestService" -}}
{{- printf "%s-ingest" (include "reroll.fullname" .) -}}
{{- end -}}

{{- define "reroll.tlsSecretName" -}}
{{- default (printf "%s-ingest-tls" (include "reroll.fullname" .)) .Values.ingest.tls.existingSecret -}}
{{- end -}}

{{/* Something if Reroll makes the certificate of ingest. A dry run writes nothing. */}}
{{- define "reroll.makesTLS" -}}
{{- if not (or (eq .Values.source "watch") (eq .Values.mode "hub") .Values.dryRun .Values.ingest.tls.existingSecret) }}true{{ end -}}
{{- end -}}

{{/* Of a scope: something if the certificate of ingest is a file. The process that makes it has it at once. */}}
{{- define "reroll.mountsTLS" -}}
{{- if and (include "reroll.runs" (list . "ingest")) (or (eq .part "ingest") .Values.ingest.tls.existingSecret) }}true{{ end -}}
{{- end -}}

{{/* Something if the canary is touched. */}}
{{- define "reroll.canary" -}}
{{- if and (ne .Values.source "watch") (not .Values.dryRun) (regexMatch "[1-9]" (toString .S.ingest.canaryInterval)) }}true{{ end }}
{{- end -}}

{{- define "reroll.claimName" -}}
{{- default (printf "%s-data" (include "reroll.fullname" .)) .Values.persistence.existingClaim -}}
{{- end -}}

{{- define "reroll.image" -}}
{{- with .Values.image -}}
{{- .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ default $.Chart.AppVersion .tag }}{{ end -}}
{{- end -}}
{{- end -}}

{{/* Configurations of webhooks are in no namespace: the name carries it. */}}
{{- define "reroll.admissionConfiguration" -}}
{{- printf "%s-%s" (include "reroll.fullname" .) .Release.Namespace -}}
{{- end -}}

{{/* Something if OpenShift's DeploymentConfigs count. */}}
{{- define "reroll.deploymentConfigs" -}}
{{- if or .Values.rbac.deploymentConfigs (.Capabilities.APIVersions.Has "apps.openshift.io/v1") }}true{{ end -}}
{{- end -}}
