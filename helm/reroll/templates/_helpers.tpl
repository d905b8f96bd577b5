{{- define "reroll.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* At most 50 characters, so that suffixes and the pod's revision label stay within 63. */}}
{{- define "reroll.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains (include "reroll.name" .) .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "reroll.name" .) | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Cluster-scoped names carry the namespace: two releases of one name may live in two namespaces. */}}
{{- define "reroll.clusterFullname" -}}
{{- printf "%s:%s" .Release.Namespace (include "reroll.fullname" .) -}}
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
{{- end -}}

{{- define "reroll.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "reroll.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- required "serviceAccount.name is needed when serviceAccount.create is false" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "reroll.ingestService" -}}
{{- printf "%s-ingest" (include "reroll.fullname" .) -}}
{{- end -}}

{{- define "reroll.ingestHost" -}}
{{- printf "%s.%s.svc" (include "reroll.ingestService" .) .Release.Namespace -}}
{{- end -}}

{{- define "reroll.tlsSecretName" -}}
{{- default (printf "%s-ingest-tls" (include "reroll.fullname" .)) .Values.ingest.tls.secretName -}}
{{- end -}}

{{- define "reroll.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{/* One flag per line, as the binary spells them. */}}
{{- define "reroll.args" -}}
- serve
- --cluster-name={{ .Values.clusterName }}
- --namespace=$(POD_NAMESPACE)
- --ingest-address=:9443
- --ingest-tls-cert=/etc/reroll/ingest-tls/tls.crt
- --ingest-tls-key=/etc/reroll/ingest-tls/tls.key
{{- if .Values.ingest.tls.clientCA }}
- --ingest-tls-client-ca=/etc/reroll/ingest-tls/ca.crt
{{- end }}
{{- if .Values.ingest.tokenSecretName }}
- --ingest-token-file=/etc/reroll/ingest-tokens/tokens
{{- end }}
{{- if .Values.natsUrl }}
- --nats-url={{ .Values.natsUrl }}
{{- else }}
- --data-dir=/var/lib/reroll
{{- end }}
- --api-address={{ ternary "" "127.0.0.1" .Values.api.expose }}:{{ .Values.api.port }}
- --metrics-address=:{{ .Values.metrics.port }}
- --coalesce-window={{ .Values.coalesce.window }}
- --coalesce-max-wait={{ .Values.coalesce.maxWait }}
- --reload-strategy={{ .Values.reloadStrategy }}
{{- if not (kindIs "invalid" .Values.kube.qps) }}
- --kube-qps={{ .Values.kube.qps }}
{{- end }}
{{- if not (kindIs "invalid" .Values.kube.burst) }}
- --kube-burst={{ int .Values.kube.burst }}
{{- end }}
{{- if .Values.dryRun }}
- --dry-run
{{- end }}
- --log-format={{ .Values.log.format }}
- --log-level={{ .Values.log.level }}
{{- range .Values.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end -}}
