{{/* Of a scope: the environment of the process: which replica it is, what has no flag, and what nobody should see in a list of processes. */}}
{{- define "reroll.env" -}}
- name: POD_NAME
  valueFrom: {fieldRef: {fieldPath: metadata.name}}
- name: POD_NAMESPACE
  valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
{{- $dispatches := include "reroll.dispatches" . }}
{{- if and .Values.nats.keys.url (include "reroll.usesNats" .) }}
- name: REROLL_NATS_URL
  valueFrom: {secretKeyRef: {name: {{ .Values.nats.existingSecret }}, key: {{ .Values.nats.keys.url }}}}
{{- end }}
{{- if and (or .Values.reload.webhook.url .Values.reload.webhook.existingSecret) $dispatches }}
- name: REROLL_WEBHOOK_URL
  valueFrom: {secretKeyRef: {name: {{ default (include "reroll.urlsSecretName" .) .Values.reload.webhook.existingSecret }}, key: webhook-url}}
{{- end }}
{{- if and .Values.notifications.enabled $dispatches }}
{{- include "reroll.alertEnv" . }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "reroll.alertEnv" }}
{{- $secret := default (include "reroll.urlsSecretName" .) .Values.notifications.existingSecret }}
- name: REROLL_NOTIFICATIONS_URL
  valueFrom: {secretKeyRef: {name: {{ $secret }}, key: alert-webhook-url}}
{{- if or .Values.notifications.proxy .Values.notifications.existingSecret }}
- name: REROLL_NOTIFICATIONS_PROXY
  valueFrom: {secretKeyRef: {name: {{ $secret }}, key: alert-webhook-proxy, optional: true}}
{{- end }}
{{- end -}}

{{/* The URLs that stand in the values, as keys of the release's Secret; those in a Secret of somebody else's are not among them. */}}
{{- define "reroll.urls" -}}
{{- if and .Values.reload.webhook.url (not .Values.reload.webhook.existingSecret) }}
webhook-url: {{ .Values.reload.webhook.url | quote }}
{{- end }}
{{- if and .Values.notifications.enabled (not .Values.notifications.existingSecret) }}
alert-webhook-url: {{ .Values.notifications.url | quote }}
{{- with .Values.notifications.proxy }}
alert-webhook-proxy: {{ . | quote }}
{{- end }}
{{- end }}
{{- end -}}
