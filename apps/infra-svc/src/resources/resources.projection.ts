import type { Cause, ConnectionName, ConnectionOffer, MachineSpec } from '@fairlead/contracts';
import type { Projection } from '@fairlead/event-sourcing';
import { isResourceFact } from './resources.decider.js';

/** The offer of a connection, and the resources that its clusters share. */
export interface ResourcesRow {
  readonly connection: ConnectionName;
  readonly offer: ConnectionOffer | null;
  /** Why it was unusable at the last check; null: it was usable. */
  readonly unverified: Cause | null;
  readonly network: { readonly name: string; readonly subnet: string; readonly cidr: string } | null;
  readonly firewall: string | null;
  readonly sshKey: { readonly name: string; readonly publicKey: string } | null;
  readonly image: { readonly name: string; readonly os: string } | null;
  /** Machines with the marks of the connection that no cluster has planned. Absent: none was found. */
  readonly orphans?: readonly { readonly id: string }[];
  readonly specs: Readonly<Record<string, Pick<MachineSpec, 'cpuCount' | 'memoryGiB'>>>;
}

const nothingYet = (connection: ConnectionName): ResourcesRow => ({
  connection,
  offer: null,
  unverified: null,
  network: null,
  firewall: null,
  sshKey: null,
  image: null,
  specs: {},
});

/** Shared resources by connection. */
export const resourcesProjection: Projection<ResourcesRow> = {
  name: 'resources',
  table: 'resources',
  keys: (event) => {
    switch (event.type) {
      case 'OrphanVmFound':
      case 'OrphanVmGone':
      case 'OrphanVmAdopted':
      case 'OrphanVmDeleted':
        return [event.data.connection];
      default: {
        const fact = { type: event.type, data: event.data };
        return isResourceFact(fact) ? [fact.data.connection] : [];
      }
    }
  },
  evolve: (before, event, key) => {
    const row = before ?? nothingYet(key as ConnectionName);
    switch (event.type) {
      case 'ConnectionVerified':
        return { ...row, offer: event.data.offer, unverified: null };
      case 'ConnectionUnverified':
        return { ...row, unverified: event.data.cause };
      case 'NetworkEnsured': {
        const { network: name, subnet, cidr } = event.data;
        return { ...row, network: { name, subnet, cidr } };
      }
      case 'FirewallEnsured':
        return { ...row, firewall: event.data.firewall };
      case 'SshKeyEnsured':
        return { ...row, sshKey: { name: event.data.sshKey, publicKey: event.data.publicKey } };
      case 'ImageEnsured':
        return { ...row, image: { name: event.data.image, os: event.data.os } };
      case 'SpecEnsured': {
        const { spec, cpuCount, memoryGiB } = event.data;
        return { ...row, specs: { ...row.specs, [spec]: { cpuCount, memoryGiB } } };
      }
      case 'OrphanVmFound':
        return { ...row, orphans: [...(row.orphans ?? []), { id: event.data.id }] };
      case 'OrphanVmGone':
      case 'OrphanVmAdopted':
      case 'OrphanVmDeleted':
        return { ...row, orphans: (row.orphans ?? []).filter(({ id }) => id !== event.data.id) };
      default:
        return before;
    }
  },
};
