import { OwnHost, type ClusterUid, type ConnectionName, type Namespace, type NodeName } from '@fairlead/contracts';
import type { Candidates, Claim, DesiredHost } from './stock.ports.js';

export const SITE = 'site' as ConnectionName;

export const claimOf = (uid: ClusterUid, cluster = 'demo'): Claim => ({
  connection: SITE,
  uid,
  namespace: 'default' as Namespace,
  cluster,
});

/** A host of the inventory; its address derives from its number. */
export const ownHost = (number: number, more: Partial<OwnHost> = {}): OwnHost =>
  OwnHost.parse({ name: `rack-${number}`, address: `198.51.100.${number}`, ...more });

export const ownHosts = (count: number): readonly OwnHost[] =>
  Array.from({ length: count }, (_, index) => ownHost(index + 1));

export const candidates = (
  hosts: readonly OwnHost[],
  unfit: readonly string[] = [],
  more: Partial<Candidates> = {},
): Candidates => ({
  hosts,
  unfit,
  ownSince: 0,
  now: '2026-12-01T08:00:00.000Z',
  baselines: new Map(),
  ...more,
});

export const desiredHost = (machine: string, more: Partial<DesiredHost> = {}): DesiredHost => ({
  machine: machine as NodeName,
  spec: 'ssh.any',
  zone: undefined,
  ...more,
});
