import { hostPath } from '../shell/quote.js';
import { script, writeFile, type HostScript } from '../shell/script.js';
import { knownHosts, TUNNEL_CLIENT, tunnelUnit, type TunnelClient } from '../tunnel/tunnel.unit.js';

export interface PublishApiInput extends TunnelClient {
  /** As OpenSSH writes it. */
  readonly privateKey: string;
}

export interface PublishApiResult {
  readonly changed: boolean;
}

const { folder, key, knownHosts: known, unit } = TUNNEL_CLIENT;
const UNIT_FILE = `/etc/systemd/system/${unit}`;

/** Has the control plane hold the name of the API at the tunnel. Whether the tunnel answers now is not asked: the unit tries until it does. */
export const publishApiScript = ({ privateKey, ...client }: PublishApiInput): HostScript =>
  script(
    { step: 'publish-api', limitSeconds: 60, lockSeconds: 120 },
    `
changed=false
[ -n "$root" ] || [ -x /usr/bin/ssh ] || fail 'a published API needs the SSH client of OpenSSH on this host: install openssh-client'

state() { cat ${hostPath(folder)}/* ${hostPath(UNIT_FILE)} 2>/dev/null | sha256sum; }
before=$(state)
${writeFile(key, '600', privateKey)}
${writeFile(known, '644', knownHosts(client))}
${writeFile(UNIT_FILE, '644', tunnelUnit(client))}
if [ "$before" != "$(state)" ]; then
  changed=true
  run systemctl daemon-reload
  run systemctl enable ${unit}
  run systemctl restart ${unit}
elif ! systemctl is-active --quiet ${unit}; then
  changed=true
  run systemctl enable --now ${unit}
fi
result "{\\"changed\\":$changed}"
`,
  );
