import {
  type DeclaredPool,
  type DeclaredSpec,
  type Fact,
  type Hook,
  type KubernetesVersion,
  type StoredEvent,
  refuse,
} from '@fairlead/contracts';
import { removalsOf, sentenceOfEvent } from '@fairlead/domain';
import { describe, expect, it } from '@jest/globals';
import { planFor } from './manifests.decider.js';
import { uid, pool, declared, UPGRADE, Log, provisioned, typesOf } from './manifests.decider.fixtures.js';

const withVersion = (version: string, ...pools: readonly DeclaredPool[]): DeclaredSpec => ({
  ...declared(...pools),
  version: version as DeclaredSpec['version'],
});

describe('a manifest that is applied', () => {
  it('creates the cluster, with the spec in the same decision', () =>
    expect(typesOf(new Log().apply(declared(pool('web', 2))))).toEqual(['ClusterRequested', 'ClusterSpecChanged']));

  it('records nothing when it says what is declared already, whatever state the cluster is in [azimuth 35]', () => {
    const log = new Log();
    log.say(...(log.apply(declared(pool('web', 2))) as readonly Fact[]));
    expect(log.apply(declared(pool('web', 2)))).toEqual([]);
    expect(provisioned(pool('web', 2), pool('b', 1)).apply(declared(pool('b', 1), pool('web', 2)))).toEqual([]);
  });

  it('changes the number of control planes, also while they are requested', () => {
    const withControlPlanes = (replicas: number): DeclaredSpec => {
      const spec = declared(pool('web', 1));
      return { ...spec, controlPlane: { ...spec.controlPlane, replicas } };
    };
    const log = provisioned(pool('web', 1));
    expect(log.carryOut(withControlPlanes(3))).toEqual(['NodesRequested', 'ClusterSpecChanged']);
    log.say(...(log.apply(withControlPlanes(5)) as readonly Fact[]));
    const down = log.apply(withControlPlanes(1));
    expect(typesOf(down)).toEqual([
      'NodeRemovalRequested',
      'NodeRemovalRequested',
      'NodesAbandoned',
      'ClusterSpecChanged',
    ]);
    log.say(...(down as readonly Fact[]));
    expect(log.state.declared).toMatchObject({ spec: { controlPlane: { replicas: 1 } }, requests: {} });
  });

  describe('for other machines of the control plane', () => {
    const large = (more: Partial<DeclaredSpec['controlPlane']> = {}): DeclaredSpec => {
      const spec = declared(pool('web', 1));
      return { ...spec, controlPlane: { ...spec.controlPlane, machineType: 'lab.large', ...more } };
    };
    const log = (): Log => provisioned(pool('web', 1));
    const rolling = (): Log => {
      const begun = log();
      return begun.say(...(begun.apply(large()) as readonly Fact[]));
    };

    it('requests their rollout, and nothing in a dry run [Cluster API 21]', () => {
      const facts = log().apply(large());
      expect(typesOf(facts)).toEqual(['PoolRolloutRequested', 'ClusterSpecChanged']);
      expect(facts).toMatchObject([{ data: { pool: 'control-plane' } }, {}]);
      expect(log().apply(large(), { dryRun: true })).toEqual([]);
      expect(typesOf(log().apply(large({ rollout: { strategy: 'OnDelete', maxSurge: 1 } })))).toEqual([
        'ClusterSpecChanged',
      ]);
    });

    it('is refused when there is no room for another machine, or the machines cannot be replaced', () => {
      const connectionFaults = [refuse('connection.unknown', { connection: 'lab' })];
      expect(log().apply(large(), { connectionFaults })).toBe('connection.unknown');
      expect(log().apply(large({ rollout: { strategy: 'RollingUpdate', maxSurge: 0 } }))).toBe(
        'cluster.control-plane-surge',
      );
    });

    it('may change again during their rollout; their number may not', () => {
      expect(rolling().apply(large({ replicas: 3 }))).toBe('cluster.busy');
      expect(typesOf(rolling().apply(large({ machineType: 'lab.small' })))).toEqual([
        'PoolRolloutRequested',
        'ClusterSpecChanged',
      ]);
    });

    it('goes back after a failed rollout with one that has nothing left to replace', () => {
      const failed = rolling();
      const [rollout] = [...(failed.state.cluster.status === 'present' ? failed.state.cluster.additions.keys() : [])];
      const cause = { operation: 'create machines', target: 'lab', message: 'no' };
      failed.say({
        type: 'PoolRolloutFailed',
        data: { uid, requestId: rollout ?? '', pool: 'control-plane', cause },
      } as Fact);
      expect(typesOf(failed.apply(declared(pool('web', 1))))).toEqual(['PoolRolloutRequested', 'ClusterSpecChanged']);
    });
  });

  it('requests the machines that a pool lacks, by the name of the pool', () => {
    const [nodes, spec] = provisioned(pool('web', 2)).apply(declared(pool('web', 4), pool('gpu', 1))) as Fact[];
    expect(nodes).toMatchObject({
      type: 'NodesRequested',
      data: {
        workers: [
          { pool: 'web', count: 2 },
          { pool: 'gpu', count: 1 },
        ],
      },
    });
    expect(spec).toEqual({
      type: 'ClusterSpecChanged',
      data: {
        uid,
        revision: 2,
        spec: declared(pool('web', 4), pool('gpu', 1)),
        changes: expect.arrayContaining([{ field: 'pools[web].replicas', before: '2', after: '4' }]),
        changesLeftOut: expect.any(Number),
      },
    });
  });

  it('says in the history what it changed, at most five fields, with values that fit a line', () => {
    const log = provisioned(pool('web', 2));
    const said = (spec: DeclaredSpec): string => {
      const facts = log.apply(spec);
      if (typeof facts === 'string') throw new Error(facts);
      log.say(...facts);
      const changed = facts.find(({ type }) => type === 'ClusterSpecChanged');
      return sentenceOfEvent({ ...changed, meta: {} } as unknown as StoredEvent);
    };
    const hook: Hook = {
      name: 'backup',
      points: ['BeforeClusterDelete'],
      url: `https://hooks.example.com/${'x'.repeat(200)}`,
    };
    const web = declared(pool('web', 2));
    const drained = { ...web, drain: { timeout: '5m' } };
    expect(said(drained)).toBe('manifest revision 2 was applied: drain.timeout set to 5m');
    expect(said({ ...drained, drain: { timeout: '9m' } })).toBe(
      'manifest revision 3 was applied: drain.timeout 5m → 9m',
    );
    expect(said(web)).toBe('manifest revision 4 was applied: drain.timeout removed');
    const long = said({ ...declared(pool('db', 3)), hooks: [hook] });
    expect(long).toMatch(/^manifest revision 5 was applied: .*…; .*; \d+ more changes$/);
    expect(long.length).toBeLessThan(500);
  });

  it('requests the removal of nodes that a pool no longer needs: not Ready ones, then the newest, each with what differs and why it is this one [Cluster API 35]', () => {
    const log = provisioned(pool('web', 4));
    log.say({ type: 'NodeLost', data: { uid, node: 'demo-2', lastSeenAt: null, limitMs: 1 } } as unknown as Fact);
    const facts = log.apply(declared(pool('web', 2))) as Fact[];
    const removals = facts.flatMap((fact) => (fact.type === 'NodeRemovalRequested' ? [fact.data] : []));
    expect(removals.map(({ node, reason }) => [node, reason])).toEqual([
      ['demo-2', 'pool web: remove 2 machines (4 → 2); not Ready'],
      ['demo-5', 'pool web: remove 2 machines (4 → 2); the newest'],
    ]);
  });

  it('removes before it adds, as the routes for nodes allow it', () =>
    expect(typesOf(provisioned(pool('web', 2)).apply(declared(pool('web', 1), pool('gpu', 1))))).toEqual([
      'NodeRemovalRequested',
      'NodesRequested',
      'ClusterSpecChanged',
    ]));

  it('declares a pool of 0 without any machine', () =>
    expect(typesOf(provisioned(pool('web', 1)).apply(declared(pool('web', 1), pool('idle', 0))))).toEqual([
      'ClusterSpecChanged',
    ]));

  it('records nothing in a dry run, and is refused as the change would be', () => {
    const log = provisioned(pool('web', 2));
    expect(log.apply(declared(pool('web', 4)), { dryRun: true })).toEqual([]);
    const connectionFaults = [refuse('connection.unknown', { connection: 'lab' })];
    expect(log.apply(declared(pool('web', 4)), { dryRun: true, connectionFaults })).toBe('connection.unknown');
    expect(new Log().apply(declared(pool('web', 2)), { dryRun: true })).toEqual([]);
  });

  it('is carried out as it was planned, or not at all', () => {
    const log = provisioned(pool('web', 3));
    const spec = declared(pool('web', 2));
    const plan = planFor(log.state, spec);
    const seen = log.state;
    const [newest] = removalsOf(plan);
    log.say({ type: 'NodeRemovalRequested', data: { uid, node: newest } } as unknown as Fact);
    expect(log.apply(spec, { plan, seen })).toBe('conflict.concurrent');
    expect(log.apply(spec, { seen: new Log().state })).toBe('conflict.concurrent');
  });

  it('is carried out although the cluster has changed since it was planned, if the same follows', () => {
    const log = provisioned(pool('web', 3));
    const spec = declared(pool('web', 2));
    const asSeen = { plan: planFor(log.state, spec), seen: log.state };
    log.say({ type: 'NodePressureChanged', data: { uid, node: 'demo-2', conditions: [] } } as unknown as Fact);
    expect(typesOf(log.apply(spec, asSeen))).toEqual(['NodeRemovalRequested', 'ClusterSpecChanged']);
  });

  it('changes what a failure leads to before the machines have names, and asks for none again', () => {
    const log = new Log();
    log.say(...(log.apply(declared(pool('web', 2))) as readonly Fact[]));
    const cleanup: DeclaredSpec = { ...declared(pool('web', 2)), onFailure: 'cleanup' };
    expect(planFor(log.state, cleanup)).toEqual([]);
    expect(typesOf(log.apply(cleanup))).toEqual(['ClusterSpecChanged']);
  });

  it('waits for what is under way', () => {
    const building = new Log();
    building.say(...(building.apply(declared(pool('web', 2))) as readonly Fact[]));
    expect(building.apply(declared(pool('web', 3)))).toBe('cluster.not-ready');
    const leaving = provisioned(pool('web', 1)).say({ type: 'ClusterDeletionRequested', data: { uid } });
    expect(leaving.apply(declared(pool('web', 2)))).toBe('cluster.deleting');
  });

  it('takes hooks out, and changes nothing else, while the cluster is being deleted: one may hold that', () => {
    const log = provisioned(pool('web', 1));
    const hookNamed = (name: string): Hook => ({
      name,
      points: ['BeforeClusterDelete'],
      url: `https://hooks.example.com/${name}`,
    });
    const [backup, audit] = [hookNamed('backup'), hookNamed('audit')];
    const hooked = { ...declared(pool('web', 1)), hooks: [backup, audit] };
    log.say(...(log.apply(hooked) as Fact[])).say({ type: 'ClusterDeletionRequested', data: { uid } });
    expect(log.apply(hooked)).toBe('cluster.deleting');
    expect(log.apply({ ...hooked, ...declared(pool('web', 2)) })).toBe('cluster.deleting');
    for (const hooks of [[], [audit], [audit, backup]])
      expect(typesOf(log.apply({ ...declared(pool('web', 1)), hooks }))).toEqual(['ClusterSpecChanged']);
  });

  it('pauses and resumes the cluster in the decision that changes the spec, and a pause changes nothing else', () => {
    const paused = (...pools: readonly DeclaredPool[]): DeclaredSpec => ({ ...declared(...pools), paused: true });
    const log = provisioned(pool('web', 1));
    expect(log.apply(paused(pool('web', 2)))).toBe('cluster.pause-with-changes');
    const facts = log.apply(paused(pool('web', 1))) as Fact[];
    expect(typesOf(facts)).toEqual(['ClusterPaused', 'ClusterSpecChanged']);
    log.say(...facts);
    expect(log.apply(paused(pool('web', 1)))).toEqual([]);
    expect(log.apply(paused(pool('web', 2)))).toBe('cluster.paused');
    expect(typesOf(log.apply(declared(pool('web', 1))))).toEqual(['ClusterResumed', 'ClusterSpecChanged']);
    expect(typesOf(log.apply(declared(pool('web', 2))))).toEqual([
      'ClusterResumed',
      'NodesRequested',
      'ClusterSpecChanged',
    ]);
    expect(typesOf(new Log().apply(paused(pool('web', 1))))).toEqual([
      'ClusterRequested',
      'ClusterPaused',
      'ClusterSpecChanged',
    ]);
  });

  it('declares a pause that was requested by the route', () => {
    const log = provisioned(pool('web', 1)).say({ type: 'ClusterPaused', data: { uid, reason: '' } });
    expect(log.state.declared?.spec.paused).toBe(true);
    log.say({ type: 'ClusterResumed', data: { uid, reason: '' } });
    expect(log.apply(declared(pool('web', 1)))).toEqual([]);
  });

  it('changes direction in the middle of a growth [Cluster API 15]', () => {
    const growing = provisioned(pool('web', 1));
    growing.say(...(growing.apply(declared(pool('web', 4))) as readonly Fact[]));
    expect(typesOf(growing.apply(declared(pool('web', 5))))).toEqual(['NodesRequested', 'ClusterSpecChanged']);
    expect(typesOf(growing.apply(declared(pool('web', 4), pool('idle', 0))))).toEqual(['ClusterSpecChanged']);
    const [abandoned, rest] = growing.apply(declared(pool('web', 2))) as readonly Fact[];
    expect([abandoned?.type, rest]).toMatchObject(['NodesAbandoned', { data: { workers: [{ count: 1 }] } }]);
    expect(typesOf(growing.apply(declared()))).toEqual([
      'NodeRemovalRequested',
      'NodesAbandoned',
      'ClusterSpecChanged',
    ]);
  });

  it('holds a pool out of upgrades in the same decision, and releases it with its end [ORBITER 16]', () => {
    const held = (disabled: boolean) => declared({ ...pool('web', 1), updatesDisabled: disabled });
    const log = provisioned(pool('web', 1));
    const [hold] = log.apply(held(true)) as readonly Fact[];
    expect(hold).toMatchObject({ type: 'UpdatesDisabledSet', data: { scope: { pool: 'web' }, disabled: true } });
    log.carryOut(held(true));
    expect(log.apply(held(true))).toEqual([]);
    expect(typesOf(log.apply(held(false)))).toEqual(['UpdatesDisabledSet', 'ClusterSpecChanged']);
    expect(typesOf(log.apply(declared()))).toEqual([
      'NodeRemovalRequested',
      'UpdatesDisabledSet',
      'ClusterSpecChanged',
    ]);
  });

  it('changes how nodes are emptied at any time, also while an upgrade is open [Cluster API 27]', () => {
    const log = provisioned(pool('web', 1));
    const later = withVersion('v1.35.4', pool('web', 1));
    log.say(...(log.apply(later) as readonly Fact[]));
    const change = { upgrade: { ...UPGRADE, upgradeId: 'u-000002' as never } };
    expect(typesOf(log.apply({ ...later, drain: { timeout: '5m' } }, change))).toEqual(['ClusterSpecChanged']);
    expect(log.apply({ ...later, drain: { timeout: '5m' }, pools: [] }, change)).toBe('upgrade.open');
  });

  it('removes the nodes that were named, and none besides [Cluster API 25]', () => {
    const log = provisioned(pool('web', 3));
    const named = [Object.keys(log.state.declared!.nodes).find((name) => log.state.declared!.nodes[name] === 'web')!];
    const smaller = declared(pool('web', 2));
    const [removal] = log.apply(smaller, { named, plan: planFor(log.state, smaller, named) }) as readonly Fact[];
    expect(removal).toMatchObject({ type: 'NodeRemovalRequested', data: { node: named[0] } });
    const both = [...named, 'demo-3'];
    expect(log.apply(smaller, { named: both, plan: planFor(log.state, smaller, both) })).toBe('pool.removals-exceed');
    const stranger = ['demo-99'];
    expect(log.apply(smaller, { named: stranger, plan: planFor(log.state, smaller, stranger) })).toBe('node.unknown');
  });

  it('gives the cluster labels', () => {
    const log = provisioned(pool('web', 1));
    const spec = declared(pool('web', 1));
    expect(log.apply(spec, { labels: { team: 'a' } })).toMatchObject([{ data: { labels: { team: 'a' } } }]);
    expect(log.apply(spec, { labels: {} })).toEqual([]);
  });

  describe('with another version', () => {
    const later = withVersion('v1.35.4', pool('web', 1));

    it('requests its upgrade, approved, in the same decision [ORBITER 14, Cluster API 24]', () => {
      const log = provisioned(pool('web', 1));
      const facts = log.apply(later) as readonly Fact[];
      expect(typesOf(facts)).toEqual(['UpgradeRequested', 'ClusterSpecChanged']);
      expect(facts[0]?.data).toEqual({ uid, ...UPGRADE, mode: 'go', declared: true });
      log.say(...facts);
      expect(log.apply(later)).toEqual([]);
      const another = { upgrade: { ...UPGRADE, upgradeId: 'u-000002' as never } };
      expect(log.apply(declared(pool('web', 1)), another)).toBe('upgrade.open');
      log.say({ type: 'UpgradeRejected', data: { uid, upgradeId: UPGRADE.upgradeId, findings: [] } });
      expect(log.state.declared?.spec.version).toBe('v1.34.4');
      expect(typesOf(log.apply(later, another))).toEqual(['UpgradeRequested', 'ClusterSpecChanged']);
    });

    describe('while its upgrade waits', () => {
      const UPGRADE_2 = {
        upgrade: {
          ...UPGRADE,
          upgradeId: 'u-000002' as never,
          requestHash: 'other',
          target: { ...UPGRADE.target, kubernetes: 'v1.35.5' as KubernetesVersion },
        },
      };
      const about = { uid, upgradeId: UPGRADE.upgradeId };
      const waiting = () => {
        const log = provisioned(pool('web', 1));
        log.say(...(log.apply(later) as readonly Fact[]));
        log.say({ type: 'UpgradeWaiting', data: { ...about, findings: [] } });
        return log;
      };

      it('stays declared, is not requested again, and keeps no nodes from coming or being replaced', () => {
        const log = waiting();
        expect(log.state.declared?.spec.version).toBe('v1.35.4');
        expect(log.apply(later)).toEqual([]);
        expect(typesOf(log.apply(withVersion('v1.35.4', pool('web', 2))))).toEqual([
          'NodesRequested',
          'ClusterSpecChanged',
        ]);
      });

      it('gives way to another version, whose upgrade leads away from the same one', () => {
        const log = waiting();
        const next = withVersion('v1.35.5', pool('web', 1));
        const facts = log.apply(next, UPGRADE_2) as readonly Fact[];
        expect(typesOf(facts)).toEqual(['UpgradeRequested', 'ClusterSpecChanged']);
        log.say(...facts);
        log.say({ type: 'RolloutAborted', data: { ...about, leftFailed: [], supersededBy: 'u-000002' as never } });
        expect(log.state.declared).toMatchObject({
          spec: { version: 'v1.35.5' },
          upgrading: { upgradeId: 'u-000002', from: 'v1.34.4' },
        });
      });

      it('is ended by the version before, declared again', () => {
        const log = waiting();
        const facts = log.apply(declared(pool('web', 1)), UPGRADE_2) as readonly Fact[];
        expect(typesOf(facts)).toEqual(['UpgradeAbortRequested', 'ClusterSpecChanged']);
        log.say(...facts);
        log.say({ type: 'RolloutAborted', data: { ...about, leftFailed: [] } });
        expect(log.state.declared?.spec.version).toBe('v1.34.4');
        expect(log.state.declared?.upgrading).toBeUndefined();
      });
    });

    it('records nothing for a command that was carried out before, when its upgrade is over', () => {
      const log = provisioned(pool('web', 1));
      log.say(...(log.apply(later) as readonly Fact[]));
      log.say({ type: 'UpgradeRejected', data: { uid, upgradeId: UPGRADE.upgradeId, findings: [] } });
      expect(log.apply(later)).toEqual([]);
    });

    it('may change what needs no node, also holds, and nothing else', () => {
      const log = provisioned(pool('web', 1));
      const held = withVersion('v1.35.4', { ...pool('web', 1), updatesDisabled: true, deletePolicy: 'Oldest' });
      expect(typesOf(log.apply(held))).toEqual(['UpdatesDisabledSet', 'UpgradeRequested', 'ClusterSpecChanged']);
      for (const other of [pool('web', 2), { ...pool('web', 1), labels: { tier: 'front' } }])
        expect(log.apply(withVersion('v1.35.4', other))).toBe('cluster.version-with-changes');
      expect(log.apply(withVersion('v1.35.4'))).toBe('cluster.version-with-changes');
    });

    it('waits for nodes that come, and resumes a cluster that is paused', () => {
      const growing = provisioned(pool('web', 1));
      growing.say(...(growing.apply(declared(pool('web', 2))) as readonly Fact[]));
      expect(growing.apply(withVersion('v1.35.4', pool('web', 2)))).toBe('cluster.busy');
      const paused = provisioned(pool('web', 1));
      paused.carryOut({ ...declared(pool('web', 1)), paused: true });
      expect(typesOf(paused.apply(later))).toEqual(['ClusterResumed', 'UpgradeRequested', 'ClusterSpecChanged']);
    });
  });

  it('refuses what a cluster keeps, with what to do instead', () => {
    const log = provisioned(pool('web', 1));
    expect(log.apply(withVersion('v1.33.13', pool('web', 1)))).toBe('cluster.version-lower');
    expect(log.apply({ ...declared(pool('web', 1)), serviceType: 'multi' })).toBe('cluster.field-immutable');
  });
});
