{{/* Names of what the admission webhook needs. */}}
{{- define "reroll.admissionService" -}}
{{- printf "%s-admission" (include "reroll.fullname" .) -}}
{{- end -}}

{{/* Configurations are in no namespace: the name carries it. */}}
{{- define "reroll.admissionConfiguration" -}}
{{- printf "%s-%s" (include "reroll.fullname" .) .Release.Namespace -}}
{{- end -}}

{{/* The Secret of the webhook's certificate, unless Reroll makes that. */}}
{{- define "reroll.admissionTLSSecret" -}}
{{- $tls := .Values.admission.tls -}}
{{- default (ternary (printf "%s-admission-tls" (include "reroll.fullname" .)) "" $tls.certManager.enabled) $tls.existingSecret -}}
{{- end -}}

{{/* The scope of who is asked. */}}
{{- define "reroll.admissionRole" -}}
{{- ternary "serve" "admission" (eq .Values.deploymentMode "one-process") -}}
{{- end -}}

{{/* Of a scope: something if the API server asks its pods. */}}
{{- define "reroll.admits" -}}
{{- if and .Values.admission.enabled (has .role (list "serve" "admission")) }}yes{{ end -}}
{{- end -}}

{{- define "reroll.admissionArgs" -}}
{{- with .Values.admission }}
{{- if .enabled }}
- --set=admission.address=:{{ .port }}
{{- if include "reroll.admissionTLSSecret" $ }}
- --set=admission.tlsCert=/etc/reroll/admission-tls/tls.crt
- --set=admission.tlsKey=/etc/reroll/admission-tls/tls.key
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Of a scope: something if it keeps the secret path, by which API servers prove themselves, and the CA in the webhook's configuration. */}}
{{- define "reroll.publishesAdmission" -}}
{{- if and .Values.admission.enabled (include "reroll.dispatches" .) }}yes{{ end -}}
{{- end -}}

{{- define "reroll.admissionPublishArgs" }}
- --set=admission.configuration={{ include "reroll.admissionConfiguration" . }}
{{- if include "reroll.admissionTLSSecret" . }}
- --set=admission.certificateLifetime=0s
{{- else }}
- --set=admission.service={{ include "reroll.admissionService" . }}
{{- end }}
{{- end -}}

{{/* The annotations with which a workload opts in, as a JSON object: on its own metadata, and on its own or those of its pod template. */}}
{{- define "reroll.admissionKeys" -}}
{{- $tools := dict
  "reroll" (list "reroll.dev/auto" "reroll.dev/configmaps" "reroll.dev/secrets" "reroll.dev/configmap-selector" "reroll.dev/secret-selector" "reroll.dev/follow")
  "sap" (list "pod-reloader.cs.sap.com/configmaps" "pod-reloader.cs.sap.com/secrets")
  "wave" (list "wave.pusher.com/update-on-config-change" "wave.pusher.com/extra-configmaps" "wave.pusher.com/extra-secrets")
  "collaborne" (list "reloader.k8s.collaborne.com/configmap" "reloader.k8s.collaborne.com/secret")
  "fabric8" (list "configmap.fabric8.io/update-on-change")
  "trigger" (list "trigger.k8s.io/triggering-configMaps" "trigger.k8s.io/triggering-secrets") }}
{{- $own := list }}
{{- range $tool, $keys := $tools }}
{{- if or (not $.Values.compatibility.dialects) (has $tool $.Values.compatibility.dialects) }}{{ $own = concat $own $keys }}{{ end }}
{{- end }}
{{- $either := list }}
{{- if or (not .Values.compatibility.dialects) (has "stakater" .Values.compatibility.dialects) }}
{{- range $name, $key := dict
  "auto" "reloader.stakater.com/auto" "autoSearch" "reloader.stakater.com/search"
  "configmap" "configmap.reloader.stakater.com/reload" "configmapAuto" "configmap.reloader.stakater.com/auto"
  "secret" "secret.reloader.stakater.com/reload" "secretAuto" "secret.reloader.stakater.com/auto"
  "secretproviderclass" "secretproviderclass.reloader.stakater.com/reload"
  "secretproviderclassAuto" "secretproviderclass.reloader.stakater.com/auto" }}
{{- $either = append $either (default $key (index $.Values.compatibility.annotationKeys $name)) }}
{{- end }}
{{- end }}
{{- dict "own" (concat $own $either) "either" $either | toJson -}}
{{- end -}}

{{/* An expression that tells whether an object has opted in. */}}
{{- define "reroll.admissionCondition" -}}
{{- $keys := include "reroll.admissionKeys" . | fromJson -}}
has(object.metadata.annotations) && ['{{ join "', '" $keys.own }}'].exists(key, key in object.metadata.annotations)
{{- with $keys.either }} || has(object.spec.template) && has(object.spec.template.metadata) && has(object.spec.template.metadata.annotations) && ['{{ join "', '" . }}'].exists(key, key in object.spec.template.metadata.annotations){{ end }}
{{- end -}}

{{/* Fails on values of the admission webhook that do not fit others. */}}
{{- define "reroll.admissionChecks" -}}
{{- $v := .Values -}}
{{- if $v.admission.enabled -}}
{{- if eq $v.deploymentMode "hub" -}}
{{- fail "admission.enabled has no use at a hub, which rolls nothing: enable it in the release of each cluster" -}}
{{- end -}}
{{- if or $v.reload.webhook.url $v.reload.webhook.existingSecret -}}
{{- fail "admission.enabled has no use beside reload.webhook.url and reload.webhook.existingSecret, with which no marks are written" -}}
{{- end -}}
{{- if $v.dryRun -}}
{{- fail "admission.enabled has no use in a dryRun, which changes nothing" -}}
{{- end -}}
{{- if and $v.scope.namespaceSelector (not $v.admission.namespaceSelector) -}}
{{- fail "admission.enabled with scope.namespaceSelector needs admission.namespaceSelector: the same namespaces, as a LabelSelector" -}}
{{- end -}}
{{- if and $v.admission.tls.certManager.enabled (not $v.admission.tls.certManager.issuerRef.name) -}}
{{- fail "admission.tls.certManager needs issuerRef.name: who signs?" -}}
{{- end -}}
{{- if and $v.admission.tls.certManager.enabled $v.admission.tls.caBundle -}}
{{- fail "admission.tls.caBundle has no use beside admission.tls.certManager, which tells the API server its CA" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* What a process of its own may know of the configs that workloads are marked for: not more than what one is asked about at a time. */}}
{{- define "reroll.admissionRules" -}}
{{- $kinds := list }}
{{- range list "configmaps" "secrets" }}
{{- if not (has . $.Values.scope.resourcesToIgnore) }}{{ $kinds = append $kinds . }}{{ end }}
{{- end -}}
# get: read the configs of a workload that is being written, to mark it.
- apiGroups: [""]
  resources: [{{ join ", " $kinds }}]
  verbs: [get]
{{- if .Values.csi.enabled }}
# get: read the annotations of a class.
- apiGroups: [secrets-store.csi.x-k8s.io]
  resources: [secretproviderclasses]
  verbs: [get]
# list: read which versions the driver has mounted. Which class a status is about, only its content says.
- apiGroups: [secrets-store.csi.x-k8s.io]
  resources: [secretproviderclasspodstatuses]
  verbs: [list]
{{- end }}
{{- end -}}
