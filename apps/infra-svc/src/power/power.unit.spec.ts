import { ExternalFailure, type Fact, type NodeName } from '@fairlead/contracts';
import { specification, stored } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import { clusterSpec, LAB, requested, UID } from '../../test/fixtures.js';
import { MemoryLog } from '../../test/memory.log.js';
import { FoldCache, makeHandle } from '@fairlead/event-sourcing/jetstream';
import { connectionsReconciler } from '../connections/connections.reconciler.js';
import type { Connections, InfrastructureProvider } from '../providers/provider.ports.js';
import { hostPower } from './host.power.decider.js';
import { power, type Power } from './power.decider.js';
import { PowerEffects, PowerLog, type OfHostPower } from './power.effects.js';
import { powerReconciler } from './power.reconciler.js';

const node = 'demo-w-1-aaaaa' as NodeName;
const of = (type: string, data: object = {}): Fact => ({ type, data: { uid: UID, ...data } }) as unknown as Fact;
const created = of('VmCreated', {
  machine: { name: node, connection: LAB, providerId: 'ssh://rack-1/demo-w-1-aaaaa' },
});
const asked = of('PowerCycleRequested', { node, requestId: 'remediation-1' });
const stateAfter = (...facts: readonly Fact[]): Power =>
  facts.reduce((state, fact, at) => power.evolve(state, stored(fact, at + 1)), power.initial);
const NOW = '2026-12-01T08:00:00.000Z';
const tasks = (...facts: readonly Fact[]) =>
  powerReconciler.tasks(stateAfter(requested(clusterSpec()), ...facts), NOW).map(({ key }) => key);
const cause = { operation: 'control power', target: node, message: 'no answer' };

describe('the host of a node that does not answer', () => {
  it('is power-cycled once, until that is over or the remediation has ended', () => {
    expect(tasks(created)).toEqual([]);
    expect(tasks(created, asked)).toEqual(['CyclePower/remediation-1']);
    for (const type of ['VmPowerCycled', 'VmPowerCycleFailed', 'RemediationFailed', 'RemediationSucceeded'])
      expect(tasks(created, asked, of(type, { node, requestId: 'remediation-1', cause }))).toEqual([]);
  });

  it('is left alone once its machine is deleted, or the cluster is', () => {
    expect(tasks(created, asked, of('VmDeleted', { name: node }))).toEqual([]);
    expect(tasks(created, asked, of('ClusterDismantled'))).toEqual([]);
    expect(stateAfter(requested(clusterSpec()), created, asked, of('ClusterDeleted'))).toBe(power.initial);
  });

  it('is reported as not power-cycled after the last attempt', () => {
    const state = stateAfter(requested(clusterSpec()), created, asked);
    const [task] = powerReconciler.tasks(state, NOW);
    const failure = { cause, attempt: 3, attemptsMax: 3, nextAttemptAt: null, now: NOW };
    expect(powerReconciler.failed!(state, task!, failure)).toEqual([
      { type: 'VmPowerCycleFailed', data: { uid: UID, node, requestId: 'remediation-1', cause } },
    ]);
    expect(powerReconciler.failed!(state, task!, { ...failure, nextAttemptAt: NOW })).toEqual([]);
  });
});

describe('a request for the power of a host', () => {
  const request = { connection: LAB, host: 'rack-1' as NodeName, action: 'off' as const, request: 7 };
  const answer = { type: 'HostPowerAnswered', data: { ...request, power: 'off' } } as const satisfies Fact;

  it('is answered once, and not after a later one was', () => {
    const { given } = specification(hostPower);
    const command = { type: 'RecordHostPower', data: answer.data } as const;
    given().when(command).then(answer);
    given(answer).when(command).thenNothing();
    given({ ...answer, data: { ...answer.data, request: 9 } })
      .when(command)
      .thenNothing();
  });

  it('is void once a later one switches the same host', () => {
    const requestOf = (host: string, action: string, seq: number) => ({
      ...stored(of('HostPowerRequested', { name: 'site', host, action }), seq),
    });
    const [first] = connectionsReconciler.followUps!(null, { event: requestOf('rack-1', 'off', 7), now: NOW });
    const isPointless = (host: string, action: string) =>
      connectionsReconciler.isPointless!(first!, requestOf(host, action, 8));
    expect([isPointless('rack-1', 'on'), isPointless('rack-1', 'status'), isPointless('rack-2', 'on')]).toEqual([
      true,
      false,
      false,
    ]);
    expect(connectionsReconciler.isPointless!(first!, requestOf('rack-1', 'off', 7))).toBe(false);
  });

  const carriedOut = async (ageMs: number, act: () => Promise<'on' | 'off'>) => {
    const log = new MemoryLog();
    const provider = { power: { act } } as unknown as InfrastructureProvider;
    const connections = { openOffered: async () => ({ provider, connection: {} }) } as unknown as Connections;
    const powerLog = new PowerLog(makeHandle(log, new FoldCache(10)));
    const clock = { now: () => new Date(Date.parse(NOW) + ageMs) };
    const effects = new PowerEffects(connections, powerLog, clock);
    const data: OfHostPower = { ...request, requestedAt: NOW };
    const actor = { actor: 'user/ada', correlationId: 'c', causationId: 'c' };
    const run = () => effects.control({ data, cause: actor, signal: new AbortController().signal });
    return { run, log, powerLog, data, actor };
  };

  it('is carried out and answered with the power of the host', async () => {
    const { run, log } = await carriedOut(1_000, async () => 'off');
    await run();
    expect(log.events).toMatchObject([answer]);
  });

  it('is not carried out long after it was made: another cluster may use the host by then', async () => {
    let acted = 0;
    const { run, log, powerLog, data, actor } = await carriedOut(11 * 60_000, async () => {
      acted += 1;
      return 'off';
    });
    const failure = await run().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ExternalFailure);
    await powerLog.failed(data, (failure as ExternalFailure).toCause(), actor);
    expect([acted, log.events]).toMatchObject([
      0,
      [
        {
          type: 'HostPowerFailed',
          data: { cause: { message: 'the request was not carried out in 10 minutes, and is void' } },
        },
      ],
    ]);
  });
});
