/** Whether a node is Ready. The fields that are absent in states of earlier releases follow from `ready`. */
export interface Readiness {
  /** Its agent reports it as Ready, and the list of Nodes does not say otherwise. */
  readonly ready: boolean;
  /** As its agent reported last. */
  readonly reportedReady?: boolean;
  /** A list of Nodes has shown it as not Ready, against the report, and none has shown it as Ready since. */
  readonly contradicted?: boolean;
  /** The list of Nodes does not have it. */
  readonly missing?: boolean;
}

/** The events from which the readiness of a node follows. */
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
 * The worse word counts: a node is Ready only while its agent reports it and the list of Nodes does not say otherwise. A report does not end a
 * contradiction, because it may be the same wrong report; only a list in which the node is Ready does.
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
