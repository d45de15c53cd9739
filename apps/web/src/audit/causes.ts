/** What is used of an entry of an audit. */
export interface CausedEntry {
  readonly seq: number;
  readonly type: string;
  readonly time: string;
  readonly actor: string;
  readonly source: string;
  readonly sentence: string;
  readonly because: readonly { readonly seq: number }[];
}

/** An event of a cause graph: its place by what led to it and by its service. */
export interface GraphNode {
  readonly entry: CausedEntry;
  /** 0: the event that was chosen; below: what led to it; above: what followed. */
  readonly column: number;
  readonly lane: number;
}

export interface CauseGraph {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly { readonly from: number; readonly to: number }[];
  readonly lanes: readonly string[];
  /** Events that followed and are not shown. */
  readonly hidden: number;
}

const causeOf = (entry: CausedEntry, bySeq: ReadonlyMap<number, CausedEntry>): CausedEntry | undefined => {
  const seq = entry.because[0]?.seq;
  return seq === undefined || seq >= entry.seq ? undefined : bySeq.get(seq);
};

const laneOf = ({ source, actor }: CausedEntry): string =>
  actor.startsWith('user/') ? 'people' : source.replace(/^.*\//, '');

/** Ancestors, the event, and what followed from it, at most `max` of those in the order of the log. */
export const causeGraph = (history: readonly CausedEntry[], seq: number, max = 60): CauseGraph | undefined => {
  const bySeq = new Map(history.map((entry) => [entry.seq, entry]));
  const chosen = bySeq.get(seq);
  if (chosen === undefined) return undefined;
  const ancestors: CausedEntry[] = [];
  for (let one = causeOf(chosen, bySeq); one !== undefined; one = causeOf(one, bySeq)) ancestors.push(one);
  const columns = new Map<number, number>([
    [seq, 0],
    ...ancestors.map((one, index) => [one.seq, -(index + 1)] as const),
  ]);
  const followed = history.flatMap((entry) => {
    const cause = causeOf(entry, bySeq);
    const column = cause === undefined || entry.seq <= seq ? undefined : columns.get(cause.seq);
    if (column === undefined || column < 0) return [];
    columns.set(entry.seq, column + 1);
    return [entry];
  });
  const shown = [...ancestors.toReversed(), chosen, ...followed.slice(0, max)];
  const lanes = [...new Set(shown.map(laneOf))].sort(
    (one, other) => Number(other === 'people') - Number(one === 'people'),
  );
  const isShown = new Set(shown.map((entry) => entry.seq));
  return {
    nodes: shown.map((entry) => ({ entry, column: columns.get(entry.seq) ?? 0, lane: lanes.indexOf(laneOf(entry)) })),
    edges: shown.flatMap((entry) => {
      const cause = causeOf(entry, bySeq);
      return cause === undefined || !isShown.has(cause.seq) ? [] : [{ from: cause.seq, to: entry.seq }];
    }),
    lanes,
    hidden: Math.max(0, followed.length - max),
  };
};

/** In one sentence: what happened, and what led to it. */
export const traceSentence = (history: readonly CausedEntry[], seq: number): string => {
  const bySeq = new Map(history.map((entry) => [entry.seq, entry]));
  const chosen = bySeq.get(seq);
  if (chosen === undefined) return '';
  let first: CausedEntry | undefined;
  for (let one = causeOf(chosen, bySeq); one !== undefined; one = causeOf(one, bySeq)) first = one;
  const nearest = causeOf(chosen, bySeq);
  const lower = (text: string): string => text.replace(/\.$/, '');
  const upper = (text: string): string => `${text.slice(0, 1).toUpperCase()}${lower(text).slice(1)}`;
  if (nearest === undefined || first === undefined)
    return `${upper(chosen.sentence)}. Nothing in this history led to it.`;
  const begun = first === nearest ? '' : ` It began with: ${lower(first.sentence)}.`;
  return `${upper(chosen.sentence)}, because: ${lower(nearest.sentence)}.${begun}`;
};
