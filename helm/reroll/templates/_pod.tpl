{{/* Of a scope: the Secrets that are files in its pods, by the folder in /etc/reroll. */}}
{{- define "reroll.secrets" -}}
{{- $secrets := dict }}
{{- if include "reroll.mountsTLS" . }}{{ $_ := set $secrets "ingest-tls" (include "reroll.tlsSecretName" .) }}{{ end }}
{{- if include "reroll.runs" (list . "api") }}{{ $_ := set $secrets "api-tls" .Values.api.tls.existingSecret }}{{ end }}
{{- if include "reroll.runs" (list . "admission") }}{{ $_ := set $secrets "admission-tls" .Values.admission.tls.existingSecret }}{{ end }}
{{- if ne .part "admission" }}{{ $_ := set $secrets "nats" .Values.nats.existingSecret }}{{ end }}
{{- if include "reroll.runs" (list . "dispatch") }}{{ $_ := set $secrets "hub" .Values.hub.existingSecret }}{{ end }}
{{- range $folder, $secret := $secrets }}{{ if not $secret }}{{ $_ := unset $secrets $folder }}{{ end }}{{ end }}
{{- toYaml $secrets -}}
{{- end -}}

{{/* Of a scope: the template of its pods, for a StatefulSet or a Deployment. */}}
{{- define "reroll.podTemplate" -}}
{{- $v := .Values }}
{{- $secrets := include "reroll.secrets" . | fromYaml }}
{{- $stores := and (eq .part "serve") (not $v.nats.url) }}
metadata:
  labels:
    {{- include "reroll.labels" . | nindent 4 }}
    {{- with $v.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    # The settings are read once: new ones need a new pod.
    checksum/config: {{ toYaml $v.config | sha256sum }}
    {{- with $v.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "reroll.serviceAccountName" . }}
  automountServiceAccountToken: {{ ne (include "reroll.asksKubernetes" .) "" }}
  enableServiceLinks: false
  # Time after SIGTERM to answer open requests and write records.
  terminationGracePeriodSeconds: 60
  securityContext: {{- toYaml $v.podSecurityContext | nindent 4 }}
  {{- range $field := list "imagePullSecrets" "nodeSelector" "tolerations" "affinity" "priorityClassName" }}
  {{- with index $v $field }}
  {{- dict $field . | toYaml | nindent 2 }}
  {{- end }}
  {{- end }}
  {{- if and $v.topologySpreadConstraints (gt (int (include "reroll.replicas" .)) 1) }}
  topologySpreadConstraints:
    {{- range $v.topologySpreadConstraints }}
    - {{- toYaml . | nindent 6 }}
      labelSelector:
        matchLabels: {{- include "reroll.selectorLabels" $ | nindent 10 }}
    {{- end }}
  {{- end }}
  containers:
    - name: reroll
      image: {{ include "reroll.image" . | quote }}
      imagePullPolicy: {{ $v.image.pullPolicy }}
      args: {{- include "reroll.args" . | nindent 8 }}
      env:
        - name: POD_NAME
          valueFrom: {fieldRef: {fieldPath: metadata.name}}
        - name: POD_NAMESPACE
          valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
        {{- with $v.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      ports:
        {{- if include "reroll.runs" (list . "ingest") }}
        - {name: ingest, containerPort: 9443, protocol: TCP}
        {{- end }}
        {{- if include "reroll.runs" (list . "admission") }}
        - {name: admission, containerPort: 9444, protocol: TCP}
        {{- end }}
        - {name: metrics, containerPort: 9090, protocol: TCP}
        {{- if include "reroll.runs" (list . "api") }}
        - {name: api, containerPort: 8080, protocol: TCP}
        {{- end }}
      # Two minutes to open the store before the liveness probe counts.
      startupProbe: {httpGet: {path: /livez, port: metrics}, periodSeconds: 2, failureThreshold: 60}
      livenessProbe: {httpGet: {path: /livez, port: metrics}, periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 6}
      readinessProbe: {httpGet: {path: /readyz, port: metrics}, periodSeconds: 5, timeoutSeconds: 5}
      {{- if has .part (list "ingest" "admission") }}
      # Until no request is led here any more: an API server that finds the port closed waits for ten seconds before it tries again, or goes
      # without an answer.
      lifecycle: {preStop: {sleep: {seconds: 5}}}
      {{- end }}
      {{- $resources := $v.resources }}
      {{- if eq .part "admission" }}
      # What the webhook holds at a time is limited (docs/security.md).
      {{- $resources = merge (deepCopy $resources) (dict "limits" (dict "memory" "512Mi")) }}
      {{- end }}
      resources: {{- toYaml $resources | nindent 8 }}
      securityContext: {{- toYaml $v.securityContext | nindent 8 }}
      volumeMounts:
        - {name: config, mountPath: /etc/reroll/config, readOnly: true}
        {{- range $folder, $_ := $secrets }}
        - {name: {{ $folder }}, mountPath: /etc/reroll/{{ $folder }}, readOnly: true}
        {{- end }}
        {{- if $stores }}
        - {name: data, mountPath: /var/lib/reroll}
        {{- end }}
        {{- with $v.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    - name: config
      configMap: {name: {{ include "reroll.fullname" . }}}
    {{- range $folder, $secret := $secrets }}
    - name: {{ $folder }}
      secret:
        secretName: {{ $secret }}
        {{- if and (eq $folder "ingest-tls") (include "reroll.makesTLS" $) }}
        # The dispatcher makes it. Until then these pods run and are not ready.
        optional: true
        # The Secret also has the key of the CA, which these pods do not need.
        items: [{key: tls.crt, path: tls.crt}, {key: tls.key, path: tls.key}, {key: ca.crt, path: ca.crt}]
        {{- end }}
        defaultMode: 0440
    {{- end }}
    {{- if $stores }}
    - name: data
      {{- if $v.persistence.enabled }}
      persistentVolumeClaim: {claimName: {{ include "reroll.claimName" . }}}
      {{- else }}
      emptyDir: {}
      {{- end }}
    {{- end }}
    {{- with $v.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end -}}
