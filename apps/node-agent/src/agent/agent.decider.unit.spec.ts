import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { type Difference } from '../node/difference.js';
import { decide, isAgentReady, type Observation } from './agent.decider.js';
import {
  at,
  difference,
  KUBERNETES_NOT_READY,
  KUBERNETES_READY,
  reportedAfter,
  sayAll,
  seen,
} from './agent.fixtures.js';
import { plan } from './agent.planner.js';

const FRESH: readonly Observation[] = [];
const INITIALIZED = [seen()];
const READY = [seen({ kubernetes: KUBERNETES_READY })];
const WANTS_35 = { revision: 2, software: at('1.34.5'), changesAllowed: true };
const CHANGING = [...READY, seen({ desired: WANTS_35, differences: [difference], kubernetes: KUBERNETES_READY })];
const DONE_35 = { desired: WANTS_35, software: at('1.34.5') };

const said = (before: readonly Observation[], now: Observation): string[] =>
  sayAll(reportedAfter(...before), now).facts.map(({ type }) => type);

describe('an agent states', () => {
  it.each<[string, readonly Observation[], Observation, string[]]>([
    ['nothing while a fresh host is not as desired', FRESH, seen({ differences: [difference] }), []],
    ['NodeInitialized when a fresh host is as desired', FRESH, seen(), ['NodeInitialized']],
    [
      'both at once when the host is a Ready node already',
      FRESH,
      seen({ kubernetes: KUBERNETES_READY }),
      ['NodeInitialized', 'NodeReady'],
    ],
    ['nothing twice', INITIALIZED, seen(), []],
    [
      'nothing about a node that Kubernetes does not call Ready yet',
      INITIALIZED,
      seen({ kubernetes: KUBERNETES_NOT_READY }),
      [],
    ],
    ['NodeReady when Kubernetes does', INITIALIZED, seen({ kubernetes: KUBERNETES_READY }), ['NodeReady']],
    ['nothing while the API is away', READY, seen({ kubernetes: undefined }), []],
    ['NodeNotReady when Kubernetes does', READY, seen({ kubernetes: KUBERNETES_NOT_READY }), ['NodeNotReady']],
    [
      'NodeReady again when Kubernetes does',
      [...READY, seen({ kubernetes: KUBERNETES_NOT_READY })],
      seen({ kubernetes: KUBERNETES_READY }),
      ['NodeReady'],
    ],
    [
      'NodeNotReady before it changes a node that was ready',
      READY,
      seen({ desired: WANTS_35, differences: [difference], kubernetes: KUBERNETES_READY }),
      ['NodeNotReady'],
    ],
    [
      'nothing yet about a difference that may pass: a service that restarts, a host that boots',
      READY,
      seen({ differences: [difference], confirmed: false, kubernetes: KUBERNETES_READY }),
      [],
    ],
    ['nothing more while it changes', CHANGING, seen({ desired: WANTS_35, differences: [difference] }), []],
    [
      'the versions when they are reached, and NodeReady only at the new kubelet',
      CHANGING,
      seen({ ...DONE_35, kubernetes: KUBERNETES_READY }),
      ['VersionChanged', 'NodeInitialized'],
    ],
    [
      'NodeReady when Kubernetes shows the new kubelet',
      [...CHANGING, seen(DONE_35)],
      seen({ ...DONE_35, kubernetes: { ...KUBERNETES_READY, kubeletVersion: 'v1.34.5' } }),
      ['NodeReady'],
    ],
    [
      'NodeReady for a revision that asks for nothing new',
      READY,
      seen({ desired: { ...seen().desired, revision: 2 }, kubernetes: KUBERNETES_READY }),
      ['NodeReady'],
    ],
    [
      'NodeInitialized for such a revision before the node has joined',
      INITIALIZED,
      seen({ desired: { ...seen().desired, revision: 2 } }),
      ['NodeInitialized'],
    ],
    [
      'NodeRebooted when the boot is another one',
      READY,
      seen({ bootId: 'boot-2', kubernetes: KUBERNETES_READY }),
      ['NodeRebooted'],
    ],
    [
      'VersionChanged when someone else changed a version that no one asked for',
      READY,
      seen({ software: at('1.34.9'), kubernetes: KUBERNETES_READY }),
      ['VersionChanged'],
    ],
  ])('%s', (_title, before, now, expected) => expect(said(before, now)).toEqual(expected));
});

describe('an agent without permission', () => {
  const forbidden = seen({ desired: { ...WANTS_35, changesAllowed: false }, differences: [difference] });
  it('states the differences once', () => {
    expect(said(READY, forbidden)).toEqual(['NodeDiverged']);
    expect(said([...READY, forbidden], forbidden)).toEqual([]);
  });
  it('states them again if they change, or for another revision', () => {
    expect(
      said([...READY, forbidden], { ...forbidden, differences: [difference, { ...difference, what: 'kubectl' }] }),
    ).toEqual(['NodeDiverged']);
    expect(said([...READY, forbidden], { ...forbidden, desired: { ...forbidden.desired, revision: 3 } })).toEqual([
      'NodeDiverged',
    ]);
  });
  it('that ended with NodeReady states the differences, also while the node is not Ready', () => {
    const ended = { ...forbidden, desired: { ...WANTS_35, revision: 1, changesAllowedUntil: 'NodeReady' as const } };
    expect(said(READY, ended)).toEqual(['NodeDiverged']);
    expect(said([...READY, seen({ kubernetes: KUBERNETES_NOT_READY })], ended)).toEqual(['NodeDiverged']);
  });
  it('stays ready', () => expect(isAgentReady(reportedAfter(...READY, forbidden))).toBe(true));
  it('announces the change once it is permitted', () =>
    expect(said([...READY, forbidden], { ...forbidden, desired: { ...WANTS_35, revision: 3 } })).toEqual([
      'NodeNotReady',
    ]));
});

describe('an agent with permission to repair without a drain', () => {
  const sysctl = { item: 'sysctl', what: 'net.ipv4.ip_forward', observed: '0', desired: '1' };
  const before = reportedAfter(seen({ kubernetes: KUBERNETES_READY }));
  const desired = { revision: 2, software: at('1.34.4'), changesAllowed: false, repair: 'drift-1' };
  const drifted = seen({ kubernetes: KUBERNETES_READY, differences: [sysctl], desired });
  const step = (reported = before, observation = drifted) =>
    plan(reported, observation, { announced: true, retryDue: true }).do;

  it('repairs at once and stays Ready, states the desired state, and has no permission afterwards [ORBITER 10]', () => {
    expect([decide(before, drifted), step()]).toEqual([[], 'ensure']);
    const { reported, facts } = sayAll(before, seen({ kubernetes: KUBERNETES_READY, desired }));
    expect(facts).toMatchObject([{ type: 'NodeReady', data: { revision: 2 } }]);
    expect(decide(reported, drifted)).toMatchObject([{ type: 'NodeDiverged' }]);
    expect(step(reported)).toBe('wait');
  });

  it('changes nothing whose repair needs a drain', () => {
    const other = { ...drifted, differences: [sysctl, { ...difference, needsDrain: true as const }] };
    expect([decide(before, other), step(before, other)]).toMatchObject([[{ type: 'NodeDiverged' }], 'wait']);
  });

  it('states the end of a difference even if someone else resolved it', () => {
    const forbidden = { ...seen().desired, changesAllowed: false };
    const { reported } = sayAll(before, seen({ ...drifted, desired: forbidden }));
    const { facts } = sayAll(reported, seen({ kubernetes: KUBERNETES_READY, desired: forbidden }));
    expect(facts).toMatchObject([{ type: 'NodeReady', data: { revision: 1 } }]);
  });
});

describe('the readiness that Kubernetes reports for a node counts', () => {
  const stopped: Difference = { item: 'kubelet', what: 'service', observed: 'inactive', desired: 'active' };
  const hold: Difference = { item: 'packages', what: 'hold of kubelet', observed: 'none', desired: 'held' };
  const kept = { ...seen().desired, changesAllowed: false };
  const failure = { item: 'packages', command: 'apt-get update', message: 'no route to host', attempt: 1 };

  it('even if its kubelet does not run, which is also a difference', () => {
    const down = seen({ desired: kept, differences: [stopped], kubernetes: KUBERNETES_NOT_READY });
    expect(said(READY, down)).toEqual(['NodeNotReady', 'NodeDiverged']);
  });

  it('even if something else has differed for long', () => {
    const differs = seen({ desired: kept, differences: [hold], kubernetes: KUBERNETES_READY });
    expect(said(READY, differs)).toEqual(['NodeDiverged']);
    expect(said([...READY, differs], { ...differs, kubernetes: KUBERNETES_NOT_READY })).toEqual(['NodeNotReady']);
  });

  it('even if a difference is not confirmed, or the host cannot be inspected', () => {
    const down = { desired: kept, kubernetes: KUBERNETES_NOT_READY };
    expect(said(READY, seen({ ...down, differences: [hold], confirmed: false }))).toEqual(['NodeNotReady']);
    expect(said(READY, seen({ ...down, failure }))).toEqual(['NodeNotReady', 'NodeInitializationFailed']);
  });

  it('even if something differs or fails when it is Ready again: at the revision that it had reached', () => {
    const desired = { ...kept, revision: 2 };
    const down = seen({ desired, differences: [hold], kubernetes: KUBERNETES_NOT_READY });
    const back = sayAll(reportedAfter(...READY, down), { ...down, kubernetes: KUBERNETES_READY }).facts;
    expect(back.map(({ type }) => type)).toEqual(['NodeReady', 'NodeDiverged']);
    expect(back[0]?.data).toMatchObject({ revision: 1 });
    const failed = seen({ desired, failure, kubernetes: KUBERNETES_READY });
    expect(said([...READY, down], failed)).toEqual(['NodeReady', 'NodeInitializationFailed']);
  });

  it('together with versions that were changed in the meantime', () => {
    const down = seen({ desired: kept, kubernetes: KUBERNETES_NOT_READY });
    const now = seen({ desired: kept, kubernetes: KUBERNETES_READY, software: at('1.34.9') });
    expect(said([...READY, down], now)).toEqual(['VersionChanged', 'NodeReady']);
  });

  it('except that a node that is about to be changed does not become Ready briefly before', () => {
    const down = seen({ kubernetes: KUBERNETES_NOT_READY });
    const change = seen({ desired: WANTS_35, differences: [difference], kubernetes: KUBERNETES_READY });
    expect(said([...READY, down], change)).toEqual(['NodeNotReady']);
    expect(reportedAfter(...READY, down, change).standing.status).toBe('changing');
  });

  it('except during a restart of its kubelet by the agent, which was announced as a change', () => {
    const restarting = seen({ desired: WANTS_35, differences: [difference], kubernetes: KUBERNETES_NOT_READY });
    expect(said(CHANGING, restarting)).toEqual([]);
  });

  it('only once it is steady, if the kubelet was down before', () => {
    const down = seen({ kubernetes: KUBERNETES_NOT_READY });
    expect(said([...READY, down], seen({ kubernetes: KUBERNETES_READY, steady: false }))).toEqual([]);
    expect(said([...READY, down], seen({ kubernetes: KUBERNETES_READY }))).toEqual(['NodeReady']);
  });

  const versions = fc.constantFrom('1.34.3', '1.34.4', '1.34.5');
  const differences = fc.subarray([difference, stopped, hold]);
  const words = fc.option(
    fc.record({ ready: fc.boolean(), message: fc.constantFrom('m', ''), kubeletVersion: versions.map((v) => `v${v}`) }),
    { nil: undefined },
  );
  const observations = fc
    .record({
      differences,
      confirmed: fc.boolean(),
      software: versions.map(at),
      bootId: fc.constantFrom('boot-1', 'boot-2'),
      failure: fc.option(fc.constantFrom(failure, { ...failure, attempt: 3 }), { nil: undefined }),
      kubernetes: words,
      steady: fc.boolean(),
      desired: fc.record({
        revision: fc.integer({ min: 1, max: 4 }),
        software: versions.map(at),
        changesAllowed: fc.boolean(),
        changesAllowedUntil: fc.constantFrom('NodeReady' as const, undefined),
      }),
    })
    .map((over) => seen(over));

  it('in every combination of differences, failures, permissions and readiness: the agent never states Ready otherwise', () => {
    fc.assert(
      fc.property(fc.array(observations, { maxLength: 12 }), observations, (before, now) => {
        const { reported, facts } = sayAll(reportedAfter(...before), now);
        if (now.kubernetes?.ready === false) expect(reported.standing.status).not.toBe('ready');
        if (facts.some(({ type }) => type === 'NodeReady')) expect(now.kubernetes?.ready).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  it('in every combination: a node that only Kubernetes reported down is Ready again as soon as Kubernetes reports it', () => {
    fc.assert(
      fc.property(observations, observations, (down, up) => {
        const desired = { ...up.desired, changesAllowed: false };
        const wasDown = { ...down, desired, kubernetes: KUBERNETES_NOT_READY };
        const isBack = { ...up, desired, kubernetes: KUBERNETES_READY, steady: true };
        expect(reportedAfter(...READY, wasDown).standing.status).toBe('not-ready');
        expect(reportedAfter(...READY, wasDown, isBack).standing.status).toBe('ready');
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('a failure', () => {
  const failing = (attempt: number, message = 'no space left') =>
    seen({ differences: [difference], failure: { item: 'packages', command: 'apt-get install', message, attempt } });

  it('is reported at attempts 1, 2, 4 and 8, not at each', () => {
    const reported = [1, 2, 3, 4, 5, 6, 7, 8].filter(
      (attempt) =>
        said(
          Array.from({ length: attempt - 1 }, (_, n) => failing(n + 1)),
          failing(attempt),
        ).length > 0,
    );
    expect(reported).toEqual([1, 2, 4, 8]);
  });
  it('is reported at once if it is a different one', () =>
    expect(said([failing(1), failing(2)], failing(3, 'no such package'))).toEqual(['NodeInitializationFailed']));
  it('contains item, command and message', () =>
    expect(decide(reportedAfter(), failing(1))[0]?.data).toMatchObject({
      item: 'packages',
      command: 'apt-get install',
      message: 'no space left',
      attempt: 1,
    }));
});

describe('the agent is ready (heartbeat, annotation)', () => {
  it.each([
    ['a fresh one', FRESH, false],
    ['an initialized one', INITIALIZED, true],
    ['one whose node is Ready', READY, true],
    ['one that announced a change', CHANGING, false],
    ['one that has made it', [...CHANGING, seen(DONE_35)], true],
  ])('%s: %#', (_title, before, expected) => expect(isAgentReady(reportedAfter(...before))).toBe(expected));
});
