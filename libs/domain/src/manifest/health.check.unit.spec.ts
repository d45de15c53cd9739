import { describe, expect, it } from '@jest/globals';
import {
  Duration,
  durationMs,
  ClusterManifest,
  specOfManifest,
  completeSpec,
  healthCheckFaults,
  healthCheckOf,
  ManifestHealthCheck,
  unhealthyLimits,
} from '@fairlead/contracts';
import { changedFields } from './manifest.diff.js';
import { changeFaults, planOf } from './manifest.plan.js';
import { declared, pool } from './manifest.fixtures.js';

const check = (health: object = {}) => healthCheckOf(ManifestHealthCheck.parse(health));

describe('a duration', () => {
  it.each([
    ['90s', 90],
    ['5m', 300],
    ['1h30m', 5_400],
    ['1h0m5s', 3_605],
    ['0s', 0],
  ])('%s is %i s', (text, seconds) => expect(durationMs(Duration.parse(text))).toBe(seconds * 1_000));

  it.each(['', '5', 'm', '5 m', '-5m', '5m1h', '1.5h', '5ms', '99999999999s'])('is not "%s"', (text) =>
    expect(Duration.safeParse(text).success).toBe(false),
  );
});

describe('a health check', () => {
  it('gets every default, and a limit of 40 % unless it has a range', () => {
    expect(check()).toEqual({
      unhealthyAfter: '5m',
      startupTimeout: '30m',
      maxUnhealthy: '40%',
      remediation: 'replace',
      maxRetries: 3,
      retryPeriod: '20m',
      minHealthyPeriod: '1h',
    });
    expect(check({ unhealthyRange: '[1-2]' }).maxUnhealthy).toBeUndefined();
  });

  it.each([
    [{ maxUnhealthy: 2 }, 10, { min: 0, max: 2 }],
    [{ maxUnhealthy: 0 }, 10, { min: 0, max: 0 }],
    [{ maxUnhealthy: '40%' }, 10, { min: 0, max: 4 }],
    [{ maxUnhealthy: '40%' }, 4, { min: 0, max: 1 }],
    [{ maxUnhealthy: '40%' }, 1, { min: 0, max: 1 }],
    [{ maxUnhealthy: '0%' }, 1, { min: 0, max: 0 }],
    [{ unhealthyRange: '[3-5]' }, 10, { min: 3, max: 5 }],
  ])('%j of %i nodes allows %j', (limit, nodes, allowed) =>
    expect(unhealthyLimits(check(limit), nodes)).toEqual(allowed),
  );

  it.each([
    [{ maxUnhealthy: 1, unhealthyRange: '[1-2]' }, 'health.two-limits', 'unhealthyRange'],
    [{ unhealthyRange: '[5-3]' }, 'health.range', 'unhealthyRange'],
    [{ unhealthyRange: '[0-0]' }, 'health.range', 'unhealthyRange'],
    [{ unhealthyAfter: '0s' }, 'health.duration', 'unhealthyAfter'],
    [{ retryPeriod: '200h' }, 'health.duration', 'retryPeriod'],
    [
      { unhealthyNodeConditions: [{ type: 'Ready', status: 'Unknown', timeout: '5m' }] },
      'health.ready-condition',
      'unhealthyNodeConditions[0].type',
    ],
    [
      { unhealthyNodeConditions: [{ type: 'KernelDeadlock', status: 'True', timeout: '0s' }] },
      'health.duration',
      'unhealthyNodeConditions[0].timeout',
    ],
  ])('is refused as %j', (health, code, field) =>
    expect(healthCheckFaults(ManifestHealthCheck.parse(health), 'spec.pools[0].health')).toMatchObject([
      { code, field: `spec.pools[0].health.${field}` },
    ]),
  );

  it.each([{ maxUnhealthy: -1 }, { maxUnhealthy: '101%' }, { unhealthyRange: '3-5' }, { remediation: 'restart' }])(
    'cannot be %j',
    (health) => expect(ManifestHealthCheck.safeParse(health).success).toBe(false),
  );

  it('of a pool or the control plane is part of the spec, and a change of it needs no step', () => {
    const machines = { connection: 'lab', machineType: 'lab.medium' };
    const manifest = (health?: object) =>
      specOfManifest(
        ClusterManifest.parse({
          apiVersion: 'fairlead.dev/v1alpha1',
          kind: 'Cluster',
          metadata: { name: 'demo' },
          spec: {
            serviceType: 'single',
            firewall: { enabled: false },
            controlPlane: { replicas: 3, ...machines, ...(health === undefined ? {} : { health }) },
            pools: [{ name: 'web', replicas: 2, ...machines, ...(health === undefined ? {} : { health }) }],
          },
        }).spec,
      );
    const [before, after] = [manifest(), manifest({ maxUnhealthy: 1 })];
    const rollout = { strategy: 'RollingUpdate', maxSurge: 1, maxUnavailable: 0, canary: true } as const;
    const declaredSpec = completeSpec(declared([pool('web', 2, { rollout })]));
    expect(before).toEqual({ ...declaredSpec, firewall: { enabled: false } });
    expect(changedFields(after, manifest({ maxUnhealthy: 1 }))).toEqual([]);
    expect(changeFaults(before, after)).toEqual([]);
    expect(
      planOf(before, after, {
        members: ['a', 'b'].map((name) => ({
          ...{ name, pool: 'web', ready: true, joined: true, zone: '' },
          machine: pool('web', 1),
        })),
      }),
    ).toEqual([]);
    expect(changedFields(before, after).map(({ field }) => field)).toContain('pools[web].health.maxUnhealthy');
  });
});
