{{/* Fails on values that do not fit each other. The binary checks its settings itself: reroll serve --check. */}}
{{- define "reroll.checks" -}}
{{- include "reroll.init" . }}
{{- $v := .Values -}}
{{- $single := eq $v.mode "single" -}}
{{- range $key := list "clusterName" "source" "dryRun" "components" "dataDir" "leaderElection" "namespace" -}}
{{- if hasKey $v.config $key }}{{ fail (printf "config.%s: the chart sets it; use the value of that name or of replicaCount and mode" $key) }}{{ end -}}
{{- end -}}
{{- range $name := list "nats" "hub" -}}
{{- $url := (index $v $name).url | default "" -}}
{{- if contains "@" $url }}{{ fail (printf "%s.url has credentials, which would be visible in the arguments of pods: put them into a Secret, and set %s.existingSecret and config.%s" $name $name $name) }}{{ end -}}
{{- if and (index $v $name).existingSecret (not $url) }}{{ fail (printf "%s.existingSecret has no effect without %s.url" $name $name) }}{{ end -}}
{{- if get (get $v.config $name | default dict) "url" }}{{ fail (printf "config.%s.url: set %s.url" $name $name) }}{{ end -}}
{{- end -}}
{{- $admits := $v.admission.enabled -}}
{{- $service := $v.api.service.enabled -}}
{{- range $wrong := list
  (and (not $single) (not $v.nats.url) (printf "mode %s needs nats.url: its processes meet at an external NATS" $v.mode))
  (and (gt (int $v.replicaCount) 1) (not $v.nats.url) "replicaCount: more than one needs nats.url: with an embedded NATS each replica would have a store of its own")
  (and (not $single) (ne (int $v.replicaCount) 1) "replicaCount is for mode single: set ingest.replicaCount, dispatch.replicaCount or api.replicaCount")
  (and $v.hub.url (or (eq $v.mode "hub") (and .S.scope.namespaces $v.rbac.create)) "hub.url is of a cluster that forwards to a hub, and needs the identity of the cluster, which may not be read with config.scope.namespaces")
  (and $v.persistence.existingClaim (not $v.persistence.enabled) "persistence.existingClaim has no effect without persistence.enabled=true")
  (and $v.dryRun (ne $v.mode "hub") (not $v.ingest.tls.existingSecret) (or (eq $v.source "audit") (and (eq $v.mode "split") (ne $v.source "watch"))) "a dry run makes no certificate, so that no audit events could be taken: set ingest.tls.existingSecret, or source=watch")
  (and $v.api.ingress.enabled (not (and $service $v.api.ingress.hosts)) "api.ingress.enabled needs api.service.enabled=true, to which it leads, and api.ingress.hosts")
  (and $service (eq .S.api.auth "none") "config.api.auth: none is for the pod's loopback; with api.service.enabled it is token, or anonymous if every client that reaches the API may read everything")
  (and $service (eq .S.api.auth "token") (not $v.api.tls.existingSecret) (not (dig "api" "insecureHTTP" false $v.config)) "api.service.enabled with tokens needs api.tls.existingSecret, or tokens cross the network in clear; set config.api.insecureHTTP=true if something in front of the API encrypts")
  (and $admits (or (eq $v.mode "hub") $v.dryRun .S.reload.webhookURL) "admission.enabled has no use with mode hub, dryRun or config.reload.webhookURL: no marks are written")
  (and $admits .S.scope.namespaceSelector (not $v.admission.namespaceSelector) "admission.enabled with config.scope.namespaceSelector needs admission.namespaceSelector: the same namespaces, as a LabelSelector")
}}{{ if $wrong }}{{ fail $wrong }}{{ end }}{{ end -}}
{{- end -}}
