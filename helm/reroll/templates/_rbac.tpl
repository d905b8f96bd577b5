{{/* What may be done where workloads count. Each verb stands with its reason; a dry run gets none that writes. */}}
{{- define "reroll.rules" -}}
{{- include "reroll.configRules" . | trim }}
{{ include "reroll.inPlaceRule" (dict "group" "apps" "resources" "deployments, statefulsets, daemonsets" "write" "patch" "dryRun" .Values.dryRun) }}
{{- if .Values.argoRollouts.enabled }}
{{ include "reroll.inPlaceRule" (dict "group" "argoproj.io" "resources" "rollouts" "write" "update" "dryRun" .Values.dryRun) }}
{{- end }}
{{- if or .Values.rbac.deploymentConfigs (.Capabilities.APIVersions.Has "apps.openshift.io/v1") }}
{{ include "reroll.inPlaceRule" (dict "group" "apps.openshift.io" "resources" "deploymentconfigs" "write" "update" "dryRun" .Values.dryRun) }}
{{- end }}
{{- include "reroll.batchRules" . }}
# list: see whether a pod of a workload started before the change.
- apiGroups: [""]
  resources: [pods]
  verbs: [list]
{{- if not .Values.dryRun }}
# create: tell on a workload why it was rolled, or could not be.
- apiGroups: [""]
  resources: [events]
  verbs: [create]
{{- end }}
{{- end -}}

{{- define "reroll.configRules" -}}
{{- $v := .Values }}
{{- $watch := ne $v.source "audit" }}
{{- $found := "ConfigMaps that a workload names by a pattern or searches for, and what a sweep compares" }}
{{- if not $v.scope.namespaces }}{{ $found = printf "%s; other reloaders' traces at the start" $found }}{{ end }}
{{- include "reroll.configRule" (dict "resource" "configmaps" "ignored" (has "configmaps" $v.scope.resourcesToIgnore)
  "list" true "watch" $watch "found" (printf "%s (metadata only)" $found)) }}
{{- include "reroll.configRule" (dict "resource" "secrets" "ignored" (has "secrets" $v.scope.resourcesToIgnore)
  "list" $v.rbac.listSecrets "watch" $watch "found" "Secrets that a workload names by a pattern or searches for, and what a sweep compares (metadata only)") }}
{{- if .Values.csi.enabled }}
# get: read the annotations of a class.
# list: classes that a workload names by a pattern or searches for (metadata only).
- apiGroups: [secrets-store.csi.x-k8s.io]
  resources: [secretproviderclasses]
  verbs: [get, list]
# list: read which versions the driver has mounted. Which class a status is about, only its content says.
{{- if $watch }}
# watch: see what the driver rotates (metadata only).
{{- end }}
- apiGroups: [secrets-store.csi.x-k8s.io]
  resources: [secretproviderclasspodstatuses]
  verbs: [list{{ if $watch }}, watch{{ end }}]
{{- end }}
{{- end -}}

{{/* Nothing is granted on a kind that is ignored. */}}
{{- define "reroll.configRule" -}}
{{- if not .ignored }}
# get: read a config's content to compute its digest after somebody touched it.
{{- if .list }}
# list: {{ .found }}.
{{- else if .watch }}
# list: know where the watch begins.
{{- end }}
{{- if .watch }}
# watch: see who touches which one (metadata only).
{{- end }}
- apiGroups: [""]
  resources: [{{ .resource }}]
  verbs: [get{{ if or .list .watch }}, list{{ end }}{{ if .watch }}, watch{{ end }}]
{{- end }}
{{- end -}}

{{- define "reroll.inPlaceRule" -}}
# get: read a workload again before it is written.
# list: know at the start which workloads exist and which configs they use.
# watch: follow both from then on.
{{- if not .dryRun }}
# {{ .write }}: write the mark that rolls an opted-in workload.
{{- end }}
- apiGroups: [{{ .group }}]
  resources: [{{ .resources }}]
  verbs: [get, list, watch{{ if not .dryRun }}, {{ .write }}{{ end }}]
{{- end -}}

{{- define "reroll.batchRules" -}}
{{- $write := not .Values.dryRun }}
{{- $cronJobs := not (has "cronjobs" .Values.scope.ignoredWorkloadTypes) }}
{{- if $cronJobs }}
# get: read the template of which a Job is started.
# list: know at the start which CronJobs exist and which configs they use.
# watch: follow both from then on.
- apiGroups: [batch]
  resources: [cronjobs]
  verbs: [get, list, watch]
{{- end }}
{{- if not (has "jobs" .Values.scope.ignoredWorkloadTypes) }}
# get: read a Job again before it is recreated, and see what stands in its place.
# list: know at the start which Jobs exist and which configs they use.
# watch: follow both from then on.
{{- if $write }}
# create: put a Job in the place of the deleted one, and start one of a CronJob's template.
# delete: the template of a Job cannot be changed: it is deleted and created again.
{{- end }}
- apiGroups: [batch]
  resources: [jobs]
  verbs: [get, list, watch{{ if $write }}, create, delete{{ end }}]
{{- else if and $cronJobs $write }}
# get: tell a Job that was started before from another one of its name.
# create: start a Job of a CronJob's template.
- apiGroups: [batch]
  resources: [jobs]
  verbs: [get, create]
{{- end }}
{{- end -}}

{{/* Not empty if the canary is touched. */}}
{{- define "reroll.canary" -}}
{{- if and (ne .Values.source "watch") (not .Values.dryRun) (regexMatch "[1-9]" .Values.ingest.canaryInterval) }}true{{ end }}
{{- end -}}

{{/* What may be known of the cluster if all namespaces may count. */}}
{{- define "reroll.clusterRules" -}}
{{- include "reroll.namespaceRules" . }}
{{- if include "reroll.canary" . }}
# get: know the address of each API server, which sends audit events of its own.
- apiGroups: [discovery.k8s.io]
  resources: [endpointslices]
  resourceNames: [kubernetes]
  verbs: [get]
{{- end }}
{{- end -}}

{{/* What may be known of namespaces if all may count. */}}
{{- define "reroll.namespaceRules" -}}
{{- if not .Values.reload.onDelete -}}
# get: identify the cluster.
- apiGroups: [""]
  resources: [namespaces]
  resourceNames: [kube-system]
  verbs: [get]
{{- if .Values.scope.namespaceSelector }}
# list: know at the start whose labels are selected.
# watch: follow the labels from then on.
- apiGroups: [""]
  resources: [namespaces]
  verbs: [list, watch]
{{- end }}
{{- else -}}
# get: identify the cluster by kube-system, and take no config for deleted whose namespace is.
{{- if .Values.scope.namespaceSelector }}
# list: know at the start whose labels are selected.
# watch: follow the labels from then on.
{{- end }}
- apiGroups: [""]
  resources: [namespaces]
  verbs: [get{{ if .Values.scope.namespaceSelector }}, list, watch{{ end }}]
{{- end }}
{{- end -}}

{{/* What may be done in Reroll's own namespace. Kubernetes cannot limit create and list to names. */}}
{{- define "reroll.ownRules" -}}
{{- $canary := ternary " and reroll-canary" "" (and (ne (include "reroll.canary" .) "") (not (has "secrets" .Values.scope.resourcesToIgnore))) -}}
{{- if or .Values.dryRun (has "jobs" .Values.scope.ignoredWorkloadTypes) -}}
# get: load the key that digests are made with.
- apiGroups: [""]
  resources: [secrets]
  resourceNames: [reroll-digest-key]
  verbs: [get]
{{- if not .Values.dryRun }}
# create: make the key{{ if include "reroll.makesTLS" . }}, the CA and the certificate of ingest{{ end }}{{ $canary }}, once.
- apiGroups: [""]
  resources: [secrets]
  verbs: [create]
{{- end }}
{{- if include "reroll.makesTLS" . }}
# get: load the CA and the certificate of ingest.
# update: renew them.
- apiGroups: [""]
  resources: [secrets]
  resourceNames: [{{ include "reroll.ingestCASecretName" . }}, {{ include "reroll.tlsSecretName" . }}]
  verbs: [get, update]
{{- end }}
{{- else -}}
{{- $pair := ternary ", and the CA and the certificate of ingest" "" (ne (include "reroll.makesTLS" .) "") -}}
# get: load the key that digests are made with{{ $pair }}.
# list: find at the start the manifests of Jobs whose recreation was cut short.
# create: make the key{{ $canary }}, once, and keep the manifest of a Job before the Job is deleted{{ $pair }}.
# update: keep that of a later attempt in its place{{ with $pair }}, and renew the certificate{{ end }}.
# delete: drop the manifest once the Job is there again.
- apiGroups: [""]
  resources: [secrets]
  verbs: [get, list, create, update, delete]
{{- end }}
{{- if not .Values.dryRun }}
# get: see what has the name of a ConfigMap of the ledger without its label.
{{- end }}
# list: load the ledger, and see whether reloads are frozen or paused by an operator.
# watch: see what another process notes in the ledger, and when reloads are frozen or paused.
{{- if not .Values.dryRun }}
# create: begin the ledger of a namespace{{ if include "reroll.canary" . }}, and make reroll-canary, once{{ end }}.
# update: note in the ledger what is not on a workload.
# delete: drop the ledger of a namespace without workloads.
{{- end }}
- apiGroups: [""]
  resources: [configmaps]
  verbs: [{{ if .Values.dryRun }}list, watch{{ else }}get, list, watch, create, update, delete{{ end }}]
{{- if include "reroll.canary" . }}
{{- range list "configmaps" "secrets" }}
{{- if not (has . $.Values.scope.resourcesToIgnore) }}
# patch: update it, to check that its audit events arrive.
- apiGroups: [""]
  resources: [{{ . }}]
  resourceNames: [reroll-canary]
  verbs: [patch]
{{- end }}
{{- end }}
{{- end }}
{{- if and (include "reroll.elects" .) (not .Values.dryRun) }}
# get: see which replica leads.
# update: lead on, or give it up.
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [stakater-reloader-lock]
  verbs: [get, update]
# create: lead for the first time.
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]
{{- end }}
{{- end -}}
