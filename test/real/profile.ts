import type { StoredEvent } from '@fairlead/contracts';

/** The phases of a creation, by events, in seconds after the request. */
const MARKS: readonly (readonly [string, StoredEvent['type'], 'first' | 'last'])[] = [
  ['machines run', 'VmsCreated', 'last'],
  ['API address known', 'LoadBalancerReady', 'last'],
  ['first host answers SSH', 'HostReached', 'first'],
  ['last agent started', 'AgentStarted', 'last'],
  ['first host prepared', 'NodeInitialized', 'first'],
  ['last host prepared', 'NodeInitialized', 'last'],
  ['last host verified', 'NodeBootstrapped', 'last'],
  ['kubeadm init done', 'ControlPlaneInitialized', 'last'],
  ['network applied', 'NetworkReady', 'last'],
  ['first worker joined', 'WorkerJoined', 'first'],
  ['last worker joined', 'WorkerJoined', 'last'],
  ['second control plane joined', 'ControlPlaneJoined', 'first'],
  ['last control plane joined', 'ControlPlaneJoined', 'last'],
  ['control planes healthy', 'ControlPlaneReady', 'last'],
  ['first node Ready', 'NodeReady', 'first'],
  ['last node Ready', 'NodeReady', 'last'],
  ['cluster Ready', 'ClusterReady', 'last'],
];

export interface Moment {
  readonly what: string;
  readonly seconds: number;
}

export const profileOf = (events: readonly StoredEvent[]): readonly Moment[] => {
  const begun = Date.parse(events[0]?.meta.time ?? '');
  return MARKS.flatMap(([what, type, which]) => {
    const all = events.filter((event) => event.type === type);
    const event = which === 'first' ? all[0] : all.at(-1);
    return event === undefined ? [] : [{ what, seconds: (Date.parse(event.meta.time) - begun) / 1_000 }];
  });
};

export const profileText = (events: readonly StoredEvent[]): string =>
  profileOf(events)
    .map(({ what, seconds }) => `${seconds.toFixed(1).padStart(7)} s  ${what}`)
    .join('\n');
