{{/* A role and its binding: root, name, namespace (empty for a ClusterRole), part, whose account gets it, and rules. */}}
{{- define "reroll.grant" -}}
{{- $kind := ternary "Role" "ClusterRole" (ne .namespace "") }}
{{- $scope := set (omit .root "part") "part" .part }}
{{- $metadata := dict "name" .name "labels" (include "reroll.labels" .root | fromYaml) }}
{{- with .namespace }}{{ $_ := set $metadata "namespace" . }}{{ end }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}
metadata: {{- toYaml $metadata | nindent 2 }}
rules:
  {{- .rules | trim | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}Binding
metadata: {{- toYaml $metadata | nindent 2 }}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: {{ $kind }}, name: {{ .name | quote }}}
subjects:
  - {kind: ServiceAccount, name: {{ include "reroll.serviceAccountName" $scope }}, namespace: {{ .root.Release.Namespace }}}
{{- end -}}

{{/* The kinds of config whose content is in the cluster, as far as they are not ignored. */}}
{{- define "reroll.configKinds" -}}
{{- range list (list "" "configmaps") (list "" "secrets") }}
{{- if not (has (last .) $.S.scope.resourcesToIgnore) }}
- {group: {{ first . | quote }}, resource: {{ last . }}}
{{- end }}
{{- end }}
{{- end -}}

{{/* What may be done where workloads count. Each verb stands with its reason; a dry run gets none that writes. */}}
{{- define "reroll.rules" -}}
{{- $write := not .Values.dryRun }}
{{- $watch := ne .Values.source "audit" }}
{{- range include "reroll.configKinds" . | fromYamlArray }}
{{- $list := or $watch (ne .resource "secrets") $.Values.rbac.listSecrets }}
# get: read a config's content to compute its digest after a write.
{{- if $list }}
# list: find what a workload names by a pattern or searches for, what a resync compares, and where the watch begins (metadata only).
{{- end }}
{{- if $watch }}
# watch: see which one is written (metadata only).
{{- end }}
- {apiGroups: [{{ .group | quote }}], resources: [{{ .resource }}], verbs: [get{{ if $list }}, list{{ end }}{{ if $watch }}, watch{{ end }}]}
{{- end }}
{{- if .S.reload.csi }}
# get: read the annotations of a class.
# list: classes that a workload names by a pattern or searches for (metadata only).
- {apiGroups: [secrets-store.csi.x-k8s.io], resources: [secretproviderclasses], verbs: [get, list]}
# list: read which versions the driver has mounted. Which class a status is about, only its content says.
{{- if $watch }}
# watch: see what the driver rotates (metadata only).
{{- end }}
- {apiGroups: [secrets-store.csi.x-k8s.io], resources: [secretproviderclasspodstatuses], verbs: [list{{ if $watch }}, watch{{ end }}]}
{{- end }}
{{- $kinds := list (list "apps" "deployments, statefulsets, daemonsets" "patch") }}
{{- if .S.reload.argoRollouts }}{{ $kinds = append $kinds (list "argoproj.io" "rollouts" "update") }}{{ end }}
{{- if include "reroll.deploymentConfigs" . }}{{ $kinds = append $kinds (list "apps.openshift.io" "deploymentconfigs" "update") }}{{ end }}
{{- range $kinds }}
# get, list, watch: know which workloads exist and which configs they use, and read one again before it is written.
{{- if $write }}
# {{ index . 2 }}: write the mark that rolls an opted-in workload.
{{- end }}
- {apiGroups: [{{ index . 0 }}], resources: [{{ index . 1 }}], verbs: [get, list, watch{{ if $write }}, {{ index . 2 }}{{ end }}]}
{{- end }}
{{- $cronJobs := not (has "cronjobs" .S.scope.ignoredWorkloadTypes) }}
{{- if $cronJobs }}
# get, list, watch: know which CronJobs exist and which configs they use, and read the template of which a Job is started.
- {apiGroups: [batch], resources: [cronjobs], verbs: [get, list, watch]}
{{- end }}
{{- if not (has "jobs" .S.scope.ignoredWorkloadTypes) }}
# get, list, watch: know which Jobs exist and which configs they use, and read one again before it is recreated.
{{- if $write }}
# create: put a Job in the place of the deleted one, and start one of a CronJob's template.
# delete: the template of a Job cannot be changed: it is deleted and created again.
{{- end }}
- {apiGroups: [batch], resources: [jobs], verbs: [get, list, watch{{ if $write }}, create, delete{{ end }}]}
{{- else if and $cronJobs $write }}
# get: distinguish a Job that was started before from another one of its name.
# create: start a Job of a CronJob's template.
- {apiGroups: [batch], resources: [jobs], verbs: [get, create]}
{{- end }}
{{- $hot := and $write .S.hotReload.enabled }}
# list: see whether a pod of a workload started before the change.
{{- if $hot }}
# patch: annotate a pod whose workload reloads without a restart, so that its kubelet refreshes the volumes.
{{- end }}
- {apiGroups: [""], resources: [pods], verbs: [list{{ if $hot }}, patch{{ end }}]}
{{- if and $hot .S.hotReload.exec }}
# get, create: run the command of a workload that reloads by one; a WebSocket begins with a get.
- {apiGroups: [""], resources: [pods/exec], verbs: [get, create]}
{{- end }}
{{- if $write }}
# create: say on a workload why it was rolled, or could not be.
- {apiGroups: [""], resources: [events], verbs: [create]}
{{- end }}
{{- end -}}

{{/* What may be known of the cluster if all namespaces may count. */}}
{{- define "reroll.clusterRules" -}}
# get: identify the cluster by kube-system{{ if .S.reload.onDelete }}, and take no config for deleted whose namespace is{{ end }}.
- apiGroups: [""]
  resources: [namespaces]
  {{- if not .S.reload.onDelete }}
  resourceNames: [kube-system]
  {{- end }}
  verbs: [get]
{{- if .S.scope.namespaceSelector }}
# list, watch: know which labels are selected.
- {apiGroups: [""], resources: [namespaces], verbs: [list, watch]}
{{- end }}
{{- $hot := and .S.hotReload.enabled (not .Values.dryRun) }}
{{- if or (include "reroll.canary" .) $hot }}
# get: know the address of each API server, which sends audit events of its own{{ if $hot }}, and is never called as a pod{{ end }}.
- {apiGroups: [discovery.k8s.io], resources: [endpointslices], resourceNames: [kubernetes], verbs: [get]}
{{- end }}
{{- end -}}

{{/* What may be done in Reroll's own namespace. Kubernetes cannot limit create and list to names. */}}
{{- define "reroll.ownRules" -}}
{{- $write := not .Values.dryRun }}
{{- if or .Values.dryRun (has "jobs" .S.scope.ignoredWorkloadTypes) -}}
# get: load the key that digests are made with.
- {apiGroups: [""], resources: [secrets], resourceNames: [reroll-digest-key], verbs: [get]}
{{- if $write }}
# create: make the key, certificates and the canary, once.
- {apiGroups: [""], resources: [secrets], verbs: [create]}
{{- end }}
{{- if include "reroll.makesTLS" . }}
# get: load the CA and the certificate of ingest.
# update: renew them.
- {apiGroups: [""], resources: [secrets], resourceNames: [{{ include "reroll.tlsSecretName" . }}], verbs: [get, update]}
{{- end }}
{{- else -}}
# get: load the key that digests are made with, and certificates.
# list: find the manifests of Jobs whose recreation was cut short.
# create: make the key, certificates and the canary, once, and keep the manifest of a Job before the Job is deleted.
# update: keep that of a later attempt in its place, and renew certificates.
# delete: drop the manifest once the Job is there again.
- {apiGroups: [""], resources: [secrets], verbs: [get, list, create, update, delete]}
{{- end }}
# {{ if $write }}get, {{ end }}list, watch: load and follow the ledger, and see whether rolls are frozen or paused.
{{- if $write }}
# create, update, delete: keep the ledger, which has what is not on a workload.
{{- end }}
- {apiGroups: [""], resources: [configmaps], verbs: [{{ if $write }}get, list, watch, create, update, delete{{ else }}list, watch{{ end }}]}
{{- if include "reroll.canary" . }}
{{- range list "configmaps" "secrets" }}
{{- if not (has . $.S.scope.resourcesToIgnore) }}
# patch: update it, to check that its audit events arrive.
- {apiGroups: [""], resources: [{{ . }}], resourceNames: [reroll-canary], verbs: [patch]}
{{- end }}
{{- end }}
{{- end }}
{{- if and (include "reroll.elects" .) $write }}
# get, update: see which replica leads, and lead.
- {apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: [stakater-reloader-lock], verbs: [get, update]}
# create: lead for the first time.
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [create]}
{{- end }}
{{- end -}}

{{/* What the admission webhook in a process of its own may know: single configs that a workload is marked for. */}}
{{- define "reroll.admissionRules" -}}
# get: read the configs of a workload that is being written, to mark it.
{{- range include "reroll.configKinds" . | fromYamlArray }}
- {apiGroups: [{{ .group | quote }}], resources: [{{ .resource }}], verbs: [get]}
{{- end }}
{{- if .S.reload.csi }}
# get: read the annotations of a class.
- {apiGroups: [secrets-store.csi.x-k8s.io], resources: [secretproviderclasses], verbs: [get]}
# list: read which versions the driver has mounted.
- {apiGroups: [secrets-store.csi.x-k8s.io], resources: [secretproviderclasspodstatuses], verbs: [list]}
{{- end }}
{{- end -}}
