import { describe, expect, it } from '@jest/globals';
import { casesIn, focusOn, planOf } from './cases.js';
import { reportText, resultsOf } from './results.js';

/** From `e2e.test --list-conformance-tests`, v1.34.4. */
const LIST = `- testname: Pod Lifecycle, poststart https hook
  codename: '[sig-node] Container Lifecycle Hook when create a pod with lifecycle hook
    should execute poststart exec hook properly [NodeConformance] [Conformance]'
  description: When a post start handler is specified
  release: v1.9
  file: test/e2e/common/node/lifecycle_hook.go
- testname: Container Runtime, quote
  codename: '[sig-node] Variable Expansion should fail substituting values in a volume
    subpath with backticks [Slow] [Conformance]'
  description: It''s quoted
  release: v1.19
  file: test/e2e/common/node/expansion.go
- testname: Taint
  codename: '[sig-node] NoExecuteTaintManager Single Pod [Serial] removing taint cancels
    eviction [Disruptive] [Conformance]'
  description: taints
  release: v1.16
  file: test/e2e/node/taints.go
- testname: EndpointSlice, for pods
  codename: '[sig-network] EndpointSlice should create Endpoints and EndpointSlices
    for Pods matching a Service [Conformance]'
  description: slices
  release: v1.21
  file: test/e2e/network/endpointslice.go
- testname: Garbage Collector
  codename: '[sig-api-machinery] Garbage collector should orphan pods [Conformance]'
  description: garbage
  release: v1.9
  file: test/e2e/apimachinery/garbage_collector.go
`;
const [HOOK, BACKTICKS, TAINT, SLICES] = casesIn(LIST).map(({ name }) => name);

const spec = (name: string, state: string, more: object = {}) => ({
  ContainerHierarchyTexts: [name.slice(0, 10)],
  LeafNodeText: name.slice(11),
  LeafNodeType: 'It',
  State: state,
  RunTime: state === 'skipped' ? 0 : 2_500_000_000,
  ...more,
});
const report = (...specs: readonly object[]) => JSON.stringify([{ SpecReports: specs }]);

describe('the cases', () => {
  it('are read with their full names, even if the list breaks them over lines', () => {
    expect(HOOK).toBe(
      '[sig-node] Container Lifecycle Hook when create a pod with lifecycle hook should execute poststart exec hook properly [NodeConformance] [Conformance]',
    );
  });

  it('of node and network are run; disruptive ones run alone; those without an image are skipped', () => {
    const plan = planOf(casesIn(LIST));
    expect(plan.parallel.map(({ name }) => name)).toEqual([HOOK, BACKTICKS]);
    expect(plan.serial.map(({ name }) => name)).toEqual([TAINT]);
    expect(plan.leftOut).toEqual([
      { case: { name: SLICES, group: 'sig-network' }, reason: 'its pods run the image nginx' },
    ]);
  });

  it('are selected by their full names, to which ginkgo prepends that of the suite', () => {
    const focus = new RegExp(focusOn(planOf(casesIn(LIST)).parallel));
    expect(focus.test(`Kubernetes e2e suite ${HOOK ?? ''}`)).toBe(true);
    expect(focus.test(`${HOOK ?? ''} and more`)).toBe(false);
    expect(focus.test(SLICES ?? '')).toBe(false);
  });
});

describe('the results', () => {
  const { parallel, leftOut } = planOf(casesIn(LIST));

  it('state which tests passed and which failed, with the message of the test', () => {
    const text = report(
      spec(HOOK ?? '', 'passed'),
      spec(BACKTICKS ?? '', 'timedout', { Failure: { Message: 'timed out | waiting\nstack' } }),
    );
    expect(resultsOf(parallel, [text])).toMatchObject([
      { outcome: 'passed', seconds: 2.5, words: '' },
      { outcome: 'failed', words: 'timed out | waiting' },
    ]);
  });

  it('do not count a test that never ran as passed', () => {
    const results = resultsOf(parallel, [report(spec(HOOK ?? '', 'skipped'))]);
    expect(results.map(({ outcome }) => outcome)).toEqual(['not run', 'not run']);
  });

  it('mark a failure that is caused by a substitute image', () => {
    const name = '[sig-node] Kubelet when scheduling a read only busybox container should not write to root filesystem';
    const failed = { name, group: 'sig-node', outcome: 'failed' as const, seconds: 60, words: 'Timed out' };
    const subject = { version: 'v1.34.4', nodes: [], date: '2026-11-21', minutes: 12 };
    expect(reportText(subject, [failed], { leftOut: [] })).toMatch(
      /\| Timed out \| .* image that stands in is bash \|/,
    );
  });

  it('are written with their counts, failures first', () => {
    const text = report(spec(HOOK ?? '', 'passed'), spec(BACKTICKS ?? '', 'failed', { Failure: { Message: 'a | b' } }));
    const subject = { version: 'v1.34.4', nodes: [], date: '2026-11-21', minutes: 12 };
    const page = reportText(subject, resultsOf(parallel, [text]), { leftOut });
    expect(page).toContain('**1 passed,\n1 failed**');
    expect(page).toContain('| a \\| b |');
    expect(page.indexOf('## Failed')).toBeLessThan(page.indexOf('## Passed'));
  });
});
