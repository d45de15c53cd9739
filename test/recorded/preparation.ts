import { haproxyUnit, keepalivedUnit } from '../../libs/node-scripts/src/balancer/balancer.units.js';
import { haproxyConfig, MONITOR_PORT } from '../../libs/node-scripts/src/balancer/haproxy.config.js';
import { INTERFACE, keepalivedConfig } from '../../libs/node-scripts/src/balancer/keepalived.config.js';
import { quote } from '../../libs/node-scripts/src/shell/quote.js';

const PACKAGES = 'deb [trusted=yes] file:/opt/fairlead/mirror/packages/debian-13 ./';
const UNITS = '/etc/systemd/system';
const API_PORT = 6443;
/** An address without a listener. */
const DEAD_PORT = 6444;

/** Files that the preparation provides for the questions. */
export const PREPARED = {
  snapshot: '/tmp/snapshot.db',
  upload: '/tmp/upload-certs.yaml',
  haproxy: '/tmp/haproxy.cfg',
  deadHaproxy: '/tmp/haproxy.dead.cfg',
  keepalived: '/tmp/keepalived.conf',
  /** Monitoring port of the second haproxy. */
  deadMonitorPort: MONITOR_PORT - 1,
  budget: 'recorded',
} as const;

const ADDRESS = '192.0.2.1';
const peers = [{ name: 'cp-1', address: ADDRESS }];
const haproxy = haproxyConfig({ ipv6: false, port: 9998 }, peers);
/** The same, without an API server behind it. */
const deadHaproxy = haproxyConfig({ ipv6: false, port: 9997 }, peers)
  .replace(`${ADDRESS}:${API_PORT}`, `${ADDRESS}:${DEAD_PORT}`)
  .replace(`:${MONITOR_PORT}`, `:${PREPARED.deadMonitorPort}`);
const keepalived = keepalivedConfig(
  { address: '192.0.2.100', routerId: 7, password: 'recorded' },
  { name: 'cp-1', address: ADDRESS },
  [...peers, { name: 'cp-2', address: '192.0.2.2' }],
);

const file = (path: string, text: string): string => `printf '%s' ${quote(text)} >${path}`;

/**
 * Fairlead's configurations for tools, as on a load-balancing control plane: the questions show the tools' view of
 * them.
 */
const BALANCER = `
address=$(ip -o -4 address show dev host0 | awk '{ split($4, has, "/"); print has[1] }' | head -n 1)
${file(PREPARED.haproxy, haproxy)}
${file(PREPARED.deadHaproxy, deadHaproxy)}
${file(PREPARED.keepalived, keepalived)}
sed -i "s/${ADDRESS}:/$address:/" ${PREPARED.haproxy} ${PREPARED.deadHaproxy}
sed -i "s/${INTERFACE}/host0/" ${PREPARED.keepalived}
mkdir -p /etc/fairlead/balancer
printf '#!/bin/sh\\n' >/etc/fairlead/balancer/check.sh
chmod 700 /etc/fairlead/balancer/check.sh
${file(`${UNITS}/fairlead-haproxy.service`, haproxyUnit)}
${file(`${UNITS}/fairlead-keepalived.service`, keepalivedUnit)}
systemctl daemon-reload
haproxy -D -f ${PREPARED.haproxy}
haproxy -D -f ${PREPARED.deadHaproxy}
sleep 6`;

/** A budget that allows no eviction, once the controller has counted it. */
const BUDGET = `
export KUBECONFIG=/etc/kubernetes/admin.conf
kubectl --namespace kube-system rollout status deployment/coredns --timeout=120s >/dev/null
kubectl --namespace kube-system create poddisruptionbudget ${PREPARED.budget} --selector=k8s-app=kube-dns --max-unavailable=0 >/dev/null
kubectl --namespace kube-system wait --for=jsonpath='{.status.observedGeneration}'=1 poddisruptionbudget/${PREPARED.budget} --timeout=60s >/dev/null
kubectl get endpoints >/dev/null 2>&1`;

/** Prerequisites of the questions: access to etcd, its tools, packages known to apt, a load balancer, a budget. */
export const preparation = (kubernetes: string): string => `set -e
echo '${PACKAGES}' >/etc/apt/sources.list.d/fairlead.list
apt-get update -o Dir::Etc::sourcelist=/etc/apt/sources.list.d/fairlead.list -o Dir::Etc::sourceparts=- >/dev/null
printf 'apiVersion: kubeadm.k8s.io/v1beta4\\nkind: ClusterConfiguration\\nkubernetesVersion: ${kubernetes}\\n' >${PREPARED.upload}
rm -f ${PREPARED.snapshot}
${BALANCER}
${BUDGET}`;
