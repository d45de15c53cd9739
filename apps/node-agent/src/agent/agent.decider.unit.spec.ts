import { describe, expect, it } from '@jest/globals';
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

const FRESH: readonly Observation[] = [];
const INITIALIZED = [seen()];
const READY = [seen({ kubernetes: KUBERNETES_READY })];
const WANTS_35 = { revision: 2, software: at('1.34.5'), changesAllowed: true };
const CHANGING = [...READY, seen({ desired: WANTS_35, differences: [difference], kubernetes: KUBERNETES_READY })];
const DONE_35 = { desired: WANTS_35, software: at('1.34.5') };

const said = (before: readonly Observation[], now: Observation): string[] =>
  sayAll(reportedAfter(...before), now).facts.map(({ type }) => type);

describe('an agent says', () => {
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

describe('without permission an agent', () => {
  const forbidden = seen({ desired: { ...WANTS_35, changesAllowed: false }, differences: [difference] });
  it('says once what differs', () => {
    expect(said(READY, forbidden)).toEqual(['NodeDiverged']);
    expect(said([...READY, forbidden], forbidden)).toEqual([]);
  });
  it('says it again when it differs in another way, or another revision asks', () => {
    expect(
      said([...READY, forbidden], { ...forbidden, differences: [difference, { ...difference, what: 'kubectl' }] }),
    ).toEqual(['NodeDiverged']);
    expect(said([...READY, forbidden], { ...forbidden, desired: { ...forbidden.desired, revision: 3 } })).toEqual([
      'NodeDiverged',
    ]);
  });
  it('which ended when the node became Ready says what differs, also while the node is not Ready', () => {
    const ended = { ...forbidden, desired: { ...WANTS_35, revision: 1, changesAllowedUntil: 'NodeReady' as const } };
    expect(said(READY, ended)).toEqual(['NodeDiverged']);
    const down = seen({ kubernetes: { ready: false, message: 'm', kubeletVersion: 'v1.34.4' } });
    expect(said([...READY, down], ended)).toEqual(['NodeDiverged']);
  });
  it('stays ready', () => expect(isAgentReady(reportedAfter(...READY, forbidden))).toBe(true));
  it('announces the change when the permission comes', () =>
    expect(said([...READY, forbidden], { ...forbidden, desired: { ...WANTS_35, revision: 3 } })).toEqual([
      'NodeNotReady',
    ]));
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
  it('is reported at once when it is another one', () =>
    expect(said([failing(1), failing(2)], failing(3, 'no such package'))).toEqual(['NodeInitializationFailed']));
  it('names item, command and words', () =>
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
