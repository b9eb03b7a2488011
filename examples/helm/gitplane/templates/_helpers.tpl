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

{{/* Files from Secrets and ConfigMaps: the folder of each, and the variables that name its files. */}}
{{- define "gitplane.files" -}}
{{- $root := "/etc/gitplane" }}
{{- with .Values.tls.secret }}
- {name: tls, secret: {{ . }}, path: {{ $root }}/tls, env: {TLS_CERT: {{ $root }}/tls/tls.crt, TLS_KEY: {{ $root }}/tls/tls.key}}
{{- end }}
{{- with .Values.repo.tokenSecret }}
- {name: repo-token, secret: {{ . }}, path: {{ $root }}/repo-token, env: {REPO_TOKEN_FILE: {{ $root }}/repo-token/token}}
{{- end }}
{{- with .Values.repo.sshSecret }}
- {name: repo-ssh, secret: {{ . }}, path: {{ $root }}/repo-ssh, env: {REPO_SSH_KEY: {{ $root }}/repo-ssh/ssh-privatekey, REPO_KNOWN_HOSTS: {{ $root }}/repo-ssh/known_hosts}}
{{- end }}
{{- with .Values.repo.caSecret }}
- {name: repo-ca, secret: {{ . }}, path: {{ $root }}/repo-ca, env: {REPO_CA: {{ $root }}/repo-ca/ca.crt}}
{{- end }}
{{- with .Values.repo.hookSecret }}
- {name: repo-hook, secret: {{ . }}, path: {{ $root }}/repo-hook, env: {HOOK_SECRET_FILE: {{ $root }}/repo-hook/secret}}
{{- end }}
{{- with .Values.signers.configMap }}
- {name: signers, configMap: {{ . }}, path: {{ $root }}/signers, env: {ALLOWED_SIGNERS: {{ $root }}/signers/allowed_signers}}
{{- end }}
{{- with .Values.ageKeys.secret }}
- {name: age-keys, secret: {{ . }}, path: {{ $root }}/age-keys, env: {AGE_KEY_FILE: {{ $root }}/age-keys/keys.txt}}
{{- end }}
{{- with .Values.credentials.secret }}
- {name: credentials, secret: {{ . }}, path: {{ $root }}/credentials, env: {CREDENTIALS_DIR: {{ $root }}/credentials}}
{{- end }}
{{- end }}
