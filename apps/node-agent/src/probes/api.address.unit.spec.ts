import { BALANCER, keepalivedConfig } from '@fairlead/node-scripts';
import { eventually } from '@fairlead/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { node, uid } from '../agent/agent.fixtures.js';
import type { AgentFact } from '../node/agent.facts.js';
import type { Metronome } from '../time/metronome.js';
import { ApiAddressProbe, apiServersIn, sharedAddressIn } from './api.address.probe.effects.js';

const ADDRESS = '198.18.7.5';
const SELF = { name: node, address: '198.18.7.11' };
const configFor = (address: string): string =>
  keepalivedConfig({ address, routerId: 5, password: 'secret-8' }, SELF, [SELF]);

const statsWith = (status: string): string =>
  [
    '# pxname,svname,status,weight',
    ...['api,FRONTEND,OPEN,', 'api,demo-cp-1,UP,1', `api,demo-cp-2,${status},1`, 'api,BACKEND,UP,1'],
    ...['reachable,demo-cp-1,UP,1', 'reachable,demo-cp-2,DOWN,1'],
  ].join('\n');

describe("the probe of the Kubernetes API's own address", () => {
  let own: Set<string>;
  let stats: string | undefined;
  let config: string | undefined;
  let stated: AgentFact[];
  let fails: boolean;
  let probe: ApiAddressProbe;
  /** Time passes by hand: the next look begins when this is called. */
  let next: (() => void) | undefined;
  let paused: number[];

  const statedFacts = (count: number): Promise<readonly AgentFact[]> =>
    eventually(() => Promise.resolve(stated.length >= count ? stated : undefined));
  const looked = async (): Promise<void> => {
    const again = await eventually(() => Promise.resolve(next));
    next = undefined;
    again();
    await eventually(() => Promise.resolve(next));
  };

  beforeEach(() => {
    [own, stats, config, stated, fails, next, paused] = [new Set(), undefined, undefined, [], false, undefined, []];
    const metronome = {
      after: (delayMs: number, task: () => void) => {
        paused.push(delayMs);
        next = task;
        return () => undefined;
      },
    } as unknown as Metronome;
    probe = new ApiAddressProbe({
      identity: { uid, node },
      host: {
        readFile: (path) => {
          if (fails) return Promise.reject(new Error('EIO'));
          return Promise.resolve(path === BALANCER.keepalived ? config : undefined);
        },
      },
      looks: { own: () => own, stats: () => Promise.resolve(stats) },
      metronome,
      log: () => undefined,
      say: (facts) => Promise.resolve(void stated.push(...facts)),
    });
  });
  afterEach(() => probe.stop());

  it('states nothing on a host that balances no API, and looks seldom', async () => {
    probe.start();
    await looked();
    await looked();
    expect(stated).toEqual([]);
    expect(paused.every((ms) => ms === 15_000)).toBe(true);
  });

  it('states once whether the host holds the address that its keepalived shares', async () => {
    config = configFor(ADDRESS);
    own.add(ADDRESS);
    probe.start();
    await looked();
    await looked();
    expect(await statedFacts(1)).toEqual([{ type: 'ApiAddressProbed', data: { uid, node, held: true } }]);
    expect(paused.at(-1)).toBe(3_000);
  });

  it('states which API servers pass the health check of the balancer, again when that changes [ORBITER 32]', async () => {
    [config, stats] = [configFor(ADDRESS), statsWith('UP')];
    own.add(ADDRESS);
    probe.start();
    await statedFacts(1);
    probe.stop();
    const held = { uid, node, held: true };
    expect(stated).toEqual([
      { type: 'ApiAddressProbed', data: { ...held, upstreams: { 'demo-cp-1': true, 'demo-cp-2': true } } },
    ]);
  });

  it('reads which API servers are down from the statistics of haproxy, and nothing from other texts [ORBITER 32]', () => {
    expect(apiServersIn(statsWith('DOWN'))).toEqual({ 'demo-cp-1': true, 'demo-cp-2': false });
    expect(apiServersIn(statsWith('UP 1/3'))).toEqual({ 'demo-cp-1': true, 'demo-cp-2': true });
    for (const text of [undefined, '', 'no CSV', statsWith('UP').replaceAll('demo-cp', '../cp')])
      expect(apiServersIn(text)).toBeUndefined();
  });

  it('states that the address is not held as well, so that an address without a holder is known', async () => {
    config = configFor(ADDRESS);
    probe.start();
    expect(await statedFacts(1)).toEqual([{ type: 'ApiAddressProbed', data: { uid, node, held: false } }]);
  });

  it('goes on after a look that failed', async () => {
    [config, fails] = [configFor(ADDRESS), true];
    probe.start();
    await looked();
    expect(stated).toEqual([]);
    fails = false;
    await looked();
    expect(await statedFacts(1)).toHaveLength(1);
  });

  it('reads addresses of both families from what Fairlead writes', () => {
    expect(sharedAddressIn(configFor(ADDRESS))).toBe(ADDRESS);
    expect(sharedAddressIn(configFor('2001:db8::5'))).toBe('2001:db8::5');
    expect(sharedAddressIn('no configuration')).toBeUndefined();
  });
});
