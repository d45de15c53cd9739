import type { AgentNetworkMessage, DesiredNetwork, NodeFirewall } from '@fairlead/contracts';
import { node, uid } from '../agent/agent.fixtures.js';

/** Values for specs. */
export const FIREWALL: NodeFirewall = {
  sets: {
    nodes: ['192.0.2.11', '192.0.2.12', '2001:db8::12'],
    'control-planes': ['192.0.2.11'],
    pods: ['10.244.0.0/16'],
  },
  inbound: [
    { name: 'ssh', protocol: 'tcp', ports: ['22'], peers: ['@fairlead', '198.51.100.0/24', '198.51.100.7'] },
    { name: 'kubelet', protocol: 'tcp', ports: ['10250'], peers: ['@nodes', '@pods'] },
    { name: 'kubernetes-api', protocol: 'tcp', ports: ['6443'], peers: ['@nodes', '@pods', '@fairlead', '192.0.2.5'] },
    { name: 'etcd', protocol: 'tcp', ports: ['2379-2380'], peers: ['@control-planes'] },
    { name: 'kubernetes-api-vrrp', protocol: 'vrrp', ports: [], peers: ['@control-planes'] },
    { name: 'flannel-vxlan', protocol: 'udp', ports: ['8472'], peers: ['@nodes'] },
    { name: 'declared-web', protocol: 'tcp', ports: ['80', '8000-8010'], peers: ['0.0.0.0/0', '::/0'] },
    { name: 'declared-any', protocol: 'udp', ports: ['5000'], peers: ['any'] },
  ],
  nodePorts: ['@nodes', '@pods', '203.0.113.0/24'],
};

/** Closes the ports of the Kubernetes API, and nothing else. */
export const API_ONLY: NodeFirewall = {
  sets: FIREWALL.sets,
  inbound: [
    { name: 'kubernetes-api', protocol: 'tcp', ports: ['6443', '9998'], peers: ['@nodes', '@pods', '@fairlead'] },
  ],
  nodePorts: ['any'],
  closed: [6443, 9998],
};

export const OUTBOUND: NodeFirewall = {
  ...FIREWALL,
  outbound: [
    { name: 'cluster-tcp', protocol: 'tcp', ports: [], peers: ['@nodes', '@pods'] },
    { name: 'dns-udp', protocol: 'udp', ports: ['53'], peers: ['any'] },
    { name: 'calico-ipip', protocol: 'ipip', ports: [], peers: ['@nodes'] },
    { name: 'declared-nats', protocol: 'tcp', ports: ['4222'], peers: ['198.51.100.9'] },
  ],
};

export const messageOf = (
  content: DesiredNetwork,
  { seq = 1, attempt = 1, revision = '0123456789abcdef' } = {},
): AgentNetworkMessage => ({
  id: `event-${seq}`,
  seq,
  data: { uid, node, revision, attempt, ...content },
});
