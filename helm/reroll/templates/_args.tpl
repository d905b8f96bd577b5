{{/* Of a scope: one flag per line, as the binary spells them. */}}
{{- define "reroll.args" -}}
- serve
- --components={{ include "reroll.components" . }}
{{- if include "reroll.dispatches" . }}
- --cluster-name={{ .Values.clusterName }}
{{- end }}
{{- if include "reroll.ingests" . }}
- --ingest-address=:9443
{{- if include "reroll.mountsTLS" . }}
- --set=ingest.tlsCert=/etc/reroll/ingest-tls/tls.crt
- --set=ingest.tlsKey=/etc/reroll/ingest-tls/tls.key
{{- if .Values.ingest.tls.requireClientCert }}
- --set=ingest.tlsClientCA=/etc/reroll/ingest-tls/ca.crt
{{- end }}
{{- end }}
{{- if .Values.ingest.tokens.existingSecret }}
- --set=ingest.tokenFile=/etc/reroll/ingest-tokens/tokens
{{- end }}
{{- end }}
{{- if and (include "reroll.dispatches" .) (include "reroll.makesTLS" .) }}
- --set=ingest.service={{ include "reroll.ingestService" . }}
{{- end }}
{{- if include "reroll.usesNats" . }}
{{- if not (include "reroll.externalNats" .) }}
- --data-dir=/var/lib/reroll
{{- else if not .Values.nats.keys.url }}
- --set=nats.url={{ .Values.nats.url }}
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
- --set=api.auth={{ include "reroll.apiAuth" . }}
{{- if include "reroll.apiAuthBy" (list "token" .) }}
{{- with .Values.api.audiences }}
- {{ printf "--set=api.audiences=%s" (join "," .) | quote }}
{{- end }}
{{- if and .Values.api.insecureHTTP (not .Values.api.tls.existingSecret) }}
- --set=api.insecureHTTP=true
{{- end }}
{{- end }}
{{- with .Values.api.hosts }}
- {{ printf "--set=api.hosts=%s" (join "," .) | quote }}
{{- end }}
{{- with .Values.api.tls.existingSecret }}
- --set=api.tlsCert=/etc/reroll/api-tls/tls.crt
- --set=api.tlsKey=/etc/reroll/api-tls/tls.key
{{- end }}
{{- end }}
- --metrics-address=:{{ .Values.metrics.port }}
{{- if include "reroll.dispatches" . }}
- --set=debounce.window={{ .Values.debounce.window }}
- --set=debounce.maxWait={{ .Values.debounce.maxWait }}
- --set=resyncInterval={{ .Values.resyncInterval }}
- --source={{ .Values.source }}
- --set=ingest.canaryInterval={{ .Values.ingest.canaryInterval }}
- --set=rolloutLimits.reloadsPerMinute={{ int .Values.rolloutLimits.reloadsPerMinute }}
- --set=rolloutLimits.maxConcurrentRollouts={{ int .Values.rolloutLimits.maxConcurrentRollouts }}
- --set=rolloutLimits.minReloadInterval={{ .Values.rolloutLimits.minReloadInterval }}
- --set=rolloutLimits.flapLimit={{ int .Values.rolloutLimits.flapLimit }}
{{- with .Values.rolloutLimits.maintenanceWindows }}
- {{ printf "--set=rolloutLimits.maintenanceWindows=%s" (join "; " .) | quote }}
{{- end }}
- --set=rolloutLimits.deadline={{ .Values.rolloutLimits.deadline }}
{{- include "reroll.switches" . }}
{{- else if and .Values.redactActors (include "reroll.usesNats" .) }}
- --set=redactActors=true
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
- --set=reload.strategy={{ .Values.reload.strategy }}
{{- if not .Values.compatibility.toolMarks }}
- --set=reload.toolMarks=false
{{- end }}
{{- with .Values.compatibility.dialects }}
- --set=reload.dialects={{ join "," . }}
{{- end }}
{{- if .Values.reload.autoAll }}
- --set=reload.autoAll=true
{{- end }}
{{- if .Values.csi.enabled }}
- --set=reload.csi=true
{{- end }}
{{- include "reroll.scopeArgs" . }}
{{- range $key, $annotation := .Values.compatibility.annotationKeys }}
{{- with $annotation }}
- --set=reload.annotationKeys.{{ $key }}={{ . }}
{{- end }}
{{- end }}
{{- end -}}

{{/* How clients of the API say who they are. */}}
{{- define "reroll.apiAuth" -}}
{{- .Values.api.auth | default (ternary "token" "none" .Values.api.service.enabled) }}
{{- end -}}

{{/* Of a way to do so, and the root: something if it is open. */}}
{{- define "reroll.apiAuthBy" -}}
{{- if eq (first .) (include "reroll.apiAuth" (last .)) }}true{{ end -}}
{{- end -}}

{{/* Something if clients prove who they are, so that the API server is asked what they may do. */}}
{{- define "reroll.apiAsks" -}}
{{- include "reroll.apiAuthBy" (list "token" .) -}}
{{- end -}}

{{/* Of a scope: how to use NATS. The keys of the Secret are files in the pod. */}}
{{- define "reroll.natsArgs" -}}
{{- $login := include "reroll.natsLogin" . | fromYaml }}
{{- range $key, $flag := dict "creds" "credentials" "password" "passwordFile" "tlsCA" "tlsCA" "tlsCert" "tlsCert" "tlsKey" "tlsKey" }}
{{- with index $login.keys $key }}
- --set=nats.{{ $flag }}=/etc/reroll/nats/{{ . }}
{{- end }}
{{- end }}
{{- with $login.user }}
- {{ printf "--set=nats.user=%s" . | quote }}
{{- end }}
{{- with int .Values.nats.replicas }}
- --set=nats.replicas={{ . }}
{{- end }}
{{- if and .Values.nats.storeSize (eq .role "serve") }}
- --set=nats.storeSize={{ .Values.nats.storeSize }}
{{- end }}
{{- end -}}

{{/* Where records are forwarded. The keys of the Secret are files in the pod. */}}
{{- define "reroll.hubArgs" -}}
{{- with .Values.hub.url }}
- --set=hub.url={{ . }}
{{- end }}
{{- range $key, $flag := dict "creds" "credentials" "password" "passwordFile" "tlsCA" "tlsCA" "tlsCert" "tlsCert" "tlsKey" "tlsKey" }}
{{- with index $.Values.hub.keys $key }}
- --set=hub.{{ $flag }}=/etc/reroll/hub/{{ . }}
{{- end }}
{{- end }}
{{- with .Values.hub.user }}
- {{ printf "--set=hub.user=%s" . | quote }}
{{- end }}
{{- end -}}

{{/* What is off unless it is asked for. Three of these flags are texts, which only the word true turns on. */}}
{{- define "reroll.switches" -}}
{{- if .Values.dryRun }}
- --dry-run
{{- end }}
{{- if include "reroll.elects" . }}
- --set=leaderElection=true
{{- end }}
{{- if .Values.rolloutLimits.haltOnFailure }}
- --set=rolloutLimits.haltOnFailure=true
{{- end }}
{{- if .Values.reload.onCreate }}
- --set=reload.onCreate=true
{{- end }}
{{- if .Values.reload.onDelete }}
- --set=reload.onDelete=true
{{- end }}
{{- if .Values.argoRollouts.enabled }}
- --set=reload.argoRollouts=true
{{- end }}
{{- if .Values.redactActors }}
- --set=redactActors=true
{{- end }}
{{- if .Values.metrics.countByNamespace }}
- --set=metrics.countByNamespace=true
{{- end }}
{{- if .Values.notifications.enabled }}
{{- with .Values.notifications.sink }}
- --set=notifications.sink={{ . }}
{{- end }}
{{- with .Values.notifications.additionalInfo }}
- {{ printf "--set=notifications.additionalInfo=%s" . | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Which namespaces, configs and workloads count. */}}
{{- define "reroll.scopeArgs" -}}
{{- range $key, $items := .Values.scope }}
{{- with $items }}
- {{ printf "--set=scope.%s=%s" $key (join "," .) | quote }}
{{- end }}
{{- end }}
{{- end -}}
