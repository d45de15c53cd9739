/** A node that should send heartbeats. Times are those of one monotonic clock. */
export interface WatchedNode {
  readonly key: string;
  /** The log says that it is lost. */
  readonly lost: boolean;
  /** Since when heartbeats of it are expected. */
  readonly expectedSinceMs: number;
  /** When its last heartbeat came in; undefined: none since this replica listens. */
  readonly heardAtMs: number | undefined;
}

export interface Listening {
  readonly nowMs: number;
  /** Since when this replica receives everything that is sent; undefined: it does not (NATS is away). */
  readonly sinceMs: number | undefined;
  readonly limitMs: number;
}

export type Finding = { readonly kind: 'lost' | 'recovered'; readonly key: string; readonly silentMs: number };

/**
 * Silence counts only while we listen: from the last heartbeat, from when the node was expected, or from when this
 * replica (re)connected, whichever is latest. So neither a restart nor a lost connection of ours makes a node lost.
 */
export const silentMs = (node: WatchedNode, { nowMs, sinceMs }: Listening): number =>
  sinceMs === undefined ? 0 : nowMs - Math.max(node.heardAtMs ?? node.expectedSinceMs, node.expectedSinceMs, sinceMs);

const findingOf = (node: WatchedNode, listening: Listening): Finding | undefined => {
  const silent = silentMs(node, listening);
  if (!node.lost) return silent > listening.limitMs ? { kind: 'lost', key: node.key, silentMs: silent } : undefined;
  const { heardAtMs } = node;
  // Only a heartbeat brings a lost node back; that we began to listen again does not.
  if (heardAtMs === undefined || listening.nowMs - heardAtMs > listening.limitMs) return undefined;
  return { kind: 'recovered', key: node.key, silentMs: silent };
};

/** When the first of them counts as lost unless a heartbeat of it comes before; now, while one is lost already: its heartbeat may come at any time. */
export const nextLookMs = (nodes: Iterable<WatchedNode>, { nowMs, sinceMs, limitMs }: Listening): number => {
  let next = Infinity;
  for (const { lost, heardAtMs, expectedSinceMs } of nodes) {
    if (lost) return nowMs;
    next = Math.min(next, Math.max(heardAtMs ?? 0, expectedSinceMs, sinceMs ?? nowMs) + limitMs);
  }
  return next;
};

/** What has to be stated about these nodes. Nothing while this replica receives no heartbeats. */
export const findingsOf = (nodes: Iterable<WatchedNode>, listening: Listening): readonly Finding[] => {
  if (listening.sinceMs === undefined) return [];
  const findings: Finding[] = [];
  for (const node of nodes) {
    const finding = findingOf(node, listening);
    if (finding !== undefined) findings.push(finding);
  }
  return findings;
};

/** Above this share of lost nodes our own view is more likely wrong than the nodes (rule E1). */
export const MELTDOWN_SHARE = 0.4;
/** Two of three nodes can die; among so few a share says nothing. */
const MELTDOWN_NODES_MIN = 5;

export interface Outlook {
  readonly watched: number;
  readonly lost: number;
  /** More look dead than is plausible: nothing may act on their being lost. */
  readonly meltdown: boolean;
}

export const outlookOf = (nodes: Iterable<Pick<WatchedNode, 'lost'>>): Outlook => {
  let [watched, lost] = [0, 0];
  for (const node of nodes) {
    watched += 1;
    if (node.lost) lost += 1;
  }
  return { watched, lost, meltdown: watched >= MELTDOWN_NODES_MIN && lost > watched * MELTDOWN_SHARE };
};
