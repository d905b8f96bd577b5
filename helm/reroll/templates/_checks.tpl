{{/* Fails on values that fit their types and not each other. */}}
{{- define "reroll.checks" -}}
{{- $v := .Values -}}
{{- if and (ne $v.shape "one-process") (not (include "reroll.externalNats" .)) -}}
{{- fail (printf "shape %s needs natsUrl or natsUrlSecretName: its processes meet at an external NATS" $v.shape) -}}
{{- end -}}
{{- if and (ne $v.shape "one-process") (ne (int $v.replicas) 1) -}}
{{- fail "replicas is of the shape one-process: set ingest.replicas, dispatch.replicas or api.replicas" -}}
{{- end -}}
{{- if and (eq $v.shape "hub") $v.hub.url -}}
{{- fail "hub.url is of a cluster that forwards to a hub; a hub forwards nothing" -}}
{{- end -}}
{{- if and $v.hub.url $v.namespaces $v.rbac.create -}}
{{- fail "hub.url needs the identity of the cluster, which may not be read with namespaces: nothing would be forwarded; with rights of your own (rbac.create=false), get of the namespace kube-system is among them" -}}
{{- end -}}
{{- if and $v.flowSchema.enabled (eq $v.shape "hub") (not (include "reroll.apiAsks" .)) -}}
{{- fail "flowSchema.enabled has no use at a hub whose API asks nobody who its clients are (api.auth): no pod of it asks the API server" -}}
{{- end -}}
{{- if and $v.natsPermissions.create (not (include "reroll.externalNats" .)) -}}
{{- fail "natsPermissions are of an external NATS (natsUrl): the embedded one lets nobody else in" -}}
{{- end -}}
{{- if and $v.natsPermissions.create (eq $v.shape "hub") (not $v.natsPermissions.clusters) -}}
{{- fail "natsPermissions.clusters: name the clusters that bring their records to this hub" -}}
{{- end -}}
{{- range $role := list "ingest" "dispatch" "api" -}}
{{- $own := (index $v $role).nats -}}
{{- if and (compact (values $own.keys)) (not $own.secretName) -}}
{{- fail (printf "%s.nats.keys needs %s.nats.secretName: keys of which Secret?" $role $role) -}}
{{- end -}}
{{- if and (eq $v.shape "one-process") (or $own.secretName $own.user $own.inboxPrefix) -}}
{{- fail (printf "%s.nats is of the shapes with roles: one process has one log-in, nats" $role) -}}
{{- end -}}
{{- end -}}
{{- if and $v.ingest.tls.certManager.enabled (not $v.ingest.tls.certManager.issuerRef.name) -}}
{{- fail "ingest.tls.certManager needs issuerRef.name: who signs?" -}}
{{- end -}}
{{- if and $v.serviceMonitor.enabled $v.podMonitor.enabled -}}
{{- fail "serviceMonitor and podMonitor would scrape the same pods twice: enable one of them" -}}
{{- end -}}
{{- if and $v.ingest.enabled (not (or $v.ingest.tls.clientCA $v.ingest.tokenSecretName (eq $v.shape "hub"))) -}}
{{- fail "nobody could be recognised: set ingest.tls.clientCA, or ingest.tokenSecretName, or both" -}}
{{- end -}}
{{- if not $v.ingest.enabled -}}
{{- if ne $v.shape "one-process" -}}
{{- fail "ingest.enabled=false is of the shape one-process: of roles, ingest is a process of its own, and a hub has none" -}}
{{- end -}}
{{- if not $v.watchConfigs -}}
{{- fail "ingest.enabled=false needs watchConfigs: nothing would tell of changes" -}}
{{- end -}}
{{- if $v.fallbackWatch -}}
{{- fail "fallbackWatch has no use with ingest.enabled=false: there is no feed to fall back from" -}}
{{- end -}}
{{- end -}}
{{- if and (gt (int $v.replicas) 1) (not $v.enableHA) -}}
{{- fail "replicas: more than one needs enableHA, which lets one of them work at a time" -}}
{{- end -}}
{{- if and $v.api.expose (eq $v.api.auth "none") -}}
{{- fail "api.auth: none is for the pod's loopback; with api.expose it is token, or anonymous if everybody who reaches the API may read everything" -}}
{{- end -}}
{{- if and $v.api.audiences (not (include "reroll.apiAuthBy" (list "token" .))) -}}
{{- fail "api.audiences has no effect without api.auth token" -}}
{{- end -}}
{{- $certificates := or (include "reroll.apiAuthBy" (list "mtls" .)) (include "reroll.apiAuthBy" (list "request-header" .)) -}}
{{- if and $certificates (not $v.api.tls.secretName) -}}
{{- fail "api.auth: mtls and request-header need api.tls.secretName: certificates are shown over TLS alone" -}}
{{- end -}}
{{- if ne (gt (len $v.api.proxyNames) 0) (ne (include "reroll.apiAuthBy" (list "request-header" .)) "") -}}
{{- fail "api.proxyNames and api.auth request-header need each other: whoever has another certificate of that CA is no proxy" -}}
{{- end -}}
{{- if and $v.enableHA (not (include "reroll.externalNats" .)) -}}
{{- fail "enableHA needs natsUrl or natsUrlSecretName: with its embedded NATS each replica would have a memory of its own" -}}
{{- end -}}
{{- $keys := compact (values $v.nats.keys) -}}
{{- if and (or $keys $v.nats.user $v.nats.inboxPrefix $v.nats.bindOnly $v.nats.replicas) (not (include "reroll.externalNats" .)) -}}
{{- fail "nats: all but storeSize needs natsUrl or natsUrlSecretName: the embedded NATS asks for nothing" -}}
{{- end -}}
{{- if and $keys (not $v.nats.secretName) -}}
{{- fail "nats.keys needs nats.secretName: keys of which Secret?" -}}
{{- end -}}
{{- $hubKeys := compact (values $v.hub.keys) -}}
{{- if and (or $hubKeys $v.hub.user $v.hub.inboxPrefix $v.hub.secretName) (not $v.hub.url) -}}
{{- fail "hub needs hub.url: where is it?" -}}
{{- end -}}
{{- if and $hubKeys (not $v.hub.secretName) -}}
{{- fail "hub.keys needs hub.secretName: keys of which Secret?" -}}
{{- end -}}
{{- if and $v.namespaces (or $v.namespacesToIgnore $v.namespaceSelector) -}}
{{- fail "namespaces names those that count: namespacesToIgnore and namespaceSelector would have no effect beside it" -}}
{{- end -}}
{{- if and $v.alerts.enabled (not (or $v.alerts.url $v.alerts.existingSecret)) -}}
{{- fail "alerts.enabled needs alerts.url or alerts.existingSecret: there is nobody to alert" -}}
{{- end -}}
{{- if and $v.syncAfterRestart (not $v.reloadOnCreate) -}}
{{- fail "syncAfterRestart has no effect without reloadOnCreate" -}}
{{- end -}}
{{- if and $v.webhook.legacyBody (not (or $v.webhook.url $v.webhook.existingSecret)) -}}
{{- fail "webhook.legacyBody has no effect without webhook.url or webhook.existingSecret" -}}
{{- end -}}
{{- end -}}
