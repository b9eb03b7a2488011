{{- define "gitplane.labels" -}}
app.kubernetes.io/name: gitplane
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "gitplane.service" -}}
{{ .Release.Name }}.{{ .Release.Namespace }}.svc
{{- end }}

{{- define "gitplane.probe" -}}
httpGet:
  path: {{ . }}
  port: https
  scheme: HTTPS
{{- end }}
