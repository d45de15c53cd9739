import type { ConnectionOffer, ConnectionView, SpecList } from '@fairlead/contracts';
import { sentenceOf } from '@fairlead/contracts';
import type { Projection } from '@fairlead/event-sourcing';

interface Registration {
  readonly provider: string;
  readonly region: string;
  readonly zone: string;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly hasSecret: boolean;
  readonly registeredAt: string;
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
});

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
        return doc;
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

export const connectionView = (doc: RegisteredConnectionDoc): ConnectionView => {
  const { provider, region, zone, settings, hasSecret, registeredAt } = doc.registration;
  return {
    name: doc.name,
    kind: 'Connection',
    provider,
    region,
    zone,
    settings,
    hasSecret,
    registeredTime: registeredAt,
    verified: verifiedOf(doc),
    problem: doc.problem,
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
