import { goldenBeside } from '@fairlead/testing/golden';
import { describe, expect, it } from '@jest/globals';
import pc from 'picocolors';
import { endOf, shownAt } from './operation.fixtures.js';
import { linesBetween } from './operation.lines.js';
import { treeOf, type ShownOperation } from './operation.tree.js';
import { linesOfTree } from './tree.text.js';

const golden = goldenBeside(import.meta.url);

const draw = (shown: ShownOperation, { all = false, columns = 100, nowMs = endOf(shown) } = {}): string =>
  `${linesOfTree(treeOf(shown, { nowMs, all }), { columns, colors: pc.createColors(false) }).join('\n')}\n`;

const tree = (moment: string, options: { readonly all?: boolean; readonly columns?: number } = {}): string =>
  draw(shownAt(moment), options);

const log = (...moments: readonly string[]): string =>
  moments
    .flatMap((moment, index) => {
      const earlier = moments[index - 1];
      return linesBetween(earlier === undefined ? undefined : shownAt(earlier).operation, shownAt(moment));
    })
    .map((line) => `${line}\n`)
    .join('');

const CREATION = ['requested', 'machines', 'hosts', 'initialised', 'joining', 'workers', 'ready'] as const;

describe('the creation of a cluster', () => {
  it.each(CREATION.map((moment, index) => [`create-${index + 1}-${moment}.txt`, moment]))(
    'is drawn as %s',
    (file, moment) => golden(file, tree(moment)),
  );

  it('is drawn with every step and every node with --all', () =>
    golden('create-all.txt', tree('ready', { all: true })));

  it('is written line by line if nothing can be redrawn', () => golden('create-lines.txt', log(...CREATION)));

  it('writes the same lines, however many views were missed', () =>
    expect(log('requested', 'ready').split('\n').toSorted()).toEqual(
      log(...CREATION)
        .split('\n')
        .toSorted(),
    ));

  it('writes nothing if nothing changed', () => expect(log('hosts', 'hosts')).toBe(log('hosts')));

  it('measures running steps up to now, and completed ones up to their end', () => {
    const running = shownAt('machines');
    const later = Date.parse(running.operation.startedAt) + 60_000;
    expect(draw(running, { nowMs: later })).toMatch(/creating, v1.34.4 +1m00s/);
    expect(draw(shownAt('ready'), { nowMs: later + 3_600_000 })).toBe(tree('ready'));
  });

  it('never draws a line that a terminal would wrap', () => {
    for (const line of tree('ready', { all: true, columns: 40 }).split('\n'))
      expect(line.length).toBeLessThanOrEqual(40);
  });
});

describe('a step that fails', () => {
  it('is expanded, with its attempt and the time of the next one', () =>
    golden('trouble-retrying.txt', tree('retrying')));

  it('fails the cluster after the last attempt, with its cause', () => {
    golden('trouble-failed.txt', tree('failed'));
    golden('trouble-lines.txt', log('requested', 'retrying', 'failed'));
  });

  it('runs again after a retry, as part of the same creation', () =>
    expect(tree('retried')).toMatch(/^● default\/demo {2}creating \(retry 1\), v1.34.4/));

  it('is displayed at the running step if it has no name', () =>
    expect(tree('unnamed')).toMatch(/▲ Load balancer.*\n.*▲ kubeadm init on/));
});

it('shows a request that was rejected by a check of the provider, and that nothing was created', () =>
  golden('rejected.txt', tree('rejected')));

describe('nodes', () => {
  it('are one line while they are equal, and separate if they have a problem', () =>
    golden('node-lost.txt', tree('lost')));

  it('show when their agents are lost and when they return', () => {
    const lines = (from: string, to: string): readonly string[] =>
      linesBetween(shownAt(from).operation, shownAt(to)).map((line) => line.slice(9));
    expect(lines('ready', 'lost')).toEqual(['demo  demo-w-2: no heartbeat any more']);
    expect(lines('lost', 'ready')).toEqual(['demo  demo-w-2: sends heartbeats again']);
  });

  it('print once what they wait for, however often it is retried', () => {
    const { operation, ...shown } = shownAt('ready');
    const waiting = (reason: string): typeof operation => {
      const [first, ...others] = operation.nodes;
      return { ...operation, nodes: [{ ...first!, state: 'waiting', reason }, ...others] };
    };
    const lines = (before: typeof operation | undefined, after: typeof operation): readonly string[] =>
      linesBetween(before, { ...shown, operation: after }).filter((line) => line.includes('the hook'));
    const first = 'the hook backup failed (attempt 1, next at 2026-01-01T09:00:00.000Z)';
    const second = 'the hook backup failed (attempt 2, next at 2026-01-01T09:01:00.000Z)';
    expect(lines(operation, waiting(first))).toEqual([expect.stringMatching(/demo-\S+: the hook backup failed \(/)]);
    expect(lines(undefined, waiting('the hook backup failed'))).toHaveLength(1);
    expect(lines(waiting(first), waiting(second))).toEqual([]);
    expect(lines(waiting(first), waiting('the hook backup has another trouble'))).toHaveLength(1);
    expect(lines(operation, waiting(''))).toEqual([]);
  });

  it('that are added are drawn without the existing ones', () => {
    golden('node-adding.txt', tree('adding'));
    golden('node-added.txt', tree('added', { all: true }));
  });

  it('that are removed are drawn until their machine is deleted', () => {
    golden('node-removing.txt', tree('removing'));
    golden('node-removed.txt', tree('removed'));
  });

  it('that are removed have a first line with the name of the node, or without it if the node was already removed', () => {
    const first = (moment: string) => log(moment).split('\n')[0];
    expect(first('removing')).toBe('   0.0s  demo  removing demo-w-1, v1.34.4');
    expect(first('removed')).toBe('   0.0s  demo  removing a node, v1.34.4');
  });
});

describe('what waits', () => {
  it('names the hook that holds a deletion, its response, the attempt and the advice', () => {
    golden('hooked.txt', tree('hooked-again'));
    golden('hooked-lines.txt', log('hooked', 'hooked-again'));
  });

  it('names the PodDisruptionBudget that blocks an eviction, even if nothing can be redrawn', () => {
    golden('drain-refused.txt', tree('drain-refused'));
    golden('drain-refused-lines.txt', log('draining', 'drain-refused', 'drain-refused'));
  });

  it('shows the activity of an etcd restore', () => {
    golden('restoring.txt', tree('restoring'));
    golden('restoring-lines.txt', log('restoring', 'restored'));
  });

  it('prints a long reason completely, on several lines', () => {
    const { operation, ...shown } = shownAt('hooked');
    const [first, ...others] = operation.steps;
    const sentence = `the hook backup failed: ${'the disk of the backup server is full '.repeat(4)}`.trim();
    const steps = [{ ...first!, failure: { ...first!.failure!, sentence } }, ...others];
    const drawn = draw({ ...shown, operation: { ...operation, steps } }, { columns: 60 });
    expect(drawn.replaceAll(/[│├└─▲✘\s]+/g, ' ')).toContain(sentence);
    for (const line of drawn.split('\n')) expect(line.length).toBeLessThanOrEqual(60);
  });
});

describe('the end of a cluster', () => {
  it('counts the deleted machines', () => golden('deleting.txt', tree('deleting')));

  it('is a single line', () => golden('deleted.txt', tree('deleted')));
});
