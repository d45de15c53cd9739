import type { KubernetesVersion, NodeName, StoredEvent } from '@fairlead/contracts';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { uid } from '../nodes/nodes.fixtures.js';
import { KubeadmDryRuns } from './kubeadm.dry-run.effects.js';

const NODE = 'cp-1' as NodeName;
const MINUTE_MS = 60_000;
const BEGAN_MS = Date.parse('2026-11-28T12:00:00Z');
const REQUEST = { node: NODE, kubernetes: 'v1.35.4' as KubernetesVersion, ignoredPreflightErrors: [] };
const REFUSAL = '\t[ERROR CoreDNSUnsupportedPlugins]: unknown plugin\n';

type Said = readonly [id: string, kubeadm: string | undefined];

describe('The dry run of kubeadm before a plan', () => {
  let nowMs: number;
  let said: Said[];
  let answers: StoredEvent[];
  /** The agent's result; undefined: it does not respond. */
  let agent: { readonly phase: string; readonly status: string; readonly message: string | null };

  beforeEach(() => {
    nowMs = BEGAN_MS;
    said = [];
    answers = [];
    agent = { phase: 'kubeadm', status: 'failed', message: REFUSAL };
  });

  const run = () => {
    const handle = async (_decider: unknown, _stream: unknown, { data }: { data: { id: string; stage?: object } }) => {
      const { id, stage } = data as { id: string; stage?: { software: Record<string, string> } };
      said.push([id, stage?.software['kubeadm']]);
      const event = { type: 'NodeChangeProgressed', data: { change: id, ...agent }, meta: { time: at() } };
      if (stage !== undefined) answers.push(event as unknown as StoredEvent);
      return { kind: 'decided', state: {} };
    };
    const store = { read: async () => answers.map((event) => ({ event, hash: '' })) };
    const at = (): string => new Date(nowMs).toISOString();
    const parts = { store, handle, now: () => new Date(nowMs), lookEveryMs: 1 };
    const task = {
      namespace: 'default',
      cluster: 'demo',
      cause: { seq: 1 },
      signal: new AbortController().signal,
      data: { type: 'CheckUpgrade', uid, upgradeId: 'u-1' },
      state: { status: 'present', uid, nodes: {}, upgrade: { id: 'u-1', plan: null, operations: {} } },
    };
    return new KubeadmDryRuns(parts as never).run(task as never, REQUEST);
  };

  it("returns kubeadm's errors, and withdraws the request to the node", async () => {
    expect(await run()).toEqual({
      dryRun: {
        node: NODE,
        version: 'v1.35.4',
        refusal: { checks: ['CoreDNSUnsupportedPlugins'], words: ['CoreDNSUnsupportedPlugins: unknown plugin'] },
      },
      unread: [],
    });
    expect(said).toEqual([
      ['u-1/dry-run-1', '1.35.4'],
      ['u-1/dry-run-1', undefined],
    ]);
  });

  it('is not repeated for a declared upgrade that waits, until its result is old', async () => {
    await run();
    nowMs += 14 * MINUTE_MS;
    expect((await run()).dryRun?.refusal?.checks).toEqual(['CoreDNSUnsupportedPlugins']);
    expect(said).toHaveLength(2);
    nowMs += 2 * MINUTE_MS;
    agent = { phase: 'kubeadm', status: 'done', message: null };
    expect((await run()).dryRun).toEqual({ node: NODE, version: 'v1.35.4', refusal: null });
    expect(said.slice(2).map(([id]) => id)).toEqual(['u-1/dry-run-2', 'u-1/dry-run-2']);
  });

  it('that did not run is not treated as a success, except for agents of an earlier release', async () => {
    agent = { phase: 'stage', status: 'failed', message: 'no package list of this host has it' };
    expect(await run()).toEqual({
      dryRun: null,
      unread: [{ what: `kubeadm's dry run on ${NODE}`, rule: 'B13', message: agent.message }],
    });
    answers = [];
    agent = { phase: 'stage', status: 'done', message: null };
    expect(await run()).toEqual({ dryRun: null, unread: [] });
  });
});
