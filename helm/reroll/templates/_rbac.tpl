{{/* What a namespace must grant for its workloads to be rolled. Each verb stands with its reason. */}}
{{- define "reroll.rollRules" -}}
# get: read a config's content to compute its digest after somebody touched it.
# list: ConfigMaps whose names a workload gives as a pattern (metadata only).
- apiGroups: [""]
  resources: [configmaps]
  verbs: [get, list]
# get: read a config's content to compute its digest after somebody touched it.
- apiGroups: [""]
  resources: [secrets]
  verbs: [get]
# patch: write the mark that rolls an opted-in workload.
- apiGroups: [apps]
  resources: [deployments, statefulsets, daemonsets]
  verbs: [patch]
# get: see whether a pod of the workload started before the change.
# list: find the pods of the workload.
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list]
# create: tell on the workload why it was rolled, or was not.
# patch: count a repeated event instead of adding one.
- apiGroups: [""]
  resources: [events]
  verbs: [create, patch]
{{- end -}}
