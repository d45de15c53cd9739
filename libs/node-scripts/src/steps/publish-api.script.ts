import { hostPath } from '../shell/quote.js';
import { script, writeFile, type HostScript } from '../shell/script.js';
import {
  knownHosts,
  servicesUnit,
  TUNNEL_CLIENT,
  tunnelUnit,
  type PublishedTarget,
  type TunnelClient,
} from '../tunnel/tunnel.unit.js';

export interface PublishApiInput extends TunnelClient {
  /** As OpenSSH writes it. */
  readonly privateKey: string;
  /** Services of the cluster whose names it holds, too. */
  readonly services: readonly PublishedTarget[];
}

export interface PublishApiResult {
  readonly changed: boolean;
}

const { folder, key, knownHosts: known, unit, servicesUnit: ofServices } = TUNNEL_CLIENT;
const fileOf = (name: string): string => `/etc/systemd/system/${name}`;

/** Restarts a unit whose text or key has changed, and starts one that does not run. */
const ensureUnit = (name: string, text: string): string => `before=$(state ${hostPath(fileOf(name))})
${writeFile(fileOf(name), '644', text)}
if [ "$keys" = changed ] || [ "$before" != "$(state ${hostPath(fileOf(name))})" ]; then
  changed=true
  run systemctl daemon-reload
  run systemctl enable ${name}
  run systemctl restart ${name}
elif ! systemctl is-active --quiet ${name}; then
  changed=true
  run systemctl enable --now ${name}
fi`;

const removeUnit = (name: string): string => `if [ -e ${hostPath(fileOf(name))} ]; then
  changed=true
  run systemctl disable --now ${name}
  rm -f ${hostPath(fileOf(name))}
  run systemctl daemon-reload
fi`;

/**
 * Has the control plane hold the names of the API and of published services at the tunnel. Whether the tunnel answers
 * now is not asked: the units try until it does.
 */
export const publishApiScript = ({ privateKey, services, ...client }: PublishApiInput): HostScript =>
  script(
    { step: 'publish-api', limitSeconds: 60, lockSeconds: 120 },
    `
changed=false
[ -n "$root" ] || [ -x /usr/bin/ssh ] || fail 'a published API needs the SSH client of OpenSSH on this host: install openssh-client'

state() { cat "$@" 2>/dev/null | sha256sum; }
before=$(state ${hostPath(folder)}/*)
${writeFile(key, '600', privateKey)}
${writeFile(known, '644', knownHosts(client))}
keys=changed
if [ "$before" = "$(state ${hostPath(folder)}/*)" ]; then keys=same; fi
${ensureUnit(unit, tunnelUnit(client))}
${services.length === 0 ? removeUnit(ofServices) : ensureUnit(ofServices, servicesUnit(client, services))}
result "{\\"changed\\":$changed}"
`,
  );
