{{/* Of a scope: what the file of settings cannot know, one flag per line. */}}
{{- define "reroll.args" -}}
- serve
- --config=/etc/reroll/config/reroll.yaml
- --components={{ include "reroll.components" . }}
- --cluster-name={{ .Values.clusterName }}
- --source={{ .Values.source }}
{{- if .Values.dryRun }}
- --dry-run
{{- end }}
- --data-dir=/var/lib/reroll
{{- with .Values.nats.url }}
- --set=nats.url={{ . }}
{{- end }}
{{- with .Values.hub.url }}
- --set=hub.url={{ . }}
{{- end }}
{{- if and (include "reroll.elects" .) (include "reroll.runs" (list . "dispatch")) }}
- --set=leaderElection=true
{{- end }}
- --set=ingest.service={{ include "reroll.ingestService" . }}
{{- if include "reroll.mountsTLS" . }}
- --set=ingest.tlsCert=/etc/reroll/ingest-tls/tls.crt
- --set=ingest.tlsKey=/etc/reroll/ingest-tls/tls.key
{{- if not .S.ingest.tokenFile }}
- --set=ingest.tlsClientCA=/etc/reroll/ingest-tls/ca.crt
{{- end }}
{{- end }}
{{- if include "reroll.runs" (list . "api") }}
- --api-address={{ ternary "" "127.0.0.1" .Values.api.service.enabled }}:8080
- --set=api.auth={{ .S.api.auth }}
{{- if and (eq .S.api.auth "token") (not .S.api.audiences) }}
- --set=api.audiences=reroll
{{- end }}
{{- if .Values.api.tls.existingSecret }}
- --set=api.tlsCert=/etc/reroll/api-tls/tls.crt
- --set=api.tlsKey=/etc/reroll/api-tls/tls.key
{{- end }}
{{- end }}
{{- if .Values.admission.enabled }}
- --set=admission.service={{ include "reroll.fullname" . }}-admission
{{- if include "reroll.runs" (list . "dispatch") }}
- --set=admission.configuration={{ include "reroll.admissionConfiguration" . }}
{{- end }}
{{- if .Values.admission.tls.existingSecret }}
- --set=admission.certificateLifetime=0
- --set=admission.tlsCert=/etc/reroll/admission-tls/tls.crt
- --set=admission.tlsKey=/etc/reroll/admission-tls/tls.key
{{- end }}
{{- end }}
{{- range .Values.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end -}}
