import { quote } from '@fairlead/node-scripts';
import { IDENTITY_FUNCTION } from '../machine/keeper.parts.js';

export const BALANCER_FILES = {
  record: 'balancer.json',
  config: 'haproxy.cfg',
  keeper: 'keeper.sh',
  keeperIdentity: 'keeper.pid',
  log: 'haproxy.log',
} as const;

const RESTART_PAUSE_SECONDS = 1;

/**
 * Keeps one load balancer in the hosts' namespace, like a host's keeper keeps a host: a haproxy that dies is restarted,
 * and dies with its keeper. HUP: reload the configuration without losing a connection.
 */
export const balancerKeeperScript = (at: {
  readonly name: string;
  readonly folder: string;
  readonly namespace: string;
  readonly bridge: string;
  readonly address: string;
}): string => `#!/bin/sh
# Keeps the balancer ${at.name}.
set -u
cd ${quote(at.folder)} || exit 1
exec 9>lock
flock --nonblock 9 || exit 0

${IDENTITY_FUNCTION}
identity $$ ${BALANCER_FILES.keeperIdentity}
child=
trap '[ -z "$child" ] || kill -USR2 "$child"' HUP
while :; do
  ip -n ${quote(at.namespace)} address replace ${at.address}/32 dev ${at.bridge}
  setpriv --pdeathsig KILL nsenter ${quote(`--net=/run/netns/${at.namespace}`)} \\
    haproxy -W -db -f ${quote(`${at.folder}/${BALANCER_FILES.config}`)} 9>&- &
  child=$!
  # A signal ends the waiting, not the balancer.
  while :; do
    wait "$child"
    kill -0 "$child" 2>/dev/null || break
  done
  child=
  sleep ${RESTART_PAUSE_SECONDS}
done
`;
