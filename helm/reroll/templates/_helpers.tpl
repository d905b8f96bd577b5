{{- define "reroll.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* At most 46 characters, so that suffixes and the pod's revision label stay within 63. */}}
{{- define "reroll.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 46 | trimSuffix "-" -}}
{{- else if contains (include "reroll.name" .) .Release.Name -}}
{{- .Release.Name | trunc 46 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "reroll.name" .) | trunc 46 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Cluster-scoped names carry the namespace: two releases of one name may live in two namespaces. */}}
{{- define "reroll.clusterFullname" -}}
{{- printf "%s:%s" .Release.Namespace (include "reroll.fullname" .) -}}
{{- end -}}

{{/* Of the root and a command: how to ask the API that a port is forwarded to, as the notes say it. Of the ways to say who asks, one that the
     command line knows; where a proxy alone is believed, it is asked. */}}
{{- define "reroll.notesAsk" }}
{{- $root := first . }}
{{- $flags := "" }}
{{- $byToken := include "reroll.apiAuthBy" (list "token" $root) }}
{{- if ne $root.Release.Namespace "reroll" }}{{ $flags = printf " --reroll-namespace=%s" $root.Release.Namespace }}{{ end }}
{{- if $byToken }}
   # The token is of an account that may read the API: docs/api.md has the rights.
   export REROLL_TOKEN="$(kubectl -n {{ $root.Release.Namespace }} create token ACCOUNT{{ with $root.Values.api.audiences }} --audience={{ first . }}{{ end }})"
{{- end }}
   reroll {{ last . }}{{ $flags }}
{{- end -}}

{{/* What has the API, as kubectl port-forward wants it. */}}
{{- define "reroll.apiPods" -}}
{{- ternary (printf "pod/%s-0" (include "reroll.fullname" .)) (printf "deployment/%s-api" (include "reroll.fullname" .)) (eq .Values.deploymentMode "one-process") -}}
{{- end -}}

{{- define "reroll.selectorLabels" -}}
app.kubernetes.io/name: {{ include "reroll.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
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

{{/* Of an object's annotations: the field, if it has any. */}}
{{- define "reroll.annotations" -}}
{{- with . }}
  annotations: {{- toYaml . | nindent 4 }}
{{- end }}
{{- end -}}

{{/* Of a scope: the ServiceAccount of its pods. */}}
{{- define "reroll.serviceAccountName" -}}
{{- with (include "reroll.podValues" . | fromYaml).serviceAccount.name -}}
{{- . -}}
{{- else -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "reroll.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- required "serviceAccount.name is needed when serviceAccount.create is false" .Values.serviceAccount.name -}}
{{- end -}}
{{- if ne .role "serve" }}-{{ .role }}{{ end -}}
{{- end -}}
{{- end -}}

{{- define "reroll.ingestService" -}}
{{- printf "%s-ingest" (include "reroll.fullname" .) -}}
{{- end -}}

{{- define "reroll.apiService" -}}
{{- printf "%s-api" (include "reroll.fullname" .) -}}
{{- end -}}

{{- define "reroll.ingestHost" -}}
{{- printf "%s.%s.svc" (include "reroll.ingestService" .) .Release.Namespace -}}
{{- end -}}

{{- define "reroll.tlsSecretName" -}}
{{- default (printf "%s-ingest-tls" (include "reroll.fullname" .)) .Values.ingest.tls.existingSecret -}}
{{- end -}}

{{- define "reroll.ingestCASecretName" -}}
{{- printf "%s-ca" (include "reroll.ingestService" .) -}}
{{- end -}}

{{/* Something if the certificate of ingest comes from elsewhere. */}}
{{- define "reroll.foreignTLS" -}}
{{- if or .Values.ingest.tls.existingSecret .Values.ingest.tls.certManager.enabled }}true{{ end -}}
{{- end -}}

{{/* Something if Reroll makes it. A dry run writes nothing. */}}
{{- define "reroll.makesTLS" -}}
{{- if not (or (eq .Values.source "watch") (eq .Values.deploymentMode "hub") .Values.dryRun (include "reroll.foreignTLS" .)) }}true{{ end -}}
{{- end -}}

{{- define "reroll.claimName" -}}
{{- default (printf "%s-data" (include "reroll.fullname" .)) .Values.persistence.existingClaim -}}
{{- end -}}

{{- define "reroll.image" -}}
{{- $repository := .Values.image.repository -}}
{{- with (.Values.global).imageRegistry }}{{ $repository = printf "%s/%s" . (regexReplaceAll "^([^/]*[.:][^/]*|localhost)/" $repository "") }}{{ end -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" $repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" $repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{/* The field imagePullSecrets of a pod, if it has any. */}}
{{- define "reroll.imagePullSecrets" -}}
{{- $all := list }}
{{- range concat (default list (.Values.global).imagePullSecrets) (default list .Values.imagePullSecrets) }}
{{- $all = append $all (kindIs "map" . | ternary . (dict "name" .)) }}
{{- end }}
{{- with uniq $all -}}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "reroll.urlsSecretName" -}}
{{- printf "%s-urls" (include "reroll.fullname" .) -}}
{{- end -}}

{{/* Something if several replicas can share a NATS, nothing if each would have its own. */}}
{{- define "reroll.externalNats" -}}
{{- or .Values.nats.url .Values.nats.keys.url -}}
{{- end -}}

