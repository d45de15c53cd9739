/** A node that should send heartbeats. Times are from one monotonic clock. */
export interface WatchedNode {
  readonly key: string;
  /** Whether the log states it as lost. */
  readonly lost: boolean;
  /** Since when heartbeats are expected. */
  readonly expectedSinceMs: number;
  /** When its last heartbeat arrived; undefined: none since this replica started listening. */
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
 * Silence counts only while this replica listens: from the last heartbeat, from when the node was expected, or from
 * when this replica (re)connected, whichever is latest. So neither a restart nor a lost connection of the replica makes
 * a node lost.
 */
export const silentMs = (node: WatchedNode, { nowMs, sinceMs }: Listening): number =>
  sinceMs === undefined ? 0 : nowMs - Math.max(node.heardAtMs ?? node.expectedSinceMs, node.expectedSinceMs, sinceMs);

const findingOf = (node: WatchedNode, listening: Listening): Finding | undefined => {
  const silent = silentMs(node, listening);
  if (!node.lost) return silent > listening.limitMs ? { kind: 'lost', key: node.key, silentMs: silent } : undefined;
  const { heardAtMs } = node;
  // Only a heartbeat makes a lost node recover, not a reconnect of this replica.
  if (heardAtMs === undefined || listening.nowMs - heardAtMs > listening.limitMs) return undefined;
  return { kind: 'recovered', key: node.key, silentMs: silent };
};

/**
 * When the first of them counts as lost without another heartbeat; now, if one is already lost, because its heartbeat
 * may arrive at any time.
 */
export const nextLookMs = (nodes: Iterable<WatchedNode>, { nowMs, sinceMs, limitMs }: Listening): number => {
  let next = Infinity;
  for (const { lost, heardAtMs, expectedSinceMs } of nodes) {
    if (lost) return nowMs;
    next = Math.min(next, Math.max(heardAtMs ?? 0, expectedSinceMs, sinceMs ?? nowMs) + limitMs);
  }
  return next;
};

/** The findings about these nodes. Empty while this replica receives no heartbeats. */
export const findingsOf = (nodes: Iterable<WatchedNode>, listening: Listening): readonly Finding[] => {
  if (listening.sinceMs === undefined) return [];
  const findings: Finding[] = [];
  for (const node of nodes) {
    const finding = findingOf(node, listening);
    if (finding !== undefined) findings.push(finding);
  }
  return findings;
};

/** Above this share of lost nodes, this replica's view is more likely wrong than the nodes (rule E1). */
export const MELTDOWN_SHARE = 0.4;
/** Two of three nodes can fail; among so few, a share is not meaningful. */
const MELTDOWN_NODES_MIN = 5;

export interface Outlook {
  readonly watched: number;
  readonly lost: number;
  /** More nodes are lost than plausible: nothing may act on that. */
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
