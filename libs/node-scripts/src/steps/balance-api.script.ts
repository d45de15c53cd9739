import { BALANCER } from '../balancer/balancer.paths.js';
import { haproxyConfig, type ControlPlanePeer } from '../balancer/haproxy.config.js';
import { balancerCheck, INTERFACE, keepalivedConfig } from '../balancer/keepalived.config.js';
import { haproxyUnit, keepalivedUnit } from '../balancer/balancer.units.js';
import { hostPath, quote } from '../shell/quote.js';
import { script, writeFile, type HostScript } from '../shell/script.js';

export interface BalanceApiInput {
  readonly uid: string;
  /** The shared address of the control planes, and the port of the API there. */
  readonly endpoint: { readonly host: string; readonly port: number };
  readonly routerId: number;
  readonly password: string;
  /** The control plane on which this runs. */
  readonly self: ControlPlanePeer;
  /** All control planes, including itself; the first of them holds the address first. */
  readonly peers: readonly ControlPlanePeer[];
  /** Whether kubeadm init will run here. */
  readonly initialises: boolean;
}

export interface BalanceApiResult {
  readonly changed: boolean;
}

const [KEEPALIVED_UNIT, HAPROXY_UNIT] = BALANCER.units;

/** Debian's packages start their own services; Fairlead's have other units and files, so Debian's are not needed. */
const INSTALL = `
missing=''
for program in haproxy keepalived; do
  command -v "$program" >/dev/null 2>&1 || [ -x "$root/usr/sbin/$program" ] || missing="$missing $program"
done
if [ -n "$missing" ]; then
  command -v apt-get >/dev/null 2>&1 ||
    fail "a balanced API address needs$missing on this host, and there is no apt-get to install it with"
  for package in $missing; do
    run env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 --yes --no-install-recommends install "$package"
    systemctl disable --now "$package.service" >>"$log" 2>&1 || true
  done
  changed=true
fi`;

/**
 * Runs haproxy in front of all API servers, and keepalived for the shared address of the control planes, on one of
 * them. It changes only what differs; haproxy then reloads without losing a connection.
 */
export const balanceApiScript = (input: BalanceApiInput): HostScript => {
  const { uid, endpoint, routerId, password, self, peers, initialises } = input;
  const until = initialises ? `/var/lib/fairlead/kubeadm-init.${uid}.finished` : null;
  const listen = { ipv6: endpoint.host.includes(':'), port: endpoint.port };
  const keepalived = keepalivedConfig({ address: endpoint.host, routerId, password }, self, peers);
  return script(
    { step: 'balance-api', limitSeconds: 300, lockSeconds: 300 },
    `
changed=false
${INSTALL}

interface=$(ip -o address show 2>>"$log" | awk -v own=${quote(self.address)} '{ split($4, has, "/"); if (has[1] == own) print $2 }' | head -n 1)
[ -n "$interface" ] || fail ${quote(`no interface of this host has the address ${self.address}`)}

files=${hostPath(BALANCER.haproxy)}
folder=$(dirname "$files")
before=$(cat "$folder"/* 2>/dev/null | sha256sum)

${writeFile(BALANCER.haproxy, '600', haproxyConfig(listen, peers))}
${writeFile(BALANCER.check, '700', balancerCheck(until))}
${writeFile(BALANCER.keepalived, '600', keepalived)}
sed -i "s/${INTERFACE}/$interface/" ${hostPath(BALANCER.keepalived)}
${writeFile(`/etc/systemd/system/${HAPROXY_UNIT}`, '644', haproxyUnit)}
${writeFile(`/etc/systemd/system/${KEEPALIVED_UNIT}`, '644', keepalivedUnit)}

after=$(cat "$folder"/* | sha256sum)
if [ "$before" != "$after" ]; then
  changed=true
  run systemctl daemon-reload
fi
for unit in ${HAPROXY_UNIT} ${KEEPALIVED_UNIT}; do
  if systemctl is-active --quiet "$unit"; then
    if [ "$before" != "$after" ]; then run systemctl reload "$unit"; fi
  else
    changed=true
    run systemctl enable --now "$unit"
  fi
done
for unit in ${HAPROXY_UNIT} ${KEEPALIVED_UNIT}; do
  systemctl is-active --quiet "$unit" || fail "$unit does not stay: $(journalctl --unit "$unit" --lines 5 --output cat 2>/dev/null || true)"
done
result "{\\"changed\\":$changed}"
`,
  );
};
