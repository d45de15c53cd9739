/** What is compared of a plan. */
export interface ComparedPlan {
  readonly path: readonly string[];
  readonly operations: readonly {
    readonly kind: string;
    readonly node: string | null;
    readonly nodes: readonly string[];
    readonly batch: number;
    readonly drain: boolean;
  }[];
  readonly findings: readonly { readonly rule: string; readonly sentence: string }[];
  readonly predictedSeconds: number;
}

const nameOf = ({ kind, node, nodes }: ComparedPlan['operations'][number]): string =>
  `${kind} ${node ?? nodes.join(', ')}`.trim();

/** Sentences on how a plan differs from the one that was read; empty: it is the same. */
export const planDifference = (before: ComparedPlan, after: ComparedPlan): readonly string[] => {
  const was = new Map(before.operations.map((one) => [nameOf(one), one]));
  const is = new Map(after.operations.map((one) => [nameOf(one), one]));
  const added = [...is.keys()].filter((name) => !was.has(name)).map((name) => `New: ${name}`);
  const removed = [...was.keys()].filter((name) => !is.has(name)).map((name) => `No longer: ${name}`);
  const moved = [...is].flatMap(([name, one]) => {
    const old = was.get(name);
    if (old === undefined) return [];
    return [
      ...(old.batch === one.batch ? [] : [`${name}: batch ${one.batch} instead of ${old.batch}`]),
      ...(old.drain === one.drain ? [] : [`${name}: ${one.drain ? 'is drained' : 'is not drained any longer'}`]),
    ];
  });
  const rules = new Set(before.findings.map(({ sentence }) => sentence));
  const findings = after.findings
    .filter(({ sentence }) => !rules.has(sentence))
    .map(({ rule, sentence }) => `${rule}: ${sentence}`);
  const path =
    before.path.join() === after.path.join()
      ? []
      : [`Path: ${after.path.join(' → ')} instead of ${before.path.join(' → ')}`];
  return [...path, ...added, ...removed, ...moved, ...findings];
};
