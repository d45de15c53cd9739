import type { Reading } from '@fairlead/service-kit';
import {
  isAddressUp,
  isApiAddressUp,
  type AddressStatus,
  type ApiAddressStatus,
} from '../clusters/virtual-addresses.js';

export interface ClusterAddresses {
  readonly namespace: string;
  readonly cluster: string;
  readonly statuses: readonly AddressStatus[];
}

export interface ClusterApiAddress {
  readonly namespace: string;
  readonly cluster: string;
  readonly status: ApiAddressStatus;
}

/** Series of one gauge at most: what nodes report must not fill the memory of whoever scrapes. */
const SERIES_MAX = 10_000;

const bit = (isTrue: boolean): number => (isTrue ? 1 : 0);

const bounded = (readings: readonly Reading[]): readonly Reading[] => readings.slice(0, SERIES_MAX);

/** 1: a node holds the address, and some node answers behind each of its ports. */
export const addressReadings = (clusters: readonly ClusterAddresses[]): readonly Reading[] =>
  bounded(
    clusters.flatMap(({ namespace, cluster, statuses }) =>
      statuses.map((status) => ({
        labels: { namespace, cluster, address: status.name },
        value: bit(isAddressUp(status)),
      })),
    ),
  );

/** 1: the port of the address accepts connections, and some node answers behind it. */
export const transportReadings = (clusters: readonly ClusterAddresses[]): readonly Reading[] =>
  bounded(
    clusters.flatMap(({ namespace, cluster, statuses }) =>
      statuses.flatMap(({ name: address, transports }) =>
        transports.map(({ name: transport, reached, up }) => ({
          labels: { namespace, cluster, address, transport },
          value: bit(reached && up > 0),
        })),
      ),
    ),
  );

/** 1: the node behind the address answers its health check. */
export const upstreamReadings = (clusters: readonly ClusterAddresses[]): readonly Reading[] =>
  bounded(
    clusters.flatMap(({ namespace, cluster, statuses }) =>
      statuses.flatMap(({ name: address, transports }) =>
        transports.flatMap(({ name: transport, upstreams }) =>
          [...upstreams].map(([upstream, isUp]) => ({
            labels: { namespace, cluster, address, transport, upstream },
            value: bit(isUp),
          })),
        ),
      ),
    ),
  );

const counted = (values: readonly boolean[]): readonly Reading[] =>
  [true, false].map((isUp) => ({
    labels: { state: isUp ? 'up' : 'down' },
    value: values.filter((value) => value === isUp).length,
  }));

const HOLDERS = {
  none: (count: number): boolean => count === 0,
  one: (count: number): boolean => count === 1,
  several: (count: number): boolean => count > 1,
} as const;

/** `none` and `several` are faults. */
export const apiAddressCounts = (clusters: readonly ClusterApiAddress[]): readonly Reading[] =>
  Object.entries(HOLDERS).map(([name, isSo]) => ({
    labels: { holders: name },
    value: clusters.filter(({ status }) => isSo(status.holders)).length,
  }));

/** 1: one control plane holds the address of the API, and some API server answers behind it. */
export const apiAddressReadings = (clusters: readonly ClusterApiAddress[]): readonly Reading[] =>
  bounded(
    clusters.map(({ namespace, cluster, status }) => ({
      labels: { namespace, cluster },
      value: bit(isApiAddressUp(status)),
    })),
  );

/** 1: the API server of the control plane passes the health check of the balancer. */
export const apiUpstreamReadings = (clusters: readonly ClusterApiAddress[]): readonly Reading[] =>
  bounded(
    clusters.flatMap(({ namespace, cluster, status: { upstreams } }) =>
      [...upstreams].map(([upstream, isUp]) => ({ labels: { namespace, cluster, upstream }, value: bit(isUp) })),
    ),
  );

/** Without a name of anything. */
export const apiUpstreamCounts = (clusters: readonly ClusterApiAddress[]): readonly Reading[] =>
  counted(clusters.flatMap(({ status: { upstreams } }) => [...upstreams.values()]));

/** Without a name of anything. */
export const addressCounts = (clusters: readonly ClusterAddresses[]): readonly Reading[] =>
  counted(clusters.flatMap(({ statuses }) => statuses.map(isAddressUp)));

export const upstreamCounts = (clusters: readonly ClusterAddresses[]): readonly Reading[] => {
  const transports = clusters.flatMap(({ statuses }) => statuses.flatMap((status) => status.transports));
  const [up, of] = [transports.reduce((sum, one) => sum + one.up, 0), transports.reduce((sum, one) => sum + one.of, 0)];
  return [
    { labels: { state: 'up' }, value: up },
    { labels: { state: 'down' }, value: of - up },
  ];
};
