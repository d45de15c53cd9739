import { goldenBeside } from '@fairlead/testing/golden';
import { describe, expect, it } from '@jest/globals';
import pc from 'picocolors';
import type { UpgradeView } from '../api/views.js';
import { linesOfTree } from '../progress/tree.text.js';
import { planText } from './plan.text.js';
import { STORY, upgradeView } from './upgrade.fixtures.js';
import { linesBetweenUpgrades } from './upgrade.lines.js';
import { upgradeFields } from './upgrade.request.js';
import { upgradeTree } from './upgrade.tree.js';

const golden = goldenBeside(import.meta.url);

const tree = (view: UpgradeView, { all = false, agoMs = 0, columns = 140 } = {}): string =>
  `${linesOfTree(upgradeTree(view, { agoMs, all }), { columns, colors: pc.createColors(false) }).join('\n')}\n`;

describe('a plan', () => {
  it('is read as a table with its reasons, its batches, its times, and what was found', () =>
    golden('plan.txt', `${planText(upgradeView(), Number.POSITIVE_INFINITY)}\n`));

  it('that was refused says why, by which rule, and what to do', () => {
    const finding = {
      rule: 'A1',
      severity: 'refuse' as const,
      sentence: 'The API servers would skip v1.35',
      facts: {},
      help: 'Go to v1.35.4 first.',
    };
    const refused = upgradeView({ phase: 'Rejected', message: finding.sentence, plan: null, findings: [finding] });
    golden('refused.txt', `${planText(refused, Number.POSITIVE_INFINITY)}\n`);
  });
});

describe('a rollout', () => {
  it.each(Object.entries(STORY))('is drawn when it is %s', (name, view) => golden(`tree-${name}.txt`, tree(view)));

  it('is drawn with every node on request', () => golden('tree-all.txt', tree(STORY.workers, { all: true })));

  it('counts nodes that were skipped or rolled back as such', () => {
    const phases = (...[first, ...others]: readonly ('Done' | 'Skipped')[]) => {
      const { nodes } = STORY.completed;
      const workers = nodes.filter(({ pool }) => pool !== 'control-plane').slice(0, 1 + others.length);
      const changed = workers.map((node, at) => ({ ...node, phase: [first, ...others][at] ?? 'Done' }));
      return tree({ ...STORY.completed, nodes: changed });
    };
    expect(phases('Skipped')).toMatch(/Pool \S+ {2}skipped$/m);
    expect(phases('Done', 'Skipped')).toMatch(/Pool \S+ {2}1 of 2 done, 1 skipped$/m);
  });

  it('goes on counting between two looks at it', () => {
    const [first = ''] = tree(STORY.changing, { agoMs: 5_000 }).split('\n');
    expect(first).toMatch(/45s$/);
    expect(tree(STORY.changing, { agoMs: 5_000 })).toMatch(/demo-cp-1.* 35s/);
    expect(tree(STORY.completed, { agoMs: 60_000 })).toBe(tree(STORY.completed));
  });

  it('is printed line by line where nothing can be redrawn', () => {
    const { planned, started, changing, workers, halted, completed } = STORY;
    const views = [planned, started, changing, workers, halted, completed];
    const lines = views.flatMap((view, index) => linesBetweenUpgrades(views[index - 1], view));
    golden('lines.txt', `${lines.join('\n')}\n`);
  });

  it('that has not changed is not printed again', () =>
    expect(linesBetweenUpgrades(STORY.workers, { ...STORY.workers, elapsedMs: 999_000 })).toEqual([]));
});

describe('the options of an upgrade', () => {
  it('become the body of the request, without what was not said', () => {
    expect(upgradeFields({ to: 'v1.35.4' })).toEqual({ version: 'v1.35.4' });
    expect(
      upgradeFields({
        software: [{ name: 'containerd', value: '1.7.24' }],
        pool: ['gpu'],
        controlPlane: false,
        maxUnavailable: '25%',
        canary: false,
        soak: 90_000,
        override: [{ name: 'B4', value: 'saved by hand' }],
      }),
    ).toEqual({
      software: { containerd: '1.7.24' },
      pools: ['gpu'],
      controlPlane: false,
      strategy: { workers: { maxUnavailable: '25%', canary: false, soakSeconds: 90 } },
      overrides: [{ rule: 'B4', reason: 'saved by hand' }],
    });
    expect(upgradeFields({ certificates: true, workers: false })).toEqual({ renewCertificates: true, pools: [] });
  });

  it('stand over a strategy from a file', () =>
    expect(
      upgradeFields({ maxSurge: 1 }, { workers: { maxUnavailable: 2, maxSurge: 0 }, probes: [] }).strategy,
    ).toEqual({
      workers: { maxUnavailable: 2, maxSurge: 1 },
      probes: [],
    }));

  it('that contradict each other are not understood', () =>
    expect(() => upgradeFields({ pool: ['gpu'], workers: false })).toThrow('exclude each other'));
});
