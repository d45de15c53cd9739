import { ExternalFailure, type NodeName } from '@fairlead/contracts';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { uid } from '../nodes/nodes.fixtures.js';
import { OfflineRenewal } from './offline.renewal.effects.js';

const NOW_MS = Date.parse('2026-11-28T12:00:00Z');
const MINUTE_MS = 60_000;
const at = (ms: number): string => new Date(ms).toISOString();

describe('The renewal of expired certificates', () => {
  let nowMs: number;
  let ends: Record<string, string>;
  let apiAnswers: boolean;
  let forgotten: number;
  const commands: { readonly type: string; readonly node: string; readonly renews: boolean | undefined }[] = [];
  let renewal: OfflineRenewal;

  const members = Object.fromEntries(
    (['cp-1', 'cp-2', 'w-1'] as const).map((name) => [
      name,
      { name: name as NodeName, role: name === 'w-1' ? 'worker' : 'control-plane' },
    ]),
  );
  const task = (mode: string, renewCertificates = true) =>
    ({
      namespace: 'default',
      cluster: 'demo',
      cause: { seq: 1 },
      data: { type: 'CheckUpgrade', uid, upgradeId: 'u-1' },
      state: {
        status: 'present',
        uid,
        nodes: members,
        upgrade: {
          id: 'u-1',
          request: { mode, target: { renewCertificates }, strategy: { excusedNodes: [] } },
          plan: null,
          operations: {},
        },
      },
    }) as never;

  beforeEach(() => {
    nowMs = NOW_MS;
    ends = { 'cp-1': at(NOW_MS - MINUTE_MS), 'cp-2': at(NOW_MS + 1_000 * MINUTE_MS), 'w-1': at(NOW_MS - MINUTE_MS) };
    apiAnswers = false;
    forgotten = 0;
    commands.length = 0;
    renewal = new OfflineRenewal({
      store: {
        read: async () =>
          Object.entries(ends).map(([name, expiresAt]) => ({
            event: {
              type: 'CertificatesReported',
              data: { uid, node: name as NodeName, certificates: [{ name: 'admin.conf', expiresAt }] },
            },
          })),
      } as never,
      handle: (async (_decider: unknown, _stream: unknown, command: { type: string; data: Record<string, never> }) => {
        const { node: name, change } = command.data as { node?: string; change?: { renewCertificates?: boolean } };
        commands.push({ type: command.type, node: name ?? '', renews: change?.renewCertificates });
        return { state: {} };
      }) as never,
      clusters: {
        forget: () => (forgotten += 1),
        of: async () => {
          if (!apiAnswers) throw new ExternalFailure({ operation: 'list nodes', target: 'demo', message: 'HTTP 401' });
          return {};
        },
      } as never,
      survey: {
        health: async () => ({
          system: [],
          nodes: Object.values(members).map((one) => ({ ...one, ready: true, staticPods: [], unschedulable: false })),
        }),
      } as never,
    });
  });

  it('requests it from the agents of the control planes that have an expired one, before a plan is made', async () => {
    expect(await renewal.renewEnded(task('ask'), new Date(nowMs))).toBe(
      'certificates of cp-1 have ended and are renewed by the agents of these nodes',
    );
    expect(commands).toEqual([{ type: 'AskForChange', node: 'cp-1', renews: true }]);
  });

  it("waits until the API accepts Fairlead's new certificate, reads it each time, and withdraws the permission", async () => {
    await renewal.renewEnded(task('go'), new Date(nowMs));
    ends = { ...ends, 'cp-1': at(NOW_MS + 1_000 * MINUTE_MS) };
    expect(await renewal.renewEnded(task('go'), new Date(nowMs))).toBe('HTTP 401');
    expect(forgotten).toBe(1);
    apiAnswers = true;
    expect(await renewal.renewEnded(task('go'), new Date(nowMs))).toBeUndefined();
    expect(forgotten).toBe(2);
    expect(commands.slice(1).map(({ type, node: name }) => `${type} ${name}`)).toEqual([
      'WithdrawPermission cp-1',
      'WithdrawPermission cp-2',
    ]);
  });

  it('leaves the remaining problems to the survey after five minutes, and withdraws every permission', async () => {
    await renewal.renewEnded(task('go'), new Date(nowMs));
    nowMs += 5 * MINUTE_MS;
    expect(await renewal.renewEnded(task('go'), new Date(nowMs))).toBeUndefined();
    expect(commands.slice(1)).toEqual([
      { type: 'WithdrawPermission', node: 'cp-1', renews: undefined },
      { type: 'WithdrawPermission', node: 'cp-2', renews: undefined },
    ]);
  });

  it('does nothing for a dry run, for a request that renews nothing, and while none has expired', async () => {
    expect(await renewal.renewEnded(task('dry-run'), new Date(nowMs))).toBeUndefined();
    expect(await renewal.renewEnded(task('go', false), new Date(nowMs))).toBeUndefined();
    ends = { 'cp-1': at(NOW_MS + 1_000), 'w-1': at(NOW_MS - MINUTE_MS) };
    expect(await renewal.renewEnded(task('go'), new Date(nowMs))).toBeUndefined();
    expect(commands).toEqual([]);
  });
});
