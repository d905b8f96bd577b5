{{/* Of a scope: one flag per line, as the binary spells them. */}}
{{- define "reroll.args" -}}
- {{ .role }}
{{- if include "reroll.dispatches" . }}
- --cluster-name={{ .Values.clusterName }}
{{- end }}
{{- if include "reroll.marks" . }}
- --namespace=$(POD_NAMESPACE)
{{- end }}
{{- if include "reroll.ingests" . }}
- --ingest-address=:9443
{{- if include "reroll.mountsTLS" . }}
- --ingest-tls-cert=/etc/reroll/ingest-tls/tls.crt
- --ingest-tls-key=/etc/reroll/ingest-tls/tls.key
{{- if .Values.ingest.tls.requireClientCert }}
- --ingest-tls-client-ca=/etc/reroll/ingest-tls/ca.crt
{{- end }}
{{- end }}
{{- if .Values.ingest.tokens.existingSecret }}
- --ingest-token-file=/etc/reroll/ingest-tokens/tokens
{{- end }}
{{- end }}
{{- if and (include "reroll.dispatches" .) (include "reroll.makesTLS" .) }}
- --ingest-service={{ include "reroll.ingestService" . }}
{{- with .Values.ingest.tls.hosts }}
- {{ printf "--ingest-tls-hosts=%s" (join "," .) | quote }}
{{- end }}
{{- end }}
{{- if include "reroll.usesNats" . }}
{{- if not (include "reroll.externalNats" .) }}
- --data-dir=/var/lib/reroll
{{- if not .Values.persistence.enabled }}
- --data-ephemeral
{{- end }}
{{- else if not .Values.nats.keys.url }}
- --nats-url={{ .Values.nats.url }}
{{- end }}
{{- include "reroll.natsArgs" . }}
{{- end }}
{{- if include "reroll.dispatches" . }}
{{- include "reroll.hubArgs" . }}
{{- end }}
{{- if include "reroll.admits" . }}
{{- include "reroll.admissionArgs" . }}
{{- end }}
{{- if include "reroll.publishesAdmission" . }}
{{- include "reroll.admissionPublishArgs" . }}
{{- end }}
{{- if include "reroll.answers" . }}
- --api-address={{ ternary "" "127.0.0.1" .Values.api.service.enabled }}:8080
- --auth={{ include "reroll.apiAuth" . }}
{{- if include "reroll.apiAuthBy" (list "token" .) }}
{{- with .Values.api.audiences }}
- {{ printf "--auth-audiences=%s" (join "," .) | quote }}
{{- end }}
{{- if and .Values.api.insecureHTTP (not .Values.api.tls.existingSecret) }}
- --api-insecure-http
{{- end }}
{{- end }}
{{- with .Values.api.hosts }}
- {{ printf "--api-hosts=%s" (join "," .) | quote }}
{{- end }}
{{- with .Values.api.tls.existingSecret }}
- --api-tls-cert=/etc/reroll/api-tls/tls.crt
- --api-tls-key=/etc/reroll/api-tls/tls.key
{{- end }}
{{- if include "reroll.apiAuthBy" (list "mtls" .) }}
- --auth-client-ca=/etc/reroll/api-tls/{{ .Values.api.tls.clientCAKey }}
{{- end }}
{{- if include "reroll.apiAuthBy" (list "request-header" .) }}
- --auth-request-header-client-ca=/etc/reroll/api-tls/{{ .Values.api.tls.proxyCAKey }}
- {{ printf "--auth-request-header-allowed-names=%s" (join "," .Values.api.proxyNames) | quote }}
{{- end }}
{{- end }}
- --metrics-address=:{{ .Values.metrics.port }}
{{- if include "reroll.dispatches" . }}
- --coalesce-window={{ .Values.debounce.window }}
- --coalesce-max-wait={{ .Values.debounce.maxWait }}
- --sweep-interval={{ .Values.resyncInterval }}
- --source={{ .Values.source }}
- --canary-interval={{ .Values.ingest.canaryInterval }}
- --reloads-per-minute={{ int .Values.rolloutLimits.reloadsPerMinute }}
- --namespace-reloads-per-minute={{ int .Values.rolloutLimits.namespaceReloadsPerMinute }}
- --max-concurrent-rollouts={{ int .Values.rolloutLimits.maxConcurrentRollouts }}
- --namespace-max-concurrent-rollouts={{ int .Values.rolloutLimits.namespaceMaxConcurrentRollouts }}
- --min-reload-interval={{ .Values.rolloutLimits.minReloadInterval }}
- --flap-limit={{ int .Values.rolloutLimits.flapLimit }}
{{- with .Values.rolloutLimits.maintenanceWindows }}
- {{ printf "--maintenance-windows=%s" (join "; " .) | quote }}
{{- end }}
- --rollout-deadline={{ .Values.rolloutLimits.deadline }}
{{- include "reroll.switches" . }}
{{- else if and .Values.redactActors (include "reroll.usesNats" .) }}
- --redact-actors
{{- end }}
{{- if include "reroll.marks" . }}
{{- include "reroll.markArgs" . }}
{{- end }}
- --log-format={{ .Values.log.format }}
- --log-level={{ .Values.log.level }}
{{- $own := ternary .Values.extraArgs (get (index .Values (ternary "api" .role (eq .role "serve"))) "extraArgs") (ne (include "reroll.dispatches" .) "") }}
{{- range $own }}
- {{ . | quote }}
{{- end }}
{{- end -}}

{{/* Of a scope: something if the certificate of ingest is a file. The process that makes it has it at once. */}}
{{- define "reroll.mountsTLS" -}}
{{- if and (include "reroll.ingests" .) (or (eq .role "ingest") (include "reroll.foreignTLS" .)) }}true{{ end -}}
{{- end -}}

{{/* Which workloads are marked, and how. */}}
{{- define "reroll.markArgs" }}
- --reload-strategy={{ .Values.reload.strategy }}
{{- if not .Values.compatibility.toolMarks }}
- --tool-marks=false
{{- end }}
{{- with .Values.compatibility.dialects }}
- --dialects={{ join "," . }}
{{- end }}
{{- if .Values.reload.autoAll }}
- --auto-reload-all
{{- end }}
{{- if .Values.csi.enabled }}
- --enable-csi-integration
{{- end }}
{{- include "reroll.scopeArgs" . }}
{{- range $key, $annotation := .Values.compatibility.annotationKeys }}
{{- with $annotation }}
- --{{ kebabcase $key }}-annotation={{ . }}
{{- end }}
{{- end }}
{{- end -}}

{{/* How clients of the API say who they are. */}}
{{- define "reroll.apiAuth" -}}
{{- .Values.api.auth | default (ternary "token" "none" .Values.api.service.enabled) }}
{{- end -}}

{{/* Of a way to do so, and the root: something if it is open. */}}
{{- define "reroll.apiAuthBy" -}}
{{- if has (first .) (splitList "," (include "reroll.apiAuth" (last .))) }}true{{ end -}}
{{- end -}}

{{/* Something if clients can be told apart, so that the API server is asked what they may do. */}}
{{- define "reroll.apiAsks" -}}
{{- if not (has (include "reroll.apiAuth" .) (list "none" "anonymous")) }}true{{ end -}}
{{- end -}}

{{/* Of a scope: how to use NATS. The keys of the Secret are files in the pod. */}}
{{- define "reroll.natsArgs" -}}
{{- $login := include "reroll.natsLogin" . | fromYaml }}
{{- range $key, $flag := dict "creds" "creds" "password" "password-file" "tlsCA" "tls-ca" "tlsCert" "tls-cert" "tlsKey" "tls-key" }}
{{- with index $login.keys $key }}
- --nats-{{ $flag }}=/etc/reroll/nats/{{ . }}
{{- end }}
{{- end }}
{{- with $login.user }}
- {{ printf "--nats-user=%s" . | quote }}
{{- end }}
{{- with $login.inboxPrefix }}
- {{ printf "--nats-inbox-prefix=%s" . | quote }}
{{- end }}
{{- with int .Values.nats.replicas }}
- --nats-replicas={{ . }}
{{- end }}
{{- if and .Values.nats.storeSize (eq .role "serve") }}
- --nats-store-size={{ .Values.nats.storeSize }}
{{- end }}
{{- end -}}

{{/* Where records are forwarded. The keys of the Secret are files in the pod. */}}
{{- define "reroll.hubArgs" -}}
{{- with .Values.hub.url }}
- --hub-url={{ . }}
{{- end }}
{{- range $key, $flag := dict "creds" "creds" "password" "password-file" "tlsCA" "tls-ca" "tlsCert" "tls-cert" "tlsKey" "tls-key" }}
{{- with index $.Values.hub.keys $key }}
- --hub-{{ $flag }}=/etc/reroll/hub/{{ . }}
{{- end }}
{{- end }}
{{- with .Values.hub.user }}
- {{ printf "--hub-user=%s" . | quote }}
{{- end }}
{{- with .Values.hub.inboxPrefix }}
- {{ printf "--hub-inbox-prefix=%s" . | quote }}
{{- end }}
{{- end -}}

{{/* What is off unless it is asked for. Three of these flags are texts, which only the word true turns on. */}}
{{- define "reroll.switches" -}}
{{- if .Values.dryRun }}
- --dry-run
{{- end }}
{{- if include "reroll.elects" . }}
- --enable-ha
{{- end }}
{{- if .Values.rolloutLimits.haltOnFailure }}
- --halt-on-failed-rollouts
{{- end }}
{{- if .Values.reload.onCreate }}
- --reload-on-create=true
{{- end }}
{{- if .Values.reload.onDelete }}
- --reload-on-delete=true
{{- end }}
{{- if .Values.argoRollouts.enabled }}
- --is-Argo-Rollouts=true
{{- end }}
{{- if .Values.redactActors }}
- --redact-actors
{{- end }}
{{- if .Values.reload.webhook.legacyBody }}
- --webhook-legacy-body
{{- end }}
{{- end -}}

{{/* Which namespaces, configs and workloads count. */}}
{{- define "reroll.scopeArgs" -}}
{{- range $flag, $items := dict
  "namespaces" .Values.scope.namespaces
  "namespaces-to-ignore" .Values.scope.namespacesToIgnore
  "namespace-selector" .Values.scope.namespaceSelector
  "resource-label-selector" .Values.scope.resourceLabelSelector
  "resources-to-ignore" .Values.scope.resourcesToIgnore
  "ignored-workload-types" .Values.scope.ignoredWorkloadTypes }}
{{- with $items }}
- {{ printf "--%s=%s" $flag (join "," .) | quote }}
{{- end }}
{{- end }}
{{- end -}}
