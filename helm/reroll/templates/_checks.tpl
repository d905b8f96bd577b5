{{/* Fails on values that fit their types and not each other. */}}
{{- define "reroll.checks" -}}
{{- $v := .Values -}}
{{- include "reroll.checkRoles" . -}}
{{- include "reroll.checkPorts" . -}}
{{- include "reroll.checkCertificates" . -}}
{{- include "reroll.checkAddresses" . -}}
{{- if and (ne $v.deploymentMode "one-process") (not (include "reroll.externalNats" .)) -}}
{{- fail (printf "deploymentMode %s needs nats.url or nats.keys.url: its processes meet at an external NATS" $v.deploymentMode) -}}
{{- end -}}
{{- if and (ne $v.deploymentMode "one-process") (ne (int $v.replicaCount) 1) -}}
{{- fail "replicaCount is for deploymentMode one-process: set ingest.replicaCount, dispatch.replicaCount or api.replicaCount" -}}
{{- end -}}
{{- if and (eq $v.deploymentMode "hub") $v.hub.url -}}
{{- fail "hub.url is of a cluster that forwards to a hub; a hub forwards nothing" -}}
{{- end -}}
{{- if and $v.hub.url $v.scope.namespaces $v.rbac.create -}}
{{- fail "hub.url needs the identity of the cluster, which may not be read with namespaces: nothing would be forwarded; with rights of your own (rbac.create=false), get of the namespace kube-system is among them" -}}
{{- end -}}
{{- range $role := list "ingest" "dispatch" "api" -}}
{{- $own := (index $v $role).nats -}}
{{- if and (compact (values $own.keys)) (not $own.existingSecret) -}}
{{- fail (printf "%s.nats.keys needs %s.nats.existingSecret: keys of which Secret?" $role $role) -}}
{{- end -}}
{{- if and (eq $v.deploymentMode "one-process") (or $own.existingSecret $own.user) -}}
{{- fail (printf "%s.nats is for deploymentMode roles and hub: one process has one login, nats" $role) -}}
{{- end -}}
{{- end -}}
{{- if and $v.metrics.serviceMonitor.enabled $v.metrics.podMonitor.enabled -}}
{{- fail "metrics.serviceMonitor and metrics.podMonitor would scrape the same pods twice: enable one of them" -}}
{{- end -}}
{{- if and $v.persistence.existingClaim (not $v.persistence.enabled) -}}
{{- fail "persistence.existingClaim has no effect without persistence.enabled=true" -}}
{{- end -}}
{{- if and $v.dryRun (not (include "reroll.foreignTLS" .)) (or (and (eq $v.source "audit") (ne $v.deploymentMode "hub")) (and (eq $v.deploymentMode "roles") (ne $v.source "watch"))) -}}
{{- fail "a dry run makes no certificate, so that no audit events could be taken: set ingest.tls.existingSecret or ingest.tls.certManager, or source=watch" -}}
{{- end -}}
{{- if and (include "reroll.makesTLS" .) (not $v.ingest.tls.requireClientCert) -}}
{{- fail "ingest.tls.requireClientCert=false needs ingest.tls.existingSecret or ingest.tls.certManager: the CA that Reroll makes is that of client certificates, too" -}}
{{- end -}}
{{- if and (ne $v.source "watch") (not (or $v.ingest.tls.requireClientCert $v.ingest.tokens.existingSecret (eq $v.deploymentMode "hub"))) -}}
{{- fail "nobody could be recognised: set ingest.tls.requireClientCert, or ingest.tokens.existingSecret, or both" -}}
{{- end -}}
{{- if and $v.api.ingress.enabled (not $v.api.service.enabled) -}}
{{- fail "api.ingress needs api.service.enabled=true: it leads to that Service" -}}
{{- end -}}
{{- if and $v.api.ingress.enabled (not $v.api.ingress.hosts) -}}
{{- fail "api.ingress.enabled needs api.ingress.hosts" -}}
{{- end -}}
{{- if and $v.api.service.enabled (eq $v.api.auth "none") -}}
{{- fail "api.auth: none is for the pod's loopback; with api.service.enabled it is token, or anonymous if everybody who reaches the API may read everything" -}}
{{- end -}}
{{- if and $v.api.service.enabled (include "reroll.apiAuthBy" (list "token" .)) (not $v.api.tls.existingSecret) (not $v.api.insecureHTTP) -}}
{{- fail "api.service.enabled with tokens needs api.tls.existingSecret, or tokens cross the network in clear; set api.insecureHTTP=true if something in front of the API encrypts" -}}
{{- end -}}
{{- if and $v.api.hosts (include "reroll.apiAsks" .) -}}
{{- fail "api.hosts has no effect where clients prove who they are: it is for api.auth none and anonymous" -}}
{{- end -}}
{{- if and (gt (int $v.replicaCount) 1) (not (include "reroll.externalNats" .)) -}}
{{- fail "replicaCount: more than one needs nats.url or nats.keys.url: with an embedded NATS each replica would have a store of its own" -}}
{{- end -}}
{{- $keys := compact (values $v.nats.keys) -}}
{{- if and (or $keys $v.nats.user $v.nats.replicas) (not (include "reroll.externalNats" .)) -}}
{{- fail "nats: all but storeSize needs nats.url or nats.keys.url: the embedded NATS asks for nothing" -}}
{{- end -}}
{{- if and $keys (not $v.nats.existingSecret) -}}
{{- fail "nats.keys needs nats.existingSecret: keys of which Secret?" -}}
{{- end -}}
{{- $hubKeys := compact (values $v.hub.keys) -}}
{{- if and (or $hubKeys $v.hub.user $v.hub.existingSecret) (not $v.hub.url) -}}
{{- fail "hub needs hub.url: where is it?" -}}
{{- end -}}
{{- if and $hubKeys (not $v.hub.existingSecret) -}}
{{- fail "hub.keys needs hub.existingSecret: keys of which Secret?" -}}
{{- end -}}
{{- if and $v.scope.namespaces (or $v.scope.namespacesToIgnore $v.scope.namespaceSelector) -}}
{{- fail "scope.namespaces names those that count: scope.namespacesToIgnore and scope.namespaceSelector have no effect with it" -}}
{{- end -}}
{{- if and $v.notifications.enabled (not (or $v.notifications.url $v.notifications.existingSecret)) -}}
{{- fail "notifications.enabled needs notifications.url or notifications.existingSecret: where to?" -}}
{{- end -}}
{{- end -}}

{{/* Fails on values of processes that do not run: they would do nothing in silence. How many there would be says nothing of those that run, so that
one file may be used with several modes. */}}
{{- define "reroll.checkRoles" -}}
{{- $running := splitList "," (include "reroll.roles" .) -}}
{{- range $role := list "ingest" "dispatch" "api" "admission" -}}
{{- $own := index $.Values $role -}}
{{- if not (or (has $role $running) (and (eq $role "admission") (eq $.Values.deploymentMode "roles"))) -}}
{{- $set := dict "resources" $own.resources "extraArgs" $own.extraArgs "pod" $own.pod -}}
{{- range $value, $given := $set -}}
{{- if $given -}}
{{- fail (printf "%s.%s has no effect with deploymentMode %s%s, which has no such process%s" $role $value $.Values.deploymentMode (ternary " and source watch" "" (and (eq $role "ingest") (eq $.Values.deploymentMode "roles"))) (ternary (printf ": set %s" (ternary "nodeSelector and its like at the root" $value (eq $value "pod"))) "" (eq $.Values.deploymentMode "one-process"))) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if eq .Values.deploymentMode "hub" -}}
{{- range $value, $of := dict "extraArgs" .Values.extraArgs "admission.enabled" .Values.admission.enabled -}}
{{- if $of -}}{{- fail (printf "%s has no effect at a hub, which runs the API alone%s" $value (ternary ": set api.extraArgs" "" (eq $value "extraArgs"))) -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Fails if a process would listen twice on one port: whoever comes second ends, and so does the process. */}}
{{- define "reroll.checkPorts" -}}
{{- range $role := splitList "," (include "reroll.roles" .) -}}
{{- $scope := set (omit $ "role") "role" $role -}}
{{- $taken := dict (toString (int $.Values.metrics.port)) "metrics.port" -}}
{{- $wanted := list -}}
{{- if include "reroll.ingests" $scope }}{{ $wanted = append $wanted (list "the one of audit events" "9443") }}{{ end -}}
{{- if include "reroll.answers" $scope }}{{ $wanted = append $wanted (list "the one of the API" "8080") }}{{ end -}}
{{- if include "reroll.admits" $scope }}{{ $wanted = append $wanted (list "admission.port" (toString (int $.Values.admission.port))) }}{{ end -}}
{{- range $wanted -}}
{{- $name := first . -}}{{- $port := last . -}}
{{- if hasKey $taken $port -}}{{- fail (printf "%s and %s are both %s: one pod cannot listen twice on a port" (get $taken $port) $name $port) -}}{{- end -}}
{{- $_ := set $taken $port $name -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Fails on certificates that nobody signs. */}}
{{- define "reroll.checkCertificates" -}}
{{- $c := .Values.ingest.tls.certManager -}}
{{- if and (ne .Values.source "watch") $c.enabled (ne .Values.deploymentMode "hub") (not $c.issuerRef.name) -}}
{{- fail "ingest.tls.certManager needs issuerRef.name: who signs?" -}}
{{- end -}}
{{- end -}}

{{/* Fails on credentials that everybody could read who may read pods. */}}
{{- define "reroll.checkAddresses" -}}
{{- if and (not .Values.nats.keys.url) (contains "@" (default "" .Values.nats.url)) -}}
{{- fail "nats.url has credentials, which would be visible in the arguments of pods: put the URL into a Secret, and set nats.existingSecret and nats.keys.url" -}}
{{- end -}}
{{- if contains "@" (default "" .Values.hub.url) -}}
{{- fail "hub.url has credentials, which would be visible in the arguments of pods: put them into a Secret, and set hub.existingSecret and hub.keys" -}}
{{- end -}}
{{- end -}}
