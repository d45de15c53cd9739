import {
  ANY_HOST,
  inventoryOf,
  protocolOf,
  sentenceOf,
  SHARED_WITH_ALL,
  type ConnectionOffer,
  type ConnectionView,
  type EventData,
  type Quota,
  type SpecList,
  type SshSettings,
  type StoredEvent,
} from '@fairlead/contracts';
import {
  connectionOfSshKey,
  NO_SSH_KEY,
  sshAddress,
  sshKeyAfter,
  sshServerId,
  type KnownHostKey,
  type SshServer,
  type ConnectionSshKey,
} from '@fairlead/domain';
import type { Projection } from '@fairlead/event-sourcing';
import { isOrphanEvent, orphansAfter, type Orphans } from './orphans.evolve.js';

interface Registration {
  readonly provider: string;
  readonly region: string;
  readonly zone: string;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly hasSecret: boolean;
  readonly registeredAt: string;
  /** Absent: registered before there were grants, so shared with all. */
  readonly namespaces?: readonly string[] | undefined;
  readonly quota?: Quota | undefined;
}

export interface ConnectionDoc {
  readonly name: string;
  /** null: it was removed. */
  readonly registration: Registration | null;
  /**
   * What infra-svc last said of the provider. It outlives the registration: infra-svc does not say again what the log says
   * already, also not when a connection is registered again.
   */
  readonly offer: ConnectionOffer | null;
  readonly verifiedAt: string | null;
  /** When infra-svc last said whether it is reached. Absent: not since it was registered, or not since an earlier release. */
  readonly checkedAt?: string;
  readonly problem: string;
  /** The hosts of an inventory of which none could be used, as they answered. Absent: one can be, or it is not known. */
  readonly unusable?: NonNullable<ConnectionOffer['hosts']>;
  /** Tasks wait for a place among those of the connection; absent: none does for long. */
  readonly busy?: Omit<EventData<'ConnectionBusy'>, 'connection'>;
  /** Hosts of its inventory that are not free, by name. */
  readonly stock: Readonly<Record<string, StockEntry>>;
  /** The namespace that had a host last, by the host's name. Absent in rows of earlier releases. */
  readonly lastNamespaces?: Readonly<Record<string, string>>;
  /** Absent: no machine has been created, or the row is of an earlier release. */
  readonly sshKey?: ConnectionSshKey;
  /** Host keys that were pinned or accepted, by the id of their server. Absent in rows of earlier releases. */
  readonly hostKeys?: Readonly<Record<string, KnownHostKey>>;
  /** The last answer about the power of each host, by its name. Absent: it was never requested. */
  readonly powers?: Readonly<Record<string, LastPower>>;
  /** Machines that no cluster has planned, by the provider's id. Absent in rows of earlier releases. */
  readonly orphans?: Orphans;
}

type LastPower = NonNullable<NonNullable<NonNullable<ConnectionView['hosts']>[number]['power']>['last']>;

interface StockEntry {
  readonly cluster: string;
  readonly machine: string;
  /** Why it could not be reset; null: it is in use. */
  readonly kept: string | null;
}

/** A connection that is registered now. */
export type RegisteredConnectionDoc = ConnectionDoc & { readonly registration: Registration };

export const isRegistered = (doc: ConnectionDoc): doc is RegisteredConnectionDoc => doc.registration !== null;

const unknown = (name: string): ConnectionDoc => ({
  name,
  registration: null,
  offer: null,
  verifiedAt: null,
  problem: '',
  stock: {},
});

type StockRows = ConnectionDoc['stock'];

const without = (stock: StockRows, host: string): StockRows =>
  Object.fromEntries(Object.entries(stock).filter(([name]) => name !== host));

const stockAfter = (stock: StockRows, event: StoredEvent): StockRows => {
  switch (event.type) {
    case 'HostsTaken': {
      const { namespace, cluster, hosts } = event.data;
      const taken = hosts.map(({ host, machine }): [string, StockEntry] => [
        host.name,
        { cluster: `${namespace}/${cluster}`, machine, kept: null },
      ]);
      return { ...stock, ...Object.fromEntries(taken) };
    }
    case 'HostWithheld': {
      const { host, cause } = event.data;
      const entry = stock[host];
      return entry === undefined ? stock : { ...stock, [host]: { ...entry, kept: sentenceOf(cause) } };
    }
    case 'HostReturned':
    case 'HostReadmitted':
      return without(stock, event.data.host);
    default:
      return stock;
  }
};

const lastNamespacesAfter = (doc: ConnectionDoc, event: StoredEvent): NonNullable<ConnectionDoc['lastNamespaces']> => {
  const known = doc.lastNamespaces ?? {};
  switch (event.type) {
    case 'HostsTaken': {
      const { namespace, hosts } = event.data;
      return { ...known, ...Object.fromEntries(hosts.map(({ host }) => [host.name, namespace])) };
    }
    case 'HostReadmitted': {
      const { host, accepted } = event.data;
      return accepted === true ? Object.fromEntries(Object.entries(known).filter(([name]) => name !== host)) : known;
    }
    default:
      return known;
  }
};

/** What was accepted counts, and after it what was seen first. */
const withHostKey = (doc: ConnectionDoc, server: SshServer, key: KnownHostKey): ConnectionDoc => {
  const id = sshServerId(server);
  const known = doc.hostKeys?.[id];
  return known !== undefined && key.source === 'first-seen'
    ? doc
    : { ...doc, hostKeys: { ...doc.hostKeys, [id]: key } };
};

const withPower = (doc: ConnectionDoc, event: StoredEvent<'HostPowerAnswered' | 'HostPowerFailed'>): ConnectionDoc => {
  const { host, action, request } = event.data;
  const answer =
    'cause' in event.data
      ? { power: null, problem: sentenceOf(event.data.cause) }
      : { power: event.data.power, problem: '' };
  return { ...doc, powers: { ...doc.powers, [host]: { action, request, ...answer, time: event.meta.time } } };
};

const withSshKey = (doc: ConnectionDoc, event: StoredEvent): ConnectionDoc => {
  const before = doc.sshKey ?? NO_SSH_KEY;
  const after = connectionOfSshKey(event) === undefined ? before : sshKeyAfter(before, event);
  return after === before ? doc : { ...doc, sshKey: after };
};

const withoutCheck = ({ checkedAt: _past, ...doc }: ConnectionDoc): ConnectionDoc => doc;

const withoutUnusable = ({ unusable: _past, ...doc }: ConnectionDoc): ConnectionDoc => doc;

const withoutBusy = ({ busy: _over, ...doc }: ConnectionDoc): ConnectionDoc => doc;

export const connectionsProjection: Projection<ConnectionDoc> = {
  name: 'connections',
  table: 'connections',

  keys: (event) => {
    switch (event.type) {
      case 'ConnectionRegistered':
      case 'ConnectionRemoved':
      case 'HostKeyAccepted':
      case 'OrphanVmRemovalRequested':
        return [event.data.name];
      case 'ConnectionVerified':
      case 'ConnectionUnverified':
      case 'ConnectionBusy':
      case 'ConnectionFree':
      case 'HostsTaken':
      case 'HostReturned':
      case 'HostWithheld':
      case 'HostReadmitted':
      case 'HostKeyPinned':
      case 'OrphanVmFound':
      case 'OrphanVmGone':
      case 'OrphanVmAdopted':
      case 'OrphanVmDeleted':
      case 'OrphanVmKept':
      case 'HostPowerAnswered':
      case 'HostPowerFailed':
        return [event.data.connection];
      default: {
        const connection = connectionOfSshKey(event);
        return connection === undefined ? [] : [connection];
      }
    }
  },

  evolve: (doc, event, key) => {
    const before = withSshKey(doc ?? unknown(key), event);
    if (isOrphanEvent(event)) return { ...before, orphans: orphansAfter(before.orphans ?? {}, event) };
    switch (event.type) {
      case 'ConnectionRegistered': {
        const { name: _name, secretRef, ...given } = event.data;
        return {
          ...before,
          registration: { ...given, hasSecret: secretRef !== null, registeredAt: event.meta.time },
        };
      }
      case 'ConnectionRemoved':
        return { ...withoutCheck(before), registration: null };
      case 'ConnectionVerified':
        return {
          ...withoutUnusable(before),
          offer: event.data.offer,
          verifiedAt: event.meta.time,
          checkedAt: event.meta.time,
          problem: '',
        };
      case 'ConnectionUnverified':
        return {
          ...withoutUnusable(before),
          checkedAt: event.meta.time,
          problem: sentenceOf(event.data.cause),
          ...(event.data.hosts === undefined ? {} : { unusable: event.data.hosts }),
        };
      case 'ConnectionBusy': {
        const { connection: _name, ...busy } = event.data;
        return { ...before, busy };
      }
      case 'ConnectionFree':
        return withoutBusy(before);
      case 'HostPowerAnswered':
      case 'HostPowerFailed':
        return withPower(before, event);
      case 'HostKeyPinned':
        return withHostKey(before, event.data, { fingerprint: event.data.hostKey, source: 'first-seen' });
      case 'HostKeyAccepted':
        return withHostKey(before, event.data, { fingerprint: event.data.hostKey, source: 'accepted' });
      default:
        return {
          ...before,
          stock: stockAfter(before.stock, event),
          lastNamespaces: lastNamespacesAfter(before, event),
        };
    }
  },
};

const verifiedOf = ({ offer, verifiedAt }: ConnectionDoc): ConnectionView['verified'] =>
  offer === null || verifiedAt === null
    ? null
    : {
        at: verifiedAt,
        zones: offer.zones,
        specs: offer.specs.length,
        nlb: offer.capabilities.nlb,
        simulated: offer.capabilities.simulated,
      };

const keyOf = ({ hostKeys }: ConnectionDoc, named: string | undefined, server: SshServer): KnownHostKey | null =>
  named === undefined ? (hostKeys?.[sshServerId(server)] ?? null) : { fingerprint: named, source: 'settings' };

type Inventory = Pick<ConnectionView, 'hosts' | 'jump'>;

/** The inventory with what is known of each host; empty: the provider has none. */
const inventoryViewOf = (doc: RegisteredConnectionDoc): Inventory => {
  const settings = inventoryOf(doc.registration);
  if (settings === undefined) return {};
  const { jump } = settings;
  const hosts = hostsOf(doc, settings);
  if (jump === undefined) return { hosts };
  const { address, port, user } = jump;
  const hostKey = keyOf(doc, jump.hostKey, { host: null, address: sshAddress(jump) });
  return { hosts, jump: { address, port, user, hostKey } };
};

const hostsOf = (doc: RegisteredConnectionDoc, settings: SshSettings): NonNullable<ConnectionView['hosts']> => {
  const { stock } = doc;
  // What an inspection before the last one found does not count any more.
  const inspected = doc.unusable ?? (doc.problem === '' ? doc.offer?.hosts : undefined);
  return settings.hosts.map((host) => {
    const { name, address, zone, spec } = host;
    const entry = stock[name];
    const found = inspected?.find((host) => host.name === name);
    const unverified = doc.problem === '' ? '' : `the connection cannot be used: ${doc.problem}`;
    const problem = entry?.kept ?? found?.problem ?? unverified;
    const state =
      entry === undefined ? (problem === '' ? 'free' : 'unreached') : entry.kept === null ? 'in-use' : 'kept-out';
    return {
      name,
      address,
      zone,
      spec: spec ?? ANY_HOST,
      state,
      cluster: entry?.cluster ?? '',
      machine: entry?.machine ?? '',
      lastNamespace: doc.lastNamespaces?.[name] ?? '',
      hostKey: keyOf(doc, host.hostKey, { host: name, address: sshAddress(host) }),
      problem,
      warning: problem === '' ? (found?.warning ?? '') : '',
      checks: found?.checks ?? {},
      ...(host.power === undefined
        ? {}
        : { power: { protocol: protocolOf(host.power), last: doc.powers?.[name] ?? null } }),
    };
  });
};

const sshKeyOf = ({ sshKey }: ConnectionDoc): Pick<ConnectionView, 'sshKey'> => {
  if (sshKey === undefined || sshKey.current === null) return {};
  const { current, rotation, rotated } = sshKey;
  const running = rotation && {
    status: rotation.status,
    requestedTime: rotation.requestedAt,
    replaced: rotation.replaced,
    pending: rotation.pending,
    hosts: [...rotation.hosts],
    problem: rotation.cause === null ? '' : sentenceOf(rotation.cause),
  };
  const last = rotated && {
    time: rotated.rotatedAt,
    replaced: rotated.replaced,
    leftOut: rotated.leftOut,
    hosts: [...rotated.hosts],
  };
  return { sshKey: { name: current.sshKey, publicKey: current.publicKey, rotation: running, rotated: last } };
};

/** What anybody may know who may use the connection: no address, no setting, no word of its provider. */
const publicView = (doc: RegisteredConnectionDoc): ConnectionView => {
  const { provider, region, zone, registeredAt } = doc.registration;
  return {
    name: doc.name,
    kind: 'Connection',
    provider,
    region,
    zone,
    registeredTime: registeredAt,
    verified: verifiedOf(doc),
    checkedTime: doc.checkedAt ?? null,
    problem: doc.problem === '' ? '' : 'it cannot be used now; administrators see why',
  };
};

export const connectionView = (doc: RegisteredConnectionDoc, isAdministrator: boolean): ConnectionView => {
  if (!isAdministrator) return publicView(doc);
  const { settings, hasSecret } = doc.registration;
  return {
    ...publicView(doc),
    settings,
    hasSecret,
    namespaces: [...(doc.registration.namespaces ?? [SHARED_WITH_ALL])],
    quota: doc.registration.quota ?? {},
    problem: doc.problem,
    ...inventoryViewOf(doc),
    ...sshKeyOf(doc),
  };
};

export interface SpecFilter {
  readonly cpuMin: number;
  readonly cpuMax: number;
  readonly memoryMin: number;
  readonly memoryMax: number;
}

/** CB-Ladybug writes the numbers as text. */
export const specList = (name: string, offer: ConnectionOffer, filter: SpecFilter): SpecList => ({
  kind: 'specList',
  connectionName: name,
  items: offer.specs
    .filter(({ cpuCount }) => cpuCount >= filter.cpuMin && cpuCount <= filter.cpuMax)
    .filter(({ memoryGiB }) => memoryGiB >= filter.memoryMin && memoryGiB <= filter.memoryMax)
    .map((spec) => ({
      name: spec.name,
      memory: String(spec.memoryGiB),
      cpu: { count: String(spec.cpuCount), clock: spec.cpuClockGHz === null ? '' : String(spec.cpuClockGHz) },
    })),
});
