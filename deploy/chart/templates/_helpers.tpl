{{- define "fairlead.labels" -}}
app.kubernetes.io/name: fairlead
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "fairlead.metadata" -}}
name: {{ .root.Release.Name }}-{{ .component }}
labels:
  {{- include "fairlead.labels" . | nindent 2 }}
  app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
  app.kubernetes.io/managed-by: {{ .root.Release.Service }}
  helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}

{{- define "fairlead.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ $image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{- define "fairlead.natsUrl" -}}
tls://{{ .Release.Name }}-nats:4222
{{- end }}

{{/* No container may write its image, gain rights, or keep a capability. */}}
{{- define "fairlead.confined" -}}
readOnlyRootFilesystem: true
allowPrivilegeEscalation: false
capabilities:
  drop: [ALL]
{{- end }}

{{- define "fairlead.user" -}}
runAsNonRoot: true
runAsUser: {{ . }}
runAsGroup: {{ . }}
fsGroup: {{ . }}
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "fairlead.claim" -}}
accessModes: [ReadWriteOnce]
{{- with .className }}
storageClassName: {{ . }}
{{- end }}
resources:
  requests:
    storage: {{ .size }}
{{- end }}

{{/* What each service is given besides the settings that all have; a value that is empty is not set. */}}
{{- define "fairlead.environment" -}}
{{- $root := .root -}}
{{- $nats := include "fairlead.natsUrl" $root -}}
{{- $agents := $root.Values.agentNatsUrls | default $nats -}}
{{- $secrets := printf "/secrets/%s" .component -}}
{{- $env := dict "NATS_URL" $nats "NATS_CREDS" (printf "%s/nats.creds" $secrets) "NATS_CA_FILE" (printf "%s/nats-ca.pem" $secrets) "LOG_FORMAT" "json" -}}
{{- if has .component (list "gateway" "infra-svc" "bootstrap-svc" "upgrade-svc") -}}
{{- $_ := set $env "DATABASE_URL_FILE" (printf "%s/database-url" $secrets) -}}
{{- $_ := set $env "FAIRLEAD_MASTER_KEY_FILE" (printf "%s/master.key" $secrets) -}}
{{- if $root.Values.postgres.enabled -}}
{{- $_ := set $env "DATABASE_PLAIN_TEXT" "allow" -}}
{{- else -}}
{{- $_ := set $env "DATABASE_CA_FILE" "/postgres/ca.pem" -}}
{{- end -}}
{{- end -}}
{{- if eq .component "gateway" -}}
{{- $_ := set $env "FAIRLEAD_LOCAL_TOKEN_FILE" "/secrets/gateway-token/local.token" -}}
{{- $_ := set $env "AGENT_BUNDLE" "/fairlead/apps/node-agent/dist/agent.mjs" -}}
{{- $_ := set $env "NATS_MONITOR_URL" (printf "http://%s-nats-peers:8222" $root.Release.Name) -}}
{{- if $root.Values.gateway.tlsSecret -}}
{{- $_ := set $env "TLS_CERT_FILE" "/tls/tls.crt" -}}
{{- $_ := set $env "TLS_KEY_FILE" "/tls/tls.key" -}}
{{- else -}}
{{- $_ := set $env "HTTP_PLAIN_TEXT" "allow" -}}
{{- end -}}
{{- end -}}
{{- if has .component (list "gateway" "infra-svc") -}}
{{- $_ := set $env "PUBLISH_DOMAIN" $root.Values.publish.domain -}}
{{- end -}}
{{- if eq .component "infra-svc" -}}
{{- $_ := set $env "TUNNEL_ADDRESS" $root.Values.publish.address -}}
{{- $_ := set $env "TUNNEL_PUBLIC_KEY_FILE" (printf "%s/tunnel-host.key.pub" $secrets) -}}
{{- end -}}
{{- if has .component (list "infra-svc" "bootstrap-svc") -}}
{{- $_ := set $env "AGENT_NATS_URLS" $agents -}}
{{- end -}}
{{- if eq .component "bootstrap-svc" -}}
{{- $_ := set $env "NATS_NODE_SIGNING_FILE" (printf "%s/node-signing.json" $secrets) -}}
{{- $_ := set $env "AGENT_BUNDLE" "/fairlead/apps/node-agent/dist/agent.mjs" -}}
{{- if $root.Values.bundlesClaim -}}
{{- $_ := set $env "SOFTWARE_BUNDLES" "/bundles" -}}
{{- end -}}
{{- end -}}
{{- if eq .component "revoker" -}}
{{- $_ := set $env "NATS_SYSTEM_CREDS" (printf "%s/nats-system.creds" $secrets) -}}
{{- $_ := set $env "NATS_ACCOUNT_SIGNING_FILE" (printf "%s/account-signing.json" $secrets) -}}
{{- end -}}
{{- if eq .component "tunnel" -}}
{{- $_ := set $env "TUNNEL_HOST_KEY_FILE" (printf "%s/tunnel-host.key" $secrets) -}}
{{- $_ := set $env "TUNNEL_HOST" "0.0.0.0" -}}
{{- $_ := set $env "TUNNEL_SSH_PORT" "2222" -}}
{{- $_ := set $env "TUNNEL_TLS_PORT" "8443" -}}
{{- $_ := set $env "TUNNEL_PEER_PORT" "7000" -}}
{{- if $root.Values.publish.certificateSecret -}}
{{- $_ := set $env "TUNNEL_CERTIFICATE_FILE" "/certificate/tls.pem" -}}
{{- end -}}
{{- end -}}
{{- range $name, $value := merge (dict) .service.env $env }}
{{- if ne $value "" }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}
{{- if eq .component "tunnel" }}
- name: TUNNEL_PEER_HOST
  valueFrom:
    fieldRef:
      fieldPath: status.podIP
{{- end }}
{{- end }}
