import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { NodeList } from '@fairlead/contracts';
import { LOOPBACK } from '@fairlead/embedded';
import { eventually, newFolder, removeFolder } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { Rules, RuleTests } from '../tools/monitoring.mjs';
import { hasFamily, otherLabels, samplesOf, seriesOf, withValues, type Series } from './system/exposition.js';
import { findPrometheus, startPrometheus, type RunningPrometheus } from './system/prometheus.js';
import { clusterBody, startSystem, type System } from './system/system.js';

const TIMEOUT_MS = 240_000;
const PROMETHEUS = fileURLToPath(new URL('../deploy/prometheus', import.meta.url));
const fileOf = (name: string): string => readFileSync(`${PROMETHEUS}/${name}`, 'utf8');

/** The rules as they are, but for time: they look back five seconds and fire at once. */
const RULES = fileOf('rules.yaml')
  .replaceAll(/^ +for: .*\n/gmu, '')
  .replaceAll(/\[\d+[mh]\]/gu, '[5s]');
const ALERTS = Rules.parse(parse(RULES)).groups.flatMap(({ rules }) => rules.map(({ alert }) => alert));
const TESTS = RuleTests.parse(parse(fileOf('rules.test.yaml'))).tests;

/** A busy machine may cause them at any time. */
const OF_LOAD = ['FairleadEventLoopBusy', 'FairleadEventLoopDelayed', 'FairleadServiceBehind', 'FairleadTasksWait'];

interface Trouble {
  readonly series: Series;
  /** Of the series while its rule fires; `seconds`: since it began. */
  readonly value: (before: number, seconds: number) => number;
}

const MINUTE_S = 60;

/** What rules.test.yaml gives a series at the moment at which its rule fires. */
const troubleOf = (text: string, values: string, firesAt: number): Trouble => {
  const { metric, labels } = seriesOf(text);
  const { job: _job, instance: _instance, ...own } = labels;
  const [before = 0, at = 0] = samplesOf(values).slice(firesAt - 1, firesAt + 1);
  const isCounter = /_(total|bucket|count|sum)$/u.test(metric);
  const isTime = metric.endsWith('_timestamp_seconds');
  return {
    series: { metric, labels: own },
    value: (real, seconds) => {
      if (isCounter) return real + Math.round((at - before) * seconds);
      return isTime ? Date.now() / 1_000 + at - firesAt * MINUTE_S : at;
    },
  };
};

const TROUBLES: readonly Trouble[] = TESTS.flatMap(({ input_series: all, alert_rule_test: [, fires] }) =>
  all.map(({ series, values }) => troubleOf(series, values, Number.parseInt(fires!.eval_time, 10))),
).filter(({ series }) => series.metric !== 'up');

/** Pages of metrics of a service, with trouble while there is some. */
interface Page {
  readonly target: string;
  readonly server: Server;
}

const found = await findPrometheus();
const describeWith = 'reason' in found ? describe.skip : describe;

describeWith('the alerts of an installation, in a real Prometheus that scrapes its real services', () => {
  let system: System;
  let prometheus: RunningPrometheus;
  let troubledSinceMs: number | undefined;
  const folder = newFolder('prometheus');
  const pages: Page[] = [];

  const services = (): readonly string[] => [...system.ports.keys()].filter((name) => name !== 'lab');
  const pageOf = async (service: string): Promise<string> =>
    (await fetch(`http://${LOOPBACK}:${system.ports.get(service)}/metrics`)).text();
  const troublesOf = (service: string, page: string): readonly Trouble[] =>
    TROUBLES.filter(({ series: { metric, labels } }) =>
      labels['service'] === undefined ? hasFamily(page, metric) : labels['service'] === service,
    );

  const serve = async (service: string, failsInTrouble: boolean): Promise<Page> => {
    const server = createServer((_request, response) => {
      const answer = async (): Promise<void> => {
        const page = await pageOf(service);
        if (troubledSinceMs === undefined) return void response.end(page);
        if (failsInTrouble) return void response.writeHead(500).end();
        const seconds = (Date.now() - troubledSinceMs) / 1_000;
        const values = troublesOf(service, page).map(({ series, value }) => ({
          series,
          value: (before: number) => value(before, seconds),
        }));
        response.end(withValues(page, values));
      };
      response.setHeader('content-type', 'text/plain; version=0.0.4');
      answer().catch(() => response.writeHead(503).end());
    });
    await new Promise<void>((resolve) => server.listen(0, LOOPBACK, resolve));
    return { server, target: `${LOOPBACK}:${(server.address() as AddressInfo).port}` };
  };

  const firing = async (): Promise<readonly string[]> =>
    [
      ...new Set(
        (await prometheus.alerts()).filter(({ state }) => state === 'firing').map(({ labels }) => labels['alertname']!),
      ),
    ].toSorted();
  const firingBeyondLoad = async (): Promise<readonly string[]> =>
    (await firing()).filter((name) => !OF_LOAD.includes(name));
  const untilQuiet = (): Promise<unknown> =>
    eventually(firingBeyondLoad, (names) => names.length === 0, { withinMs: 120_000, what: 'no alert' });

  beforeAll(async () => {
    if ('reason' in found) return;
    const env = { NODE_LOST_AFTER_MS: '3000', AGENT_HEARTBEAT_INTERVAL_MS: '500', NODES_WATCH_INTERVAL_MS: '1000' };
    system = await startSystem({ light: true, publish: 'clusters.test', env });
    await system.call('POST', '/ns/default/clusters', clusterBody('demo', { controlPlanes: 1, workers: 1 }));
    await system.until('demo', ({ type }) => type === 'ClusterReady', TIMEOUT_MS);
    for (const service of services()) pages.push(await serve(service, false));
    // A second replica of the gateway, as far as Prometheus can see.
    pages.push(await serve('gateway', true));
    const targets = pages.map(({ target }) => target);
    prometheus = await startPrometheus(found, { folder, rules: RULES, targets });
    await eventually(
      () => prometheus.count('up == 1'),
      (count) => count === pages.length,
      {
        withinMs: 60_000,
        what: 'all services scraped',
      },
    );
  }, TIMEOUT_MS);

  afterAll(async () => {
    await prometheus?.stop();
    for (const { server } of pages) {
      server.closeAllConnections();
      server.close();
    }
    removeFolder(folder);
    await system?.stop();
  }, 60_000);

  it('are about series that the services expose, with the labels that they have [azimuth 34]', async () => {
    const real = new Map(await Promise.all(services().map(async (name) => [name, await pageOf(name)] as const)));
    const unknown = TROUBLES.filter(({ series }) => {
      const owners = [...real].filter(([name, page]) => troublesOf(name, page).some((one) => one.series === series));
      return owners.length === 0 || owners.some(([, page]) => !hasFamily(page, series.metric));
    });
    expect(unknown.map(({ series }) => series)).toEqual([]);
    const others = [...real].flatMap(([name, page]) =>
      troublesOf(name, page).flatMap(({ series }) =>
        otherLabels(page, series).map((label) => `${series.metric} ${label}`),
      ),
    );
    expect([...new Set(others)]).toEqual([]);
  });

  it('are silent while nothing is wrong', untilQuiet, TIMEOUT_MS);

  it(
    'fire for a worker without power, and clear when it has started again [azimuth 34]',
    async () => {
      const { body } = await system.call<NodeList>('GET', '/ns/default/clusters/demo/nodes');
      const worker = body.items.find(({ role }) => role === 'worker')!.name;
      const { items } = (await system.lab<{ items: { id: string; name: string }[] }>('GET', '/v1/machines')).body;
      const { id } = items.find(({ name }) => name === worker)!;
      const power = (action: string) => system.lab('POST', `/v1/machines/${id}/power`, { action });
      expect((await power('power-cut')).status).toBe(200);
      // The states of clusters are at most a minute old.
      await eventually(
        firing,
        (names) => ['FairleadClusterDegraded', 'FairleadNodeNotReady'].every((one) => names.includes(one)),
        {
          withinMs: 120_000,
          what: 'alerts of a node and its cluster',
        },
      );
      expect((await power('start')).status).toBe(200);
      await untilQuiet();
    },
    TIMEOUT_MS,
  );

  it(
    'fire, each once, when its metric says so, with what to do, and clear afterwards [azimuth 34]',
    async () => {
      troubledSinceMs = Date.now();
      const seen = new Set<string>();
      await eventually(
        async () => {
          for (const name of await firing()) seen.add(name);
          return ALERTS.filter((name) => !seen.has(name));
        },
        (missing) => missing.length === 0,
        { withinMs: 90_000, everyMs: 500, what: 'every alert' },
      );
      const fired = (await prometheus.alerts()).filter(({ labels }) => !OF_LOAD.includes(labels['alertname']!));
      const twice = fired.map(({ labels }) => JSON.stringify(labels)).filter((one, at, all) => all.indexOf(one) !== at);
      expect(twice).toEqual([]);
      for (const { annotations } of fired)
        expect([annotations['summary'], annotations['action']]).not.toContainEqual(
          expect.stringMatching(/\{\{|^$|no value/u),
        );
      expect(new Set(Object.values(await prometheus.rules()))).toEqual(new Set(['ok']));
      troubledSinceMs = undefined;
      await untilQuiet();
    },
    TIMEOUT_MS,
  );
});
