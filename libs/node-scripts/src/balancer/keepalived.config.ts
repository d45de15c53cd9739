import { BALANCER } from './balancer.paths.js';
import { MONITOR_PORT, type ControlPlanePeer } from './haproxy.config.js';

export interface SharedAddress {
  readonly address: string;
  /** 1 to 255; tells groups of the same hosts apart. */
  readonly routerId: number;
  /** keepalived reads the first 8 characters. */
  readonly password: string;
}

/** Stands in the configuration for the interface that has the node's own address; found on the host. */
export const INTERFACE = '@interface@';

/** 254 is the highest that a router may have that does not own the address. */
const PRIORITY_FIRST = 200;

/**
 * keepalived for the shared address. Peers are told one by one, since many networks carry no multicast. Whoever has the
 * address keeps it (nopreempt), also when one with a higher priority comes back: each move costs every client its
 * connection. Priorities therefore only decide who is first, and who follows.
 */
export const keepalivedConfig = (
  { address, routerId, password }: SharedAddress,
  self: ControlPlanePeer,
  peers: readonly ControlPlanePeer[],
): string => {
  const others = peers.filter(({ name }) => name !== self.name);
  const place = peers.findIndex(({ name }) => name === self.name);
  return `# Made by Fairlead, and made anew when control planes come and go.
global_defs {
  router_id ${self.name}
  enable_script_security
  script_user root
}

vrrp_script reaches_an_api_server {
  script "${BALANCER.check}"
  interval 1
  timeout 3
  fall 3
  rise 1
}

vrrp_instance api {
  state BACKUP
  nopreempt
  interface ${INTERFACE}
  virtual_router_id ${routerId}
  priority ${PRIORITY_FIRST - place}
  advert_int 1
  unicast_src_ip ${self.address}
${others.length === 0 ? '' : `  unicast_peer {\n${others.map((peer) => `    ${peer.address}`).join('\n')}\n  }\n`}  authentication {
    auth_type PASS
    auth_pass ${password}
  }
  virtual_ipaddress {
    ${address}/${address.includes(':') ? 128 : 32} dev ${INTERFACE}
  }
  track_script {
    reaches_an_api_server
  }
}
`;
};

/**
 * May this host have the shared address? Yes while haproxy here reaches an API server, its own or another's. The host on
 * which the first one is being made may have it before, while haproxy runs: kubeadm init needs the address. `until`: the
 * file that is there when it is made; null: it is made elsewhere.
 */
export const balancerCheck = (until: string | null): string => `#!/bin/bash
# Made by Fairlead for keepalived.
exec 3<>/dev/tcp/127.0.0.1/${MONITOR_PORT} || exit 1
${until === null ? '' : `[ -e ${until} ] || exit 0\n`}printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3
read -r -t 2 _ status _ <&3 || exit 1
[ "$status" = 200 ]
`;
