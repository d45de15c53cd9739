import type { NodeName } from '@fairlead/contracts';
import type { PortAnswer, PortTarget } from '@fairlead/node-scripts';
import type { Cluster, Host } from '../bootstrap/bootstrap.state.js';

const API_PORT = 6443;
const KUBELET_PORT = 10_250;
const ETCD_PORTS = [2379, 2380];
/** A sentence names no more. */
const NAMED_MAX = 5;

/** A port to check, with the name of its host for people. */
export interface CheckedPort extends PortTarget {
  readonly name: string;
}

const portsAt = (name: string, address: string, ports: readonly number[]): readonly CheckedPort[] =>
  ports.map((port) => ({ name, address, port, need: 'reachable' }));

/** The control planes that a new node of their network must reach, as far as they are known to run. */
export const peersOf = ({ hosts, controlPlane }: Cluster, { machine }: Host): readonly Host[] =>
  Object.values(hosts).filter(
    (peer) =>
      peer.machine.role === 'control-plane' &&
      peer.machine.name !== machine.name &&
      peer.machine.connection === machine.connection &&
      peer.machine.reach === undefined &&
      peer.machine.privateIp !== '' &&
      peer.removal === 'none' &&
      peer.silence === undefined &&
      (peer.joinedAt !== null || peer.machine.name === controlPlane?.node),
  );

/** What a new node connects to: the API at its endpoint, and control planes. */
export const portsFrom = (cluster: Cluster, host: Host): readonly CheckedPort[] => {
  const { endpoint } = cluster;
  const isControlPlane = host.machine.role === 'control-plane';
  const ports = [API_PORT, ...(isControlPlane ? ETCD_PORTS : []), KUBELET_PORT];
  return [
    ...(endpoint === null
      ? []
      : [{ name: 'the API', address: endpoint.host, port: endpoint.port, need: 'open' as const }]),
    ...peersOf(cluster, host).flatMap(({ machine }) => portsAt(machine.name, machine.privateIp, ports)),
  ];
};

/** What a control plane connects to on a new one. Nothing listens there yet: a refusal is an answer. */
export const portsOn = ({ machine }: Host): readonly CheckedPort[] =>
  portsAt(machine.name, machine.privateIp, [API_PORT, ...ETCD_PORTS, KUBELET_PORT]);

const WORDS: Readonly<Record<PortAnswer['answer'], (words: string) => string>> = {
  open: () => '',
  refused: () => 'the connection is refused',
  silent: () => 'no answer within 5 s, so a firewall may drop it',
  unreachable: (words) => words || 'it cannot be reached',
  unknown: () => '',
};

const isMissing = ({ need }: CheckedPort, { answer }: PortAnswer): boolean =>
  answer === 'silent' || answer === 'unreachable' || (answer === 'refused' && need === 'open');

export interface CheckedFrom {
  readonly source: NodeName;
  readonly ports: readonly CheckedPort[];
  readonly answers: readonly PortAnswer[];
  /** Hosts that are known to run: where they do not answer, something is between. */
  readonly alive: ReadonlySet<string>;
}

/**
 * The ports that the source does not reach, with source, target and port. A host that answers on no port may be off,
 * which must not keep other nodes from joining; one that answers on another port is not.
 */
export const unreachedPorts = ({ source, ports, answers, alive }: CheckedFrom): readonly string[] => {
  const answerTo = new Map(answers.map((one) => [one.target, one]));
  const answering = new Set(
    ports.flatMap(({ name }, at) => (['open', 'refused'].includes(answerTo.get(at)?.answer ?? '') ? [name] : [])),
  );
  return ports.flatMap((port, at) => {
    const answer = answerTo.get(at);
    const { name, address, need } = port;
    if (answer === undefined || !isMissing(port, answer)) return [];
    if (need === 'reachable' && !answering.has(name) && !alive.has(name)) return [];
    return [
      `${source} does not reach ${name} (${address}) on port ${port.port}: ${WORDS[answer.answer](answer.words)}`,
    ];
  });
};

/** A finding for people. */
export const portsSentence = (unreached: readonly string[]): string => {
  const others = unreached.length - NAMED_MAX;
  return `${unreached.slice(0, NAMED_MAX).join('; ')}${others > 0 ? `; and ${others} more` : ''}`;
};
