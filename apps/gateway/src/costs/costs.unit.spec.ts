import type { ClusterUid, ConnectionName } from '@fairlead/contracts';
import type { MachineHours } from '@fairlead/domain';
import { newFolder, removeFolder } from '@fairlead/testing';
import type { GaugeRequest } from '@fairlead/service-kit';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CostMetrics } from './cost.metrics.js';
import { costOf } from './costs.view.js';
import { readPrices } from './price.list.js';

const cloud = 'cloud' as ConnectionName;
const site = 'site' as ConnectionName;
const NOW = '2026-01-01T10:00:00.000Z';
const SINCE = Date.parse('2026-01-01T06:00:00.000Z');
const kind = (connection: ConnectionName, type: string, machines: readonly string[], endedMs = 0) => ({
  [`${connection}/${type}`]: {
    connection,
    type,
    running: Object.fromEntries(machines.map((name) => [name, SINCE])),
    endedMs,
  },
});
const hours: MachineHours = {
  uid: 'u' as ClusterUid,
  kinds: {
    ...kind(cloud, 'm1.medium', ['a', 'b']),
    ...kind(site, 'ssh.any', ['c']),
    ...kind(cloud, 'm1.large', [], 2 * 3_600_000),
  },
};
const prices = { currency: 'EUR', perHour: { [cloud]: { 'm1.medium': 0.042, 'm1.large': 0.084 } } };

describe('the cost of a cluster', () => {
  it('is that of its machines in an hour, and of all that it had since its creation', () => {
    expect(costOf(hours, prices, NOW)).toMatchObject({
      currency: 'EUR',
      perHour: 0.084,
      sinceCreation: Number((2 * 4 * 0.042 + 2 * 0.084).toFixed(4)),
    });
  });

  it('names machines without a price, which are not counted as free', () => {
    expect(costOf(hours, prices, NOW).unpriced).toEqual([{ connection: 'site', machineType: 'ssh.any', machines: 1 }]);
    const odd = { ...hours, kinds: kind('constructor' as ConnectionName, 'toString', ['a']) };
    expect(costOf(odd, prices, NOW)).toMatchObject({ perHour: 0, unpriced: [{ machineType: 'toString' }] });
  });

  it('is summed up in metrics, and named only if metrics may name clusters', async () => {
    const read = async (metricsNames: boolean, list: typeof prices | null = prices) => {
      const gauges: GaugeRequest[] = [];
      const database = { query: async () => [{ key: 'default/demo', doc: hours }] };
      const metrics = { addGauge: (gauge: GaugeRequest) => void gauges.push(gauge) };
      new CostMetrics(metrics as never, database as never, { metricsNames }, list ?? undefined);
      return Promise.all(gauges.map(async ({ name, read: reading }) => [name, await reading()]));
    };
    expect(await read(false)).toEqual([
      ['fairlead_machines_cost_per_hour', [{ labels: { currency: 'EUR' }, value: 0.084 }]],
      ['fairlead_machines_without_price', [{ labels: {}, value: 1 }]],
    ]);
  });
});

describe('a price list', () => {
  let folder: string;
  const file = (text: string): string => {
    const path = join(folder, 'prices.yaml');
    writeFileSync(path, text);
    return path;
  };
  beforeEach(() => {
    folder = newFolder('prices');
  });
  afterEach(() => removeFolder(folder));

  it('is read from a file, or there is none', async () => {
    expect(await readPrices(undefined)).toBeUndefined();
    const text = 'currency: EUR\nperHour:\n  cloud: { m1.medium: 0.042, m1.large: 0.084 }\n';
    expect(await readPrices(file(text))).toEqual(prices);
  });

  it.each([
    ['currency: euro\nperHour: {}', /PRICE_LIST .*currency is not a code of three letters/],
    ['currency: EUR\nperHour: { cloud: { m1: -1 } }', /PRICE_LIST .*perHour\.cloud\.m1/],
    ['currency: EUR\nperHours: {}', /PRICE_LIST/],
    ['{', /PRICE_LIST/],
  ])('with a fault keeps the gateway from starting: %j', async (text, words) => {
    await expect(readPrices(file(text))).rejects.toThrow(words);
    await expect(readPrices(join(folder, 'none.yaml'))).rejects.toThrow(/PRICE_LIST .*ENOENT/);
  });
});
