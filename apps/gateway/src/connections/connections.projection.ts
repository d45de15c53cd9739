import {
  ANY_HOST,
  sentenceOf,
  SHARED_WITH_ALL,
  SshSettings,
  type ConnectionOffer,
  type ConnectionView,
  type Quota,
  type SpecList,
  type StoredEvent,
} from '@fairlead/contracts';
import type { Projection } from '@fairlead/event-sourcing';

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
   * already, also not when a connection is registered anew.
   */
  readonly offer: ConnectionOffer | null;
  readonly verifiedAt: string | null;
  readonly problem: string;
  /** Hosts of its inventory that are not free, by name. */
  readonly stock: Readonly<Record<string, StockEntry>>;
}

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

export const connectionsProjection: Projection<ConnectionDoc> = {
  name: 'connections',
  table: 'connections',

  keys: (event) => {
    switch (event.type) {
      case 'ConnectionRegistered':
      case 'ConnectionRemoved':
        return [event.data.name];
      case 'ConnectionVerified':
      case 'ConnectionUnverified':
      case 'HostsTaken':
      case 'HostReturned':
      case 'HostWithheld':
      case 'HostReadmitted':
        return [event.data.connection];
      default:
        return [];
    }
  },

  evolve: (doc, event, key) => {
    const before = doc ?? unknown(key);
    switch (event.type) {
      case 'ConnectionRegistered': {
        const { name: _name, secretRef, ...given } = event.data;
        return {
          ...before,
          registration: { ...given, hasSecret: secretRef !== null, registeredAt: event.meta.time },
        };
      }
      case 'ConnectionRemoved':
        return { ...before, registration: null };
      case 'ConnectionVerified':
        return { ...before, offer: event.data.offer, verifiedAt: event.meta.time, problem: '' };
      case 'ConnectionUnverified':
        return { ...before, problem: sentenceOf(event.data.cause) };
      default:
        return { ...before, stock: stockAfter(before.stock, event) };
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

/** The inventory with what is known of each host; undefined: the provider has none. */
const hostsOf = ({ registration, offer, stock }: RegisteredConnectionDoc): ConnectionView['hosts'] => {
  const parsed = registration.provider === 'ssh' ? SshSettings.safeParse(registration.settings) : undefined;
  if (parsed?.success !== true) return undefined;
  return parsed.data.hosts.map(({ name, address, zone, spec }) => {
    const entry = stock[name];
    const state = entry === undefined ? 'free' : entry.kept === null ? 'in-use' : 'kept-out';
    const problem = entry?.kept ?? offer?.hosts?.find((host) => host.name === name)?.problem ?? '';
    return {
      name,
      address,
      zone,
      spec: spec ?? ANY_HOST,
      state,
      cluster: entry?.cluster ?? '',
      machine: entry?.machine ?? '',
      problem,
    };
  });
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
    problem: doc.problem === '' ? '' : 'it cannot be used now; administrators see why',
  };
};

export const connectionView = (doc: RegisteredConnectionDoc, isAdministrator: boolean): ConnectionView => {
  if (!isAdministrator) return publicView(doc);
  const { settings, hasSecret } = doc.registration;
  const hosts = hostsOf(doc);
  return {
    ...publicView(doc),
    settings,
    hasSecret,
    namespaces: [...(doc.registration.namespaces ?? [SHARED_WITH_ALL])],
    quota: doc.registration.quota ?? {},
    problem: doc.problem,
    ...(hosts === undefined ? {} : { hosts }),
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
