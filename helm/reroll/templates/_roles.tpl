{{/* What follows from the deployment mode. A scope is the root with the name of a role beside the values: set (omit $ "role") "role" $role. */}}

{{/* The roles that run, separated by commas. */}}
{{- define "reroll.roles" -}}
{{- get (dict "one-process" "serve" "roles" (ternary "dispatch,api" "ingest,dispatch,api" (eq .Values.source "watch")) "hub" "api") .Values.deploymentMode -}}
{{- if and (eq .Values.deploymentMode "roles") .Values.admission.enabled }},admission{{ end -}}
{{- end -}}

{{/* Of a scope: the components that its processes run, separated by commas. */}}
{{- define "reroll.components" -}}
{{- if eq .role "serve" -}}
{{ if include "reroll.ingests" . }}ingest,{{ end }}dispatch,api{{ if .Values.admission.enabled }},admission{{ end }}
{{- else -}}
{{ .role }}
{{- end -}}
{{- end -}}

{{/* Of a scope: something if it takes audit events, decides and rolls, or answers. */}}
{{- define "reroll.ingests" -}}
{{- if and (ne .Values.source "watch") (has .role (list "serve" "ingest")) (or (include "reroll.makesTLS" .) (include "reroll.foreignTLS" .)) }}true{{ end -}}
{{- end -}}
{{- define "reroll.dispatches" -}}
{{- if has .role (list "serve" "dispatch") }}true{{ end -}}
{{- end -}}
{{- define "reroll.answers" -}}
{{- if has .role (list "serve" "api") }}true{{ end -}}
{{- end -}}

{{/* Of a scope: something if it knows how workloads are marked. */}}
{{- define "reroll.marks" -}}
{{- if has .role (list "serve" "dispatch" "admission") }}true{{ end -}}
{{- end -}}

{{/* Of a scope: something if it uses NATS. */}}
{{- define "reroll.usesNats" -}}
{{- if ne .role "admission" }}true{{ end -}}
{{- end -}}

{{/* Of a scope: something if it asks the API server. */}}
{{- define "reroll.asksKubernetes" -}}
{{- if include "reroll.marks" . }}true{{ else if and (include "reroll.answers" .) (include "reroll.apiAsks" .) }}true{{ end -}}
{{- end -}}

{{/* Of a scope: what its pods, and what is about them, are called. */}}
{{- define "reroll.roleName" -}}
{{- include "reroll.fullname" . }}{{ if ne .role "serve" }}-{{ .role }}{{ end -}}
{{- end -}}

{{- define "reroll.roleSelector" -}}
{{ include "reroll.selectorLabels" . }}
{{- if ne .role "serve" }}
app.kubernetes.io/component: {{ .role }}
{{- end }}
{{- end -}}

{{- define "reroll.roleLabels" -}}
{{ include "reroll.labels" . }}
{{- if ne .role "serve" }}
app.kubernetes.io/component: {{ .role }}
{{- end }}
{{- end -}}

{{/* Of a scope: the Service that leads to its metrics. */}}
{{- define "reroll.metricsService" -}}
{{- include "reroll.roleName" . }}{{ if ne .role "serve" }}-metrics{{ end -}}
{{- end -}}

{{/* Of a scope: how many. In a dry run no Lease is written that would tell several who decide from each other. */}}
{{- define "reroll.replicas" -}}
{{- $replicas := int .Values.replicaCount -}}
{{- if ne .role "serve" }}{{ $replicas = int (index .Values .role).replicaCount }}{{ end -}}
{{- if and .Values.dryRun (include "reroll.dispatches" .) }}{{ $replicas = min 1 $replicas }}{{ end -}}
{{- $replicas -}}
{{- end -}}

{{/* Something if several replicas decide, so that a Lease elects the active one. */}}
{{- define "reroll.elects" -}}
{{- if or (eq .Values.deploymentMode "roles") (and (eq .Values.deploymentMode "one-process") (gt (int .Values.replicaCount) 1)) }}true{{ end -}}
{{- end -}}

{{/* Of a scope: how it logs in to NATS, as YAML. A login of the role's own replaces all of it. The Secret is empty if no file of it is needed. */}}
{{- define "reroll.natsLogin" -}}
{{- $login := .Values.nats -}}
{{- if not (include "reroll.usesNats" .) -}}
{{- $login = dict "existingSecret" "" "keys" dict -}}
{{- else if ne .role "serve" -}}
{{- $own := (index .Values .role).nats -}}
{{- if or $own.existingSecret $own.user }}{{ $login = $own }}{{ end -}}
{{- end -}}
{{- $mounted := compact (values (omit $login.keys "url")) -}}
{{- pick $login "keys" "user" | merge (dict "existingSecret" (ternary $login.existingSecret "" (gt (len $mounted) 0))) | toYaml -}}
{{- end -}}

{{- define "reroll.resources" -}}
{{- $own := dict -}}
{{- if ne .role "serve" }}{{ $own = (index .Values .role).resources }}{{ end -}}
{{- if and (eq .role "admission") (not $own) }}{{ $own = merge (deepCopy .Values.resources) (dict "limits" (dict "memory" "512Mi")) }}{{ end -}}
{{- default .Values.resources $own | toYaml -}}
{{- end -}}

{{/* Of a scope: the values of its pods, as YAML: those of the role win over those of all. */}}
{{- define "reroll.podValues" -}}
{{- $values := pick .Values "nodeSelector" "tolerations" "affinity" "priorityClassName" -}}
{{- $_ := set $values "serviceAccount" (dict "name" "" "annotations" .Values.serviceAccount.annotations) -}}
{{- if ne .role "serve" -}}
{{- range $name, $own := (index .Values .role).pod -}}
{{- if eq $name "serviceAccount" }}{{ $own = merge (deepCopy $own) $values.serviceAccount }}{{ end -}}
{{- $_ := set $values $name $own -}}
{{- end -}}
{{- end -}}
{{- toYaml $values -}}
{{- end -}}

{{/* Of a scope: which nodes its pods run on, as fields of a pod. */}}
{{- define "reroll.scheduling" -}}
{{- range $field, $value := omit (include "reroll.podValues" . | fromYaml) "serviceAccount" -}}
{{- if $value }}
{{ dict $field $value | toYaml }}
{{- end }}
{{- end -}}
{{- end -}}

{{- define "reroll.auditClientSecretName" -}}
{{- printf "%s-audit-client" (include "reroll.fullname" .) -}}
{{- end -}}
