/** Whether a node is Ready. Fields that states of earlier releases lack are derived from `ready`. */
export interface Readiness {
  /** Its agent reports it Ready, and the list of Nodes does not contradict that. */
  readonly ready: boolean;
  /** The last report of its agent. */
  readonly reportedReady?: boolean;
  /** A list of Nodes showed it NotReady although its agent reported Ready, and no later list showed it Ready. */
  readonly contradicted?: boolean;
  /** It is missing from the list of Nodes. */
  readonly missing?: boolean;
}

/** The events that determine the readiness of a node. */
export const READINESS_EVENTS = [
  'NodeReady',
  'NodeNotReady',
  'NodeMissing',
  'NodeReturned',
  'NodeReadinessContradicted',
  'NodeReadinessConfirmed',
] as const;
export type ReadinessEvent = (typeof READINESS_EVENTS)[number];

/** `before`, unless the event is one of these two. */
const changedBy = (event: ReadinessEvent, yes: ReadinessEvent, no: ReadinessEvent, before: boolean): boolean =>
  event === yes || (event !== no && before);

/**
 * A node is Ready only while its agent reports Ready and the list of Nodes does not contradict it. A report does not
 * end a contradiction, because it may be the same wrong report; only a list in which the node is Ready does.
 */
export const readinessAfter = (
  { ready, reportedReady = ready, contradicted = false, missing = false }: Readiness,
  event: ReadinessEvent,
): Required<Readiness> => {
  const after = {
    reportedReady: changedBy(event, 'NodeReady', 'NodeNotReady', reportedReady),
    contradicted: changedBy(event, 'NodeReadinessContradicted', 'NodeReadinessConfirmed', contradicted),
    missing: changedBy(event, 'NodeMissing', 'NodeReturned', missing),
  };
  return { ...after, ready: after.reportedReady && !after.contradicted && !after.missing };
};
